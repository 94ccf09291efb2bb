/**
 * Owns the form of LevelDB's logs, which its manifests have too: blocks of 32 KB, checksummed fragments of records.
 * Must not know what the records mean.
 *
 * LevelDB drops the rest of a block behind a bad checksum without a word. Here every record that is whole is found, and
 * every place between records that is not.
 */
import { crc32c, masked } from './bytes.js';

const BLOCK = 32_768;
const HEADER = 7;
const FULL = 1;
const FIRST = 2;
const LAST = 4;

export interface LogRecord {
  /** Where it begins in the file. */
  readonly at: number;
  readonly payload: Buffer;
  /** Bytes before it belong to no whole record. */
  readonly afterDamage: boolean;
}

export interface LogContent {
  readonly records: readonly LogRecord[];
  /** Bytes behind the last whole record. */
  readonly tail: number;
  /**
   * Whether the tail is what is there of a record that goes on behind the end of the file, or nothing but zeros, or no
   * byte at all. Where it is anything else, something was written there and has changed since, or its pages never came.
   */
  readonly cut: boolean;
}

interface Fragment {
  readonly type: number;
  readonly payload: Buffer;
}

/** Reads a whole log. Never throws, whatever the bytes are. */
export function readLog(bytes: Buffer): LogContent {
  const records: LogRecord[] = [];
  let parts: Buffer[] = [];
  let begin = 0;
  let end = 0;
  let bad = false;
  let cut = false;
  const found = (at: number, payload: Buffer, next: number): void => {
    records.push({ at, payload, afterDamage: bad });
    [parts, bad, end] = [[], false, next];
  };
  let at = 0;
  while (at + HEADER <= bytes.length) {
    const left = BLOCK - (at % BLOCK);
    if (left < HEADER) {
      at += left;
      continue;
    }
    const fragment = fragmentAt(bytes, at);
    if (fragment === null) {
      const next = nextFragment(bytes, at + 1);
      cut = !bad && next === bytes.length && isCut(bytes, at, parts.length > 0);
      [parts, bad, at] = [[], true, next];
      continue;
    }
    const { type, payload } = fragment;
    const next = at + HEADER + payload.length;
    // A record that was begun and has no end, or an end without a beginning.
    const begins = type === FULL || type === FIRST;
    if (begins === parts.length > 0) [parts, bad] = [[], true];
    if (type === FIRST) begin = at;
    if (type === FULL) found(at, payload, next);
    else if (type === FIRST || parts.length > 0) parts.push(payload);
    if (type === LAST && parts.length > 0) found(begin, Buffer.concat(parts), next);
    at = next;
  }
  return { records, tail: bytes.length - end, cut: !bad || cut };
}

function fragmentAt(bytes: Buffer, at: number): Fragment | null {
  const type = bytes[at + 6] as number;
  if (type < FULL || type > LAST) return null;
  const from = at + HEADER;
  const length = bytes.readUInt16LE(at + 4);
  if (from + length > bytes.length || (at % BLOCK) + HEADER + length > BLOCK) return null;
  if (masked(crc32c(bytes, at + 6, from + length)) !== bytes.readUInt32LE(at)) return null;
  return { type, payload: bytes.subarray(from, from + length) };
}

/**
 * LevelDB takes a fragment that its file is too short for as one that a crash cut off, in a block that is not full;
 * zeros as room that was never written to, unless a record was begun before them.
 */
function isCut(bytes: Buffer, at: number, begun: boolean): boolean {
  const blockIsFull = at - (at % BLOCK) + BLOCK <= bytes.length;
  if (!blockIsFull && at + HEADER + bytes.readUInt16LE(at + 4) > bytes.length) return true;
  return !begun && bytes.subarray(at).every((byte) => byte === 0);
}

/** Byte by byte: where a length is damaged, nothing says where the next fragment begins. */
function nextFragment(bytes: Buffer, from: number): number {
  for (let at = from; at + HEADER <= bytes.length; at += 1) {
    if (BLOCK - (at % BLOCK) >= HEADER && fragmentAt(bytes, at) !== null) return at;
  }
  return bytes.length;
}
