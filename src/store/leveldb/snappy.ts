/**
 * Owns the way back from Snappy, which LevelDB compresses the blocks of its tables with.
 * Must not know blocks.
 */
import { Reader } from './bytes.js';

/** More than any block can have: a block ends with the entry that fills it, and an entry is at most one record. */
const LARGEST = 1 << 28;

const LOOPED = 64;

/** @returns null for what Snappy did not make. */
export function unsnappy(bytes: Buffer): Buffer | null {
  const reader = new Reader(bytes);
  const length = reader.varint();
  if (length === null || length > LARGEST) return null;
  const out = Buffer.allocUnsafe(length);
  let to = 0;
  let at = reader.at;
  while (at < bytes.length) {
    const tag = bytes[at] as number;
    at += 1;
    const kind = tag & 3;
    // A literal of up to 60 bytes has its length in the tag, a longer one in up to four bytes behind it.
    const extra = kind === 0 ? Math.max(0, (tag >> 2) - 59) : kind === 3 ? 4 : kind;
    if (at + extra > bytes.length) return null;
    const operand = extra === 0 ? 0 : bytes.readUIntLE(at, extra);
    at += extra;
    if (kind === 0) {
      const size = (extra === 0 ? tag >> 2 : operand) + 1;
      if (at + size > bytes.length || to + size > length) return null;
      // Most are a few bytes long: for those a call would cost more than the loop.
      if (size > LOOPED) bytes.copy(out, to, at, at + size);
      else for (let i = 0; i < size; i += 1) out[to + i] = bytes[at + i] as number;
      at += size;
      to += size;
      continue;
    }
    const size = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const offset = kind === 1 ? ((tag >> 5) << 8) | operand : operand;
    if (offset === 0 || offset > to || to + size > length) return null;
    // Byte by byte: a copy may reach into what it writes.
    for (let i = 0; i < size; i += 1, to += 1) out[to] = out[to - offset] as number;
  }
  return to === length ? out : null;
}
