/**
 * Owns how a whole session goes: out of everybody's sight in one batch, then from the database, batch by batch.
 * Must not know commits. Between the first batch and the last, a garbage record says that the session is gone; the
 * last deletes it, before anybody can create the session again. LevelDB frees the bytes when it compacts.
 */

import { clearRange, SWEEP_KEYS } from './epochs.js';
import type { Kind, Range } from './keys.js';
import * as keys from './keys.js';
import { hasParts } from './part-deletion.js';
import { decodeRecord, encodeRecord } from './records.js';
import { bytesOf, readable } from './salvage.js';
import type { Sessions } from './sessions.js';
import { del, isCorruption, type Op, put, type Snapshot, type Tables } from './tables.js';
import type { Tombstones } from './tombstones.js';
import type { Job, Step } from './write-queue.js';

type Place = readonly [name: keys.SublevelName, range: Range];

/** Goes with the head: what is found without one, and the garbage records of epochs, which the whole includes. */
const withHead = (sessionId: string): readonly Place[] => [
  ['inbox', keys.inboxOfSession(sessionId)],
  ['review', keys.reviewsOfSession(sessionId)],
  ['garbage', keys.garbageOfEpochs(sessionId)],
];

/** Goes later. Bytes in quarantine are kept for a person who looks for the session; now nobody shall find them. */
const afterHead = (sessionId: string): readonly Place[] => [
  ['message', keys.messagesOfSession(sessionId)],
  ['archive', keys.archiveOfSession(sessionId)],
  ['call', keys.callsOfSession(sessionId)],
  ['outcome', keys.outcomesOfSession(sessionId)],
  ['seen', keys.seenOfSession(sessionId)],
  ['quarantine', keys.quarantineOfSession(sessionId)],
  // Of what went with the head, and of records that were lost.
  [keys.PART, keys.partsOfSession(sessionId)],
];

/**
 * Whether the session is gone while some of its records are still there. A record that cannot be read says nothing, and
 * neither does one beside a head: an older state came back.
 */
export async function isBeingRemoved(tables: Tables, sessionId: string, snapshot?: Snapshot): Promise<boolean> {
  const key = keys.removalKey(sessionId);
  const bytes = await bytesOf(tables, 'garbage', key, snapshot);
  if (bytes === undefined || !decodeRecord('garbage', key, bytes).ok) return false;
  return !(await isThere(tables.get('head', keys.headKey(sessionId), snapshot)));
}

/** Deletes what is left of a session that is being removed, and says so at the end. */
export async function* finishedRemoval(tables: Tables, sessionId: string): AsyncGenerator<readonly Op[]> {
  for (const place of withHead(sessionId)) yield* cleared(tables, place, true);
  yield* withoutHead(tables, sessionId);
}

/**
 * The same right behind the first batch. Each look at a place where nothing is passes over everything that was deleted
 * behind it, whosever it was: there are as few of them as tell what there is.
 */
async function* withoutHead(tables: Tables, sessionId: string): AsyncGenerator<readonly Op[]> {
  const parts = await hasParts(tables, sessionId);
  for (const place of afterHead(sessionId)) {
    if (parts || place[0] !== keys.PART) yield* cleared(tables, place, parts);
  }
  yield [del('garbage', keys.removalKey(sessionId))];
}

/** Everything of the range that can be read: what LevelDB cannot read has no key by which it could be deleted. */
async function* cleared(tables: Tables, [name, range]: Place, parts: boolean): AsyncGenerator<readonly Op[]> {
  try {
    yield* clearRange(tables, name, range, parts);
    return;
  } catch (error) {
    if (!isCorruption(error)) throw error;
  }
  let ops: Op[] = [];
  for await (const [key] of readable(tables, name, range)) {
    ops.push(del(name, key));
    if (ops.length < SWEEP_KEYS) continue;
    yield ops;
    ops = [];
  }
  if (ops.length > 0) yield ops;
}

/**
 * In the lane of the session: whoever creates it again waits until nothing is left of it. Where it fails, the next try,
 * the first commit of a new session or the next opening goes on.
 */
export class RemoveJob implements Job {
  readonly lane: string;
  readonly #sessions: Sessions;
  readonly #tombstones: Tombstones;
  /** null until the session is out of sight. */
  #rest: AsyncIterator<readonly Op[]> | null = null;

  constructor(sessionId: string, sessions: Sessions, tombstones: Tombstones) {
    this.lane = sessionId;
    this.#sessions = sessions;
    this.#tombstones = tombstones;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: SWEEP_KEYS, bytes: 0 };
  }

  restart(): void {
    this.#rest = null;
  }

  async next(tables: Tables): Promise<Step | null> {
    if (this.#rest === null) {
      if (!(await isKnown(tables, this.lane))) return null;
      this.#rest = withoutHead(tables, this.lane);
      const ops = await firstBatch(tables, this.lane);
      this.#tombstones.add(ops);
      return { ops, last: false, durable: () => this.#sessions.end(this.lane) };
    }
    const step = await this.#rest.next();
    if (step.done === true) return null;
    this.#tombstones.add(step.value);
    return { ops: step.value, last: false };
  }
}

/** All in one batch, however many there are: a session is found by everybody or by nobody. */
async function firstBatch(tables: Tables, sessionId: string): Promise<readonly Op[]> {
  const key = keys.removalKey(sessionId);
  const ops: Op[] = [
    put('garbage', key, encodeRecord('garbage', key, 0, {}, 'garbage')),
    del('head', keys.headKey(sessionId)),
    del('turn', keys.turnKey(sessionId)),
    del('marker', keys.markerKey(sessionId)),
  ];
  for (const [kind, range] of withHead(sessionId)) {
    for await (const [found] of readable(tables, kind, range)) ops.push(del(kind, found));
  }
  return ops;
}

/** Whether there is anything of the session. */
async function isKnown(tables: Tables, sessionId: string): Promise<boolean> {
  const single: readonly (readonly [Kind, string])[] = [
    ['head', keys.headKey(sessionId)],
    ['turn', keys.turnKey(sessionId)],
    ['marker', keys.markerKey(sessionId)],
    ['garbage', keys.removalKey(sessionId)],
  ];
  for (const [kind, key] of single) if (await isThere(tables.get(kind, key))) return true;
  for (const [kind, range] of [...withHead(sessionId), ...afterHead(sessionId)]) {
    if (await isThere(tables.keys(kind, range, 1).then(([first]) => first))) return true;
  }
  return false;
}

/** What cannot be read is there. */
async function isThere(found: Promise<unknown>): Promise<boolean> {
  try {
    return (await found) !== undefined;
  } catch (error) {
    if (isCorruption(error)) return true;
    throw error;
  }
}
