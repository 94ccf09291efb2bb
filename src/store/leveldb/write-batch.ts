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

export interface BatchExtent {
  /** The number of its first write. */
  readonly first: number;
  readonly count: number;
}

const HEADER = 12;
const PUT = 1;

/** Walks through the whole batch and makes nothing of its writes. @returns null for what is no batch. */
export function extentOf(payload: Buffer): BatchExtent | null {
  if (payload.length < HEADER) return null;
  const first = fixed64(payload, 0);
  if (first === null) return null;
  let count = 0;
  for (const reader = new Reader(payload, HEADER); !reader.done; count += 1) {
    const type = reader.varint();
    if (!reader.skipPrefixed() || (type !== 0 && (type !== PUT || !reader.skipPrefixed()))) return null;
  }
  return count === payload.readUInt32LE(8) ? { first, count } : null;
}

/** @returns None for what is no batch. */
export function decodeBatch(payload: Buffer): readonly Write[] {
  const extent = extentOf(payload);
  if (extent === null) return [];
  const reader = new Reader(payload, HEADER);
  return Array.from({ length: extent.count }, (_, nth) => {
    const isPut = reader.varint() === PUT;
    const key = reader.prefixed() as Buffer;
    return { key, sequence: extent.first + nth, value: isPut ? reader.prefixed() : null };
  });
}
