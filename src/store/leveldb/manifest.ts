/**
 * Owns the form of a LevelDB manifest: which tables there are, which logs are not in them yet.
 * Must not know the files it names.
 */
import { Reader } from './bytes.js';
import { readLog } from './log-file.js';

export interface TableEntry {
  readonly number: number;
  readonly size: number;
  /** First and last key, without LevelDB's numbers. */
  readonly smallest: Buffer;
  readonly largest: Buffer;
}

export interface Manifest {
  readonly tables: readonly TableEntry[];
  /** Logs with this number and above are not in the tables; null where no edit named one. */
  readonly logNumber: number | null;
  readonly previousLog: number;
  /** The number of the last write that is in the tables, or in a log. */
  readonly lastSequence: number;
}

const TAG = {
  comparator: 1,
  logNumber: 2,
  nextFile: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLog: 9,
} as const;

interface Draft {
  readonly tables: Map<number, TableEntry>;
  logNumber: number | null;
  previousLog: number;
  lastSequence: number;
}

/**
 * @returns The reason where it cannot be trusted. Its last edit may be cut off, by a crash while it was written: LevelDB
 * goes on without it. Of an edit that is all there and damaged LevelDB opens nothing, wherever it is.
 */
export function readManifest(bytes: Buffer): Manifest | string {
  const { records, tail, cut } = readLog(bytes);
  if (records.length === 0) return 'has no whole record';
  const draft: Draft = { tables: new Map(), logNumber: null, previousLog: 0, lastSequence: 0 };
  for (const { payload, afterDamage, at } of records) {
    if (afterDamage) return `is damaged before byte ${at}`;
    if (!apply(draft, new Reader(payload))) return `has an edit at byte ${at} that makes no sense`;
  }
  if (!cut) return `is damaged behind byte ${bytes.length - tail}`;
  return { ...draft, tables: [...draft.tables.values()] };
}

function apply(draft: Draft, edit: Reader): boolean {
  while (!edit.done) {
    switch (edit.varint()) {
      case TAG.comparator:
        if (edit.prefixed() === null) return false;
        break;
      case TAG.logNumber:
        draft.logNumber = edit.varint();
        if (draft.logNumber === null) return false;
        break;
      case TAG.previousLog: {
        const number = edit.varint();
        if (number === null) return false;
        draft.previousLog = number;
        break;
      }
      case TAG.nextFile:
        if (edit.varint() === null) return false;
        break;
      case TAG.lastSequence: {
        const sequence = edit.varint();
        if (sequence === null) return false;
        draft.lastSequence = Math.max(draft.lastSequence, sequence);
        break;
      }
      case TAG.compactPointer:
        if (edit.varint() === null || edit.prefixed() === null) return false;
        break;
      case TAG.deletedFile: {
        const level = edit.varint();
        const number = edit.varint();
        if (level === null || number === null) return false;
        draft.tables.delete(number);
        break;
      }
      case TAG.newFile:
        if (!addTable(draft, edit)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

function addTable(draft: Draft, edit: Reader): boolean {
  const level = edit.varint();
  const number = edit.varint();
  const size = edit.varint();
  const smallest = edit.prefixed();
  const largest = edit.prefixed();
  if (level === null || number === null || size === null) return false;
  if (smallest === null || largest === null || smallest.length < 8 || largest.length < 8) return false;
  // A table that moves to another level is deleted and added in one edit, in this order.
  draft.tables.set(number, { number, size, smallest: smallest.subarray(0, -8), largest: largest.subarray(0, -8) });
  return true;
}
