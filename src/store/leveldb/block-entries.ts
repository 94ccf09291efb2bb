/**
 * Owns the form of a block of a table: sorted entries, and behind them where keys are stored whole.
 * Must not know what keys and values mean, nor where the block came from: its checksum was verified before.
 */
import { Reader } from './bytes.js';

export interface RawEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

interface Restarts {
  /** Where the entries end. */
  readonly at: number;
  readonly count: number;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** All entries; null for a block that makes no sense. */
export function entriesOf(block: Buffer): readonly RawEntry[] | null {
  const restarts = restartsOf(block);
  return restarts === null ? null : entriesWhile(block, restarts, 0, () => true);
}

/**
 * The entries from the last one that `isBelow` and is stored whole, or the first of all, to the first that `isBehind`,
 * included: half of what is left is skipped at each look, as the index of a table names a thousand blocks.
 */
export function entriesBetween(
  block: Buffer,
  isBelow: (key: Buffer) => boolean,
  isBehind: (key: Buffer) => boolean,
): readonly RawEntry[] | null {
  const restarts = restartsOf(block);
  if (restarts === null || restarts.count === 0) return null;
  let [low, high] = [0, restarts.count];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const entry = nextEntry(new Reader(block.subarray(0, restarts.at), restartAt(block, restarts, middle)), NOTHING);
    if (entry === null) return null;
    if (isBelow(entry.key)) low = middle;
    else high = middle;
  }
  return entriesWhile(block, restarts, restartAt(block, restarts, low), ({ key }) => !isBehind(key));
}

function restartsOf(block: Buffer): Restarts | null {
  if (block.length < 4) return null;
  const count = block.readUInt32LE(block.length - 4);
  const at = block.length - 4 * (count + 1);
  return at < 0 ? null : { at, count };
}

const restartAt = (block: Buffer, { at }: Restarts, nth: number): number => block.readUInt32LE(at + 4 * nth);

/** The entry at which it ends is part of it. */
function entriesWhile(
  block: Buffer,
  { at }: Restarts,
  from: number,
  goesOn: (entry: RawEntry) => boolean,
): readonly RawEntry[] | null {
  const reader = new Reader(block.subarray(0, at), from);
  const entries: RawEntry[] = [];
  for (let last = NOTHING; !reader.done; ) {
    const entry = nextEntry(reader, last);
    if (entry === null) return null;
    entries.push(entry);
    if (!goesOn(entry)) break;
    last = entry.key;
  }
  return entries;
}

/** Each key is stored as what it shares with the one before and what it does not. */
function nextEntry(reader: Reader, last: Buffer): RawEntry | null {
  const shared = reader.varint();
  const rest = reader.varint();
  const length = reader.varint();
  if (shared === null || rest === null || length === null || shared > last.length) return null;
  const own = reader.bytes(rest);
  const value = reader.bytes(length);
  if (own === null || value === null) return null;
  return { key: shared === 0 ? own : Buffer.concat([last.subarray(0, shared), own]), value };
}
