/**
 * Owns the format number of the database: whether this release may work on it, and what is left to migrate.
 * Must not know the formats of single records; those carry a version of their own.
 */
import { TurnError } from '../core/errors.js';
import { FORMAT_KEY, KINDS, type Kind, placeOf, SUBLEVELS } from './keys.js';
import { decodeRecord, encodeRecord } from './records.js';
import { isCorruption, type Op, put, type Tables } from './tables.js';

/**
 * Grows with a change of keys or records that an older release would misread.
 *   1  every record in one piece
 *   2  large ones in parts
 */
export const FORMAT = 2;

/** Where a migration goes on: everything before this key of this kind has the newest format. */
export interface Position {
  readonly kind: Kind;
  readonly key: string;
}

const START: Position = { kind: KINDS[0], key: '' };

/**
 * Writes the number into a new database.
 * @returns Where a migration has to begin or to go on; null for the newest format. Records of both are read.
 * @throws {TurnError} TURN_STORE_FORMAT for a newer format, and for a database that somebody else filled.
 */
export async function checkFormat(tables: Tables): Promise<Position | null> {
  const bytes = await tables.get('meta', FORMAT_KEY).catch((error: unknown) => {
    if (isCorruption(error)) return Buffer.alloc(0);
    throw error;
  });
  if (bytes === undefined) {
    const [first] = await tables.level.keys({ limit: 1 }).all();
    if (first === undefined) {
      await tables.write([formatOp(null)]);
      return null;
    }
    // A database of ours without the record has lost it; a start-up must not fail for that (I12).
    if (isOurs(String(first))) return START;
    throw foreignError();
  }
  const record = decodeRecord('meta', FORMAT_KEY, bytes);
  // Damaged: what it said is not known, and a migration changes nothing that is new. A start-up must not fail (I12).
  if (!record.ok) return START;
  const { format, migrated } = record.value as unknown as FormatRecord;
  if (format > FORMAT) throw newerError(format);
  return format < FORMAT ? START : (migrated ?? null);
}

const newerError = (format: number): TurnError =>
  new TurnError(
    'TURN_STORE_FORMAT',
    `The database has format ${format}, this release of durable-turn reads up to ${FORMAT}; use a newer release.`,
  );

/** Where the number is among the keys of the whole database. */
export const FORMAT_PLACE = placeOf('meta', FORMAT_KEY);

/**
 * The same for files that LevelDB has not opened yet: it would change them before anybody could refuse.
 * @param stored What is at `FORMAT_PLACE`; null where nothing can be read there, which is for `checkFormat` to judge.
 * @throws {TurnError} TURN_STORE_FORMAT for a newer format.
 */
export function refuseNewer(stored: Buffer | null): void {
  const record = stored === null ? null : decodeRecord('meta', FORMAT_KEY, stored);
  if (record?.ok !== true) return;
  const { format } = record.value as unknown as FormatRecord;
  if (format > FORMAT) throw newerError(format);
}

/**
 * For such files as well.
 * @param entries In the order of keys.
 * @throws {TurnError} TURN_STORE_FORMAT where there are entries, and none of ours.
 */
export function refuseForeign(entries: Iterable<{ readonly key: Buffer }>): void {
  let found = false;
  for (const { key } of entries) {
    if (isOurs(key.toString())) return;
    found = true;
    // All of ours begin with the separator of sublevels: none is behind this key.
    if (key.toString() >= '"') break;
  }
  if (found) throw foreignError();
}

const foreignError = (): TurnError =>
  new TurnError(
    'TURN_STORE_FORMAT',
    'The folder holds a LevelDB database that durable-turn did not write; choose another folder.',
  );

interface FormatRecord {
  readonly format: number;
  /** While a migration runs. The number is the newest from its first batch on: an older release must not misread it. */
  readonly migrated?: Position;
}

/** @param migrated How far a migration is; null once it is complete. */
export function formatOp(migrated: Position | null): Op {
  const record: FormatRecord = migrated === null ? { format: FORMAT } : { format: FORMAT, migrated };
  return put('meta', FORMAT_KEY, encodeRecord('meta', FORMAT_KEY, 0, record, 'format'));
}

const isOurs = (key: string): boolean => SUBLEVELS.some((name) => key.startsWith(placeOf(name, '')));
