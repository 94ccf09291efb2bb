/**
 * Owns the form of one record of a LevelDB log: a batch of writes with the number of its first one.
 * Must not know logs or keys.
 */
import { fixed64, Reader } from './bytes.js';

/** One write as LevelDB numbers it: each has the next number, and the highest number of a key counts. */
export interface Write {
  readonly key: Buffer;
  readonly sequence: number;
  /** null deletes. */
  readonly value: Buffer | null;
}

export interface WriteBatch {
  readonly first: number;
  readonly writes: readonly Write[];
}

const HEADER = 12;

/** @returns null for what is no batch. */
export function decodeBatch(payload: Buffer): WriteBatch | null {
  if (payload.length < HEADER) return null;
  const first = fixed64(payload, 0);
  if (first === null) return null;
  const writes: Write[] = [];
  const reader = new Reader(payload, HEADER);
  while (!reader.done) {
    const type = reader.varint();
    const key = reader.prefixed();
    const value = type === 1 ? reader.prefixed() : null;
    if (key === null || (type !== 0 && (type !== 1 || value === null))) return null;
    writes.push({ key, sequence: first + writes.length, value });
  }
  return writes.length === payload.readUInt32LE(8) ? { first, writes } : null;
}
