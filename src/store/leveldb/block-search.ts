/**
 * Owns finding the blocks of a table without its index: they lie one behind the other, each with its checksum.
 * Must not know what is in them.
 */

import { entriesOf } from './block-entries.js';
import { crcStep, masked } from './bytes.js';
import { unsnappy } from './snappy.js';
import type { Handle, TableFile } from './table-file.js';

const TRAILER = 5;
/** A block ends with the entry that fills it, and an entry is at most one record, so this ends a search for certain. */
const LARGEST_BLOCK = 1 << 27;

export interface FoundBlocks {
  readonly blocks: readonly Handle[];
  /** Whether these are all blocks with entries: what follows the last of them was found as well. */
  readonly complete: boolean;
}

/** Every block from the beginning to the first that is damaged. */
export function searchBlocks(table: TableFile): FoundBlocks {
  const bytes = table.read(0, table.size);
  const blocks: Handle[] = [];
  let offset = 0;
  for (;;) {
    const end = endOfBlock(bytes, offset);
    if (end === null) return { blocks, complete: false };
    const handle = { offset, size: end - offset };
    if (isMeta(bytes.subarray(offset, end), bytes[end] as number)) return { blocks, complete: true };
    blocks.push(handle);
    offset = end + TRAILER;
  }
}

/** Where the contents of the block end: there the checksum of everything before is right. */
function endOfBlock(bytes: Buffer, from: number): number | null {
  let crc = -1;
  const last = Math.min(bytes.length - TRAILER, from + LARGEST_BLOCK);
  for (let at = from; at <= last; at += 1) {
    crc = crcStep(crc, bytes[at] as number);
    const kind = bytes[at] as number;
    if (kind <= 1 && at > from && masked((crc ^ -1) >>> 0) === bytes.readUInt32LE(at + 1)) return at;
  }
  return null;
}

/** The block behind the entries and their filter; it names the filter. */
function isMeta(contents: Buffer, kind: number): boolean {
  const block = kind === 0 ? contents : unsnappy(contents);
  const entries = block === null ? null : entriesOf(block);
  return entries?.every(({ key }) => key.toString('latin1').startsWith('filter.')) === true;
}
