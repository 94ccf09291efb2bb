/**
 * Owns reading a database of which LevelDB itself cannot read a part.
 * Must not know what records mean.
 */

import type { Kind, Range, SublevelName } from './keys.js';
import { type Entry, isCorruption, type Snapshot, type Tables } from './tables.js';

/**
 * Everything of a range that can be read. LevelDB ends a scan at the first block it cannot read: then from there one
 * by one, and from the other end back to it.
 * @param missing Called when something could not be read.
 */
export async function* readable(
  tables: Tables,
  kind: SublevelName,
  range: Partial<Range> = {},
  missing: () => void = () => {},
): AsyncGenerator<Entry> {
  let rest = range;
  try {
    for await (const entry of tables.scan(kind, range)) {
      yield entry;
      rest = behind(entry[0], range);
    }
    return;
  } catch (error) {
    if (!isCorruption(error)) throw error;
    missing();
  }
  for (const reverse of [false, true]) {
    try {
      for await (const entry of tables.scan(kind, rest, { chunk: 1, reverse })) {
        yield entry;
        if (!reverse) rest = behind(entry[0], range);
      }
    } catch (error) {
      if (!isCorruption(error)) throw error;
    }
  }
}

const PAGE_BYTES = 1 << 20;

/** Some entries in the order of their keys, and where the next ones begin; null at the end. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

/**
 * At most `size` entries, or about a megabyte, from a key on. A page holds nothing open, so that whoever reads page by page can take their
 * time and outlives a reopening. Blocks that LevelDB cannot read are passed over, as `readable` does.
 */
export async function pageInOrder(tables: Tables, kind: Kind, from: string, size: number): Promise<Page> {
  const entries: Entry[] = [];
  let bytes = 0;
  let range: Partial<Range> = { gte: from };
  for (const chunk of [size, 1]) {
    try {
      for await (const entry of tables.scan(kind, range, { chunk })) {
        entries.push(entry);
        bytes += entry[1].length;
        range = behind(entry[0], {});
        if (entries.length === size || bytes >= PAGE_BYTES) return { entries, next: range.gte ?? null };
      }
      return { entries, next: null };
    } catch (error) {
      if (!isCorruption(error)) throw error;
    }
  }
  const next = await firstFromTheEnd(tables, kind, range);
  // A page that begins where this one did would do so for ever.
  return { entries, next: next === from ? null : next };
}

/** The first key of the range that a scan from its end comes to. */
async function firstFromTheEnd(tables: Tables, kind: Kind, range: Partial<Range>): Promise<string | null> {
  let first: string | null = null;
  try {
    for await (const [key] of tables.scan(kind, range, { chunk: 1, reverse: true })) first = key;
  } catch (error) {
    if (!isCorruption(error)) throw error;
  }
  return first;
}

/** The next key after this one is this one with the lowest character behind it. */
const behind = (key: string, range: Partial<Range>): Partial<Range> => ({ ...range, gte: `${key}\u0000` });

/** undefined also for bytes that LevelDB itself cannot read: of these there is nothing to keep. */
export async function bytesOf(
  tables: Tables,
  kind: Kind,
  key: string,
  snapshot?: Snapshot,
): Promise<Buffer | undefined> {
  try {
    return await tables.get(kind, key, snapshot);
  } catch (error) {
    if (isCorruption(error)) return undefined;
    throw error;
  }
}
