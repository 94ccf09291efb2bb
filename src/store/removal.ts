/**
 * Owns how a whole session goes: out of everybody's sight in one batch, then from the disk, batch by batch.
 * Must not know commits. Between the first batch and the last, a garbage record says that the session is gone.
 */
import { isCorruption } from './database.js';
import { clearRange, SWEEP_KEYS } from './epochs.js';
import type { Kind, Range } from './keys.js';
import * as keys from './keys.js';
import { encodeRecord } from './records.js';
import { readable } from './salvage.js';
import type { Sessions } from './sessions.js';
import { del, type Op, put, type Tables } from './tables.js';
import type { Job, Step } from './write-queue.js';

type Place = readonly [kind: Kind, range: Range];

/** What scans would find without a head, and garbage records that are part of the whole now: goes with the head. */
const inSight = (sessionId: string): readonly Place[] => [
  ['inbox', keys.inboxOfSession(sessionId)],
  ['review', keys.reviewsOfSession(sessionId)],
  ['garbage', keys.garbageOfEpochs(sessionId)],
];

/** What can go later. Bytes in quarantine are there for a person who looks for the session; now nobody shall. */
const outOfSight = (sessionId: string): readonly Place[] => [
  ['message', keys.messagesOfSession(sessionId)],
  ['archive', keys.archiveOfSession(sessionId)],
  ['call', keys.callsOfSession(sessionId)],
  ['outcome', keys.outcomesOfSession(sessionId)],
  ['seen', keys.seenOfSession(sessionId)],
  ['quarantine', keys.quarantineOfSession(sessionId)],
];

/** Whether the session is gone while some of its records are still there. */
export async function isBeingRemoved(tables: Tables, sessionId: string): Promise<boolean> {
  return isThere(tables, 'garbage', keys.removalKey(sessionId));
}

/** Deletes what is left of a session that is being removed, and says so at the end. */
export async function* finishedRemoval(tables: Tables, sessionId: string): AsyncGenerator<readonly Op[]> {
  for (const place of [...inSight(sessionId), ...outOfSight(sessionId)]) yield* cleared(tables, place);
  yield [del('garbage', keys.removalKey(sessionId))];
}

/** Everything of the range that can be read: what LevelDB cannot read has no key by which it could be deleted. */
async function* cleared(tables: Tables, [kind, range]: Place): AsyncGenerator<readonly Op[]> {
  try {
    yield* clearRange(tables, kind, range);
    return;
  } catch (error) {
    if (!isCorruption(error)) throw error;
  }
  let ops: Op[] = [];
  for await (const [key] of readable(tables, kind, range)) {
    ops.push(del(kind, key));
    if (ops.length < SWEEP_KEYS) continue;
    yield ops;
    ops = [];
  }
  if (ops.length > 0) yield ops;
}

/** In the lane of the session: whoever creates it again waits until nothing is left of it. */
export class RemoveJob implements Job {
  readonly lane: string;
  readonly #sessions: Sessions;
  /** null until the session is out of sight. */
  #rest: AsyncIterator<readonly Op[]> | null = null;

  constructor(sessionId: string, sessions: Sessions) {
    this.lane = sessionId;
    this.#sessions = sessions;
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
      this.#rest = finishedRemoval(tables, this.lane);
      const ops = await outOfSightOps(tables, this.lane);
      return { ops, last: false, durable: () => this.#sessions.end(this.lane) };
    }
    const step = await this.#rest.next();
    return step.done === true ? null : { ops: step.value, last: false };
  }
}

/** All in one batch, however many there are: a session is found by everybody or by nobody. */
async function outOfSightOps(tables: Tables, sessionId: string): Promise<readonly Op[]> {
  const key = keys.removalKey(sessionId);
  const ops: Op[] = [
    put('garbage', key, encodeRecord('garbage', key, 0, {}, 'garbage')),
    del('head', keys.headKey(sessionId)),
    del('turn', keys.turnKey(sessionId)),
    del('marker', keys.markerKey(sessionId)),
  ];
  for (const [kind, range] of inSight(sessionId)) {
    for await (const [found] of readable(tables, kind, range)) ops.push(del(kind, found));
  }
  return ops;
}

/** Whether there is anything of the session. What cannot be read is there. */
async function isKnown(tables: Tables, sessionId: string): Promise<boolean> {
  const single: readonly (readonly [Kind, string])[] = [
    ['head', keys.headKey(sessionId)],
    ['turn', keys.turnKey(sessionId)],
    ['marker', keys.markerKey(sessionId)],
    ['garbage', keys.removalKey(sessionId)],
  ];
  for (const [kind, key] of single) if (await isThere(tables, kind, key)) return true;
  for (const place of [...inSight(sessionId), ...outOfSight(sessionId)]) if (await holds(tables, place)) return true;
  return false;
}

function isThere(tables: Tables, kind: Kind, key: string): Promise<boolean> {
  return tables.get(kind, key).then(
    (bytes) => bytes !== undefined,
    (error: unknown) => {
      if (isCorruption(error)) return true;
      throw error;
    },
  );
}

function holds(tables: Tables, [kind, range]: Place): Promise<boolean> {
  return tables.keys(kind, range, 1).then(
    (found) => found.length > 0,
    (error: unknown) => {
      if (isCorruption(error)) return true;
      throw error;
    },
  );
}
