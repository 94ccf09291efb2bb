/**
 * Owns the format number of the database: whether this release may work on it.
 * Must not know the formats of single records; those carry a version of their own.
 */
import { TurnError } from '../core/errors.js';

import { FORMAT_KEY, KINDS } from './keys.js';
import { decodeRecord, encodeRecord } from './records.js';
import { isCorruption, put, type Tables } from './tables.js';

/** Grows with a change of keys or records that an older release would misread. */
export const FORMAT = 1;

/**
 * Writes the number into a new database.
 * @throws {TurnError} TURN_STORE_FORMAT for a newer format, and for a database that somebody else filled.
 */
export async function checkFormat(tables: Tables): Promise<void> {
  const bytes = await tables.get('meta', FORMAT_KEY).catch((error: unknown) => {
    if (isCorruption(error)) return Buffer.alloc(0);
    throw error;
  });
  if (bytes === undefined) {
    const [first] = await tables.level.keys({ limit: 1 }).all();
    // A database of ours without the record has lost it; a start-up must not fail for that (I12).
    if (first !== undefined && !isOurs(String(first))) {
      throw new TurnError(
        'TURN_STORE_FORMAT',
        'The folder holds a LevelDB database that durable-turn did not write; choose another folder.',
      );
    }
    return writeFormat(tables);
  }
  const record = decodeRecord('meta', FORMAT_KEY, bytes);
  // Damaged: there is one format so far, so this is what it said. A start-up must not fail for it (I12).
  if (!record.ok) return writeFormat(tables);
  const { format } = record.value as { readonly format: number };
  if (format > FORMAT) {
    throw new TurnError(
      'TURN_STORE_FORMAT',
      `The database has format ${format}, this release of durable-turn reads up to ${FORMAT}; use a newer release.`,
    );
  }
}

const isOurs = (key: string): boolean => KINDS.some((kind) => key.startsWith(`!${kind}!`));

function writeFormat(tables: Tables): Promise<void> {
  return tables.write([put('meta', FORMAT_KEY, encodeRecord('meta', FORMAT_KEY, 0, { format: FORMAT }, 'format'))]);
}
