/**
 * Owns the place where bytes go that cannot be read, and the jobs that move them there.
 * Must not know why they are damaged. Nothing stored may stop the store or another session (I12).
 */
import type { Head, Marker } from '../core/records.js';

import type { Kind } from './keys.js';
import * as keys from './keys.js';
import { partsOfRecord } from './part-deletion.js';
import { decodeRecord, encodeRecord } from './records.js';
import { bytesOf, readable } from './salvage.js';
import { decodeHead, markerOf, markerOp, type Sessions } from './sessions.js';
import { del, isCorruption, type Op, put, type Tables } from './tables.js';
import type { Job, Step } from './write-queue.js';

/** Counted, not timed: the same session set aside twice keeps both. */
export async function nextQuarantine(tables: Tables, sessionId: string): Promise<number> {
  const range = keys.quarantineOfSession(sessionId);
  try {
    const last = await tables.lastKey('quarantine', range);
    return last === undefined ? 0 : keys.nthOfQuarantine(last) + 1;
  } catch (error) {
    if (!isCorruption(error)) throw error;
  }
  let nth = 0;
  for await (const [key] of readable(tables, 'quarantine', range)) nth = Math.max(nth, keys.nthOfQuarantine(key) + 1);
  return nth;
}

/** The bytes of some records, moved, with the reason beside them. */
export function moveOps(
  sessionId: string,
  nth: number,
  reason: string,
  entries: readonly (readonly [Kind, string, Buffer])[],
) {
  const reasonKey = keys.quarantineKey(sessionId, nth);
  const why = { sessionId, reason: reason.toWellFormed() };
  const ops: Op[] = [put('quarantine', reasonKey, encodeRecord('quarantine', reasonKey, 0, why, 'reason'))];
  for (const [kind, key, bytes] of entries) {
    ops.push(put('quarantine', keys.quarantineKey(sessionId, nth, kind, key), bytes), del(kind, key));
  }
  return ops;
}

/**
 * Takes a session out of the way: head, checkpoint and waiting input move, the marker goes, so that no start-up finds
 * it again. Messages and journal stay under their keys, where nothing looks without a head.
 */
export class QuarantineJob implements Job {
  readonly lane: string;
  readonly #reason: string;
  readonly #sessions: Sessions;

  constructor(sessionId: string, reason: string, sessions: Sessions) {
    this.lane = sessionId;
    this.#reason = reason;
    this.#sessions = sessions;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: 10, bytes: 0 };
  }

  restart(): void {}

  async next(tables: Tables): Promise<Step> {
    const ops = await quarantineOps(tables, this.lane, this.#reason);
    return { ops, last: true, durable: () => this.#sessions.end(this.lane) };
  }
}

/** What takes a session out of the way. */
export async function quarantineOps(tables: Tables, sessionId: string, reason: string): Promise<readonly Op[]> {
  const [head, turn] = [keys.headKey(sessionId), keys.turnKey(sessionId)];
  const found: [Kind, string, Buffer][] = [];
  for (const [kind, key] of [['head', head] as const, ['turn', turn] as const]) {
    const bytes = await bytesOf(tables, kind, key);
    if (bytes !== undefined) found.push([kind, key, bytes]);
  }
  for await (const [key, bytes] of readable(tables, 'inbox', keys.inboxOfSession(sessionId))) {
    found.push(['inbox', key, bytes]);
  }
  // Deleted even where LevelDB cannot read them.
  const ops: Op[] = [del('head', head), del('turn', turn), del('marker', keys.markerKey(sessionId))];
  const gone = [['head', head] as const, ['turn', turn] as const, ...found];
  for (const [kind, key] of gone) ops.push(...(await partsOfRecord(tables, kind, key)));
  if (found.length > 0) ops.push(...moveOps(sessionId, await nextQuarantine(tables, sessionId), reason, found));
  return ops;
}

/** Makes a marker that cannot be read agree with the head again; without a readable head its bytes move. */
export class MarkerRepairJob implements Job {
  readonly lane: string;
  /** What the head asks for. */
  marker: Marker | null = null;

  constructor(sessionId: string) {
    this.lane = sessionId;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: 3, bytes: 0 };
  }

  restart(): void {
    this.marker = null;
  }

  async next(tables: Tables): Promise<Step | null> {
    const key = keys.markerKey(this.lane);
    const marker = await bytesOf(tables, 'marker', key);
    const record = marker === undefined ? undefined : decodeRecord('marker', key, marker);
    if (record?.ok === true) {
      // Somebody committed since it was found damaged.
      this.marker = record.value as unknown as Marker;
      return null;
    }
    const head = await bytesOf(tables, 'head', keys.headKey(this.lane));
    const decoded = head === undefined ? undefined : decodeOrNothing(this.lane, head);
    if (decoded === undefined) {
      if (marker === undefined) return null;
      const nth = await nextQuarantine(tables, this.lane);
      return {
        ops: moveOps(this.lane, nth, 'a marker without a readable head', [['marker', key, marker]]),
        last: true,
      };
    }
    // When it was saved is not known any more; the last progress is never later.
    const savedAt = decoded.lastProgressAt ?? decoded.startedAt ?? 0;
    this.marker = markerOf(decoded, savedAt);
    return { ops: [markerOp(decoded, savedAt)], last: true };
  }
}

/** Somebody was told what a repair found in the session. */
export class DamageToldJob implements Job {
  readonly lane: string;

  constructor(sessionId: string) {
    this.lane = sessionId;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: 1, bytes: 0 };
  }

  restart(): void {}

  async next(): Promise<Step> {
    return { ops: [del('meta', keys.damageKey(this.lane))], last: true };
  }
}

function decodeOrNothing(sessionId: string, bytes: Buffer): Head | undefined {
  try {
    return decodeHead(sessionId, bytes);
  } catch {
    return undefined;
  }
}
