/**
 * Owns what the store knows of a session without reading: the state the next commit has to be based on.
 * Must not know bytes beyond the head record. Bounded; whatever is not known is read.
 */
import type { Json } from '../core/json.js';
import type { Head, Marker } from '../core/records.js';
import { damaged } from './damage.js';
import { headKey, markerKey } from './keys.js';
import { decodeRecord, encodeRecord } from './records.js';
import { del, type Op, put, type Snapshot, type Tables } from './tables.js';

/** What a head says about the next commit. */
export interface Known {
  readonly revision: number;
  readonly epoch: number;
  readonly count: number;
  readonly archived: number;
  /** Some record of the session may be stored in parts, which go with it. */
  readonly inParts: boolean;
}

export const knownOf = ({ revision, epoch, count, archived }: Head, inParts: boolean): Known => ({
  revision,
  epoch,
  count,
  archived,
  inParts,
});

/** Sessions whose state is kept in memory; about 200 bytes each. */
const REMEMBERED = 10_000;

export class Sessions {
  readonly #known = new Map<string, Known>();
  /** Grows with every session that ends: removed or set aside. */
  endings = 0;

  get(sessionId: string): Known | undefined {
    return this.#known.get(sessionId);
  }

  set(sessionId: string, known: Known): void {
    // Deleted first, so that the order of the map is the order of use.
    this.#known.delete(sessionId);
    this.#known.set(sessionId, known);
    if (this.#known.size <= REMEMBERED) return;
    const oldest = this.#known.keys().next().value;
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** The session is gone; another one may begin under its id. */
  end(sessionId: string): void {
    this.#known.delete(sessionId);
    this.endings += 1;
  }

  clear(): void {
    this.#known.clear();
  }
}

/**
 * The head as it is stored, with a digest of the whole commit: a commit that is tried again is the same one only when
 * everything in it is the same, and two heads can be equal while the input beside them differs.
 */
export function encodeHead(head: Head, digest: string): Buffer {
  return encodeRecord('head', headKey(head.sessionId), head.revision, { head, commit: digest }, 'head');
}

/** @throws {TurnError} TURN_DAMAGED */
export function decodeHead(sessionId: string, bytes: Buffer): Head {
  const record = decodeRecord('head', headKey(sessionId), bytes);
  if (!record.ok) throw damaged(sessionId, 'the head', `has ${record.damage}`);
  return (record.value as { readonly head: Json }).head as unknown as Head;
}

/**
 * @returns undefined for a session that does not exist.
 * @throws {TurnError} TURN_DAMAGED
 */
export async function readHead(tables: Tables, sessionId: string, snapshot?: Snapshot): Promise<Head | undefined> {
  const bytes = await tables.get('head', headKey(sessionId), snapshot);
  return bytes === undefined ? undefined : decodeHead(sessionId, bytes);
}

/** The marker a head asks for; null for none. The only place that decides it (I2). */
export function markerOf(head: Head, savedAt: number): Marker | null {
  if (!head.inProgress && head.outcomesDue.length === 0) return null;
  const turnId = head.turnId ?? head.outcomesDue[0];
  if (turnId === undefined || (head.inProgress && head.turnId === null)) {
    throw new TypeError('A head in progress must name its turn.');
  }
  return { sessionId: head.sessionId, agent: head.agent, turnId, savedAt };
}

/** What has to be written along with a head, so that the marker agrees with it. */
export function markerOp(head: Head, savedAt: number): Op {
  const key = markerKey(head.sessionId);
  const marker = markerOf(head, savedAt);
  if (marker === null) return del('marker', key);
  return put('marker', key, encodeRecord('marker', key, head.revision, marker, 'marker'));
}
