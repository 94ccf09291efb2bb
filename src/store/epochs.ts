/**
 * Owns messages that no head names: epochs being staged or left behind, and how they go.
 * Must not know commits. An epoch is deleted only after its head was seen to name another one.
 */
import {
  archiveOfSession,
  garbageKey,
  type Kind,
  messagesOfEpoch,
  messagesOfSession,
  quarantineKey,
  type Range,
  type SublevelName,
} from './keys.js';
import { firstDeletions, partsOfRecord } from './part-deletion.js';
import { isLarge } from './parts.js';
import { nextQuarantine } from './quarantine.js';
import { encodeRecord, isReference } from './records.js';
import { readHead, type Sessions } from './sessions.js';
import { BATCH_BYTES, del, type Op, put, type Tables } from './tables.js';
import type { Job, Step } from './write-queue.js';

/** Keys deleted in one batch: half of what fits, so that commits fit beside them. */
export const SWEEP_KEYS = 250;

export function garbageOp(sessionId: string, epoch: number, revision: number): Op {
  const key = garbageKey(sessionId, epoch);
  return put('garbage', key, encodeRecord('garbage', key, revision, {}, 'garbage'));
}

/** Deletes all messages of an epoch, batch by batch. */
export function clearEpoch(tables: Tables, sessionId: string, epoch: number): AsyncGenerator<readonly Op[]> {
  return clearRange(tables, 'message', messagesOfEpoch(sessionId, epoch));
}

/**
 * Deletes everything of a range, a chunk at a time, so that commits get their turn in between.
 * @param parts Whether any of it may have parts. Without, a chunk that is not full is the last: nobody looks behind it.
 */
export async function* clearRange(
  tables: Tables,
  name: SublevelName,
  whole: Range,
  parts = true,
): AsyncGenerator<readonly Op[]> {
  let range = whole;
  for (;;) {
    const found = await firstDeletions(tables, name, range, SWEEP_KEYS, parts);
    const last = found.at(-1);
    if (last === undefined) return;
    yield found.flatMap(({ ops }) => ops);
    if (!parts && found.length < SWEEP_KEYS) return;
    // Keys are well formed, so the next one is this one with anything behind it.
    range = { gte: `${last.key}\u0000`, lt: range.lt };
  }
}

/** Moves the messages of a session that has no head into quarantine, bytes and all. Usually there are none. */
export async function* setAsideMessages(tables: Tables, sessionId: string): AsyncGenerator<readonly Op[]> {
  const places = [
    ['message', messagesOfSession(sessionId)],
    ['archive', archiveOfSession(sessionId)],
  ] as const;
  let nth: number | undefined;
  for (const [kind, range] of places) {
    if ((await tables.keys(kind, range, 1)).length === 0) continue;
    nth ??= await nextQuarantine(tables, sessionId);
    yield* moved(tables, sessionId, nth, kind, range);
  }
}

async function* moved(tables: Tables, sessionId: string, nth: number, kind: Kind, range: Range) {
  let ops: Op[] = [];
  let bytes = 0;
  for await (const [key, value] of tables.scan(kind, range)) {
    if (isLarge(value) || isReference(value)) ops.push(...(await partsOfRecord(tables, kind, key)));
    ops.push(del(kind, key));
    ops.push(put('quarantine', quarantineKey(sessionId, nth, kind, key), value));
    bytes += value.length;
    if (ops.length < SWEEP_KEYS && bytes < BATCH_BYTES) continue;
    yield ops;
    ops = [];
    bytes = 0;
  }
  if (ops.length > 0) yield ops;
}

/** One lane for all sweeps: they run one after the other, beside the commits of their own session. */
const SWEEPS = Symbol('sweeps');

/**
 * Deletes an epoch that was left behind. Epochs only grow, so nobody writes to one below that of the head, as long as
 * the session lives; a session that was created again counts its epochs from the beginning.
 */
export class SweepJob implements Job {
  readonly lane = SWEEPS;
  readonly #sessionId: string;
  readonly #epoch: number;
  readonly #sessions: Sessions;
  readonly #stopped: () => boolean;
  #chunks: AsyncIterator<readonly Op[]> | null = null;
  /** How many sessions had ended when the head was looked at. */
  #endings = 0;

  /** @param stopped Whether the rest can wait for the next opening. */
  constructor(sessionId: string, epoch: number, sessions: Sessions, stopped: () => boolean) {
    this.#sessionId = sessionId;
    this.#epoch = epoch;
    this.#sessions = sessions;
    this.#stopped = stopped;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: SWEEP_KEYS, bytes: 0 };
  }

  restart(): void {
    this.#chunks = null;
  }

  async next(tables: Tables): Promise<Step | null> {
    if (this.#stopped()) return null;
    // Where a session ended since, it may be this one, and the epoch may be that of a new one.
    if (this.#chunks === null || this.#endings !== this.#sessions.endings) {
      this.#endings = this.#sessions.endings;
      const head = await readHead(tables, this.#sessionId);
      if (head === undefined || head.epoch <= this.#epoch) return null;
      this.#chunks = clearEpoch(tables, this.#sessionId, this.#epoch);
    }
    const chunk = await this.#chunks.next();
    if (chunk.done !== true) return { ops: chunk.value, last: false };
    return { ops: [del('garbage', garbageKey(this.#sessionId, this.#epoch))], last: true };
  }
}
