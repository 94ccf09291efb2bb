/**
 * Owns bringing a database of an older format to the newest: what format 1 stored in one piece, however large, is cut
 * into parts. Must not know what records mean, nor how they are cut.
 *
 * One pass in the order of keys, before anybody else uses the database. Each batch brings one record and the position
 * behind it, so it goes on wherever it was killed. Both forms are read meanwhile.
 */
import { formatOp, type Position } from './format.js';
import { KINDS } from './keys.js';
import { isLarge } from './parts.js';
import { isReference } from './records.js';
import { pageInOrder } from './salvage.js';
import { put, type Tables } from './tables.js';

/** How far a migration is: what it has looked at since it began, or went on. */
export interface MigrationProgress {
  readonly records: number;
  readonly bytes: number;
}

/** Records looked at in one go. */
const PAGE = 1_000;
/** Bytes after which a position is written although nothing had to be changed. */
const NOTED_BYTES = 64 << 20;

/** @param from What `checkFormat` said. */
export async function migrate(
  tables: Tables,
  from: Position,
  tell: (progress: MigrationProgress) => void,
): Promise<void> {
  let [records, bytes, noted] = [0, 0, 0];
  for (const kind of KINDS.slice(KINDS.indexOf(from.kind))) {
    let key: string | null = kind === from.kind ? from.key : '';
    while (key !== null) {
      const page = await pageInOrder(tables, kind, key, PAGE);
      for (const [name, value] of page.entries) {
        records += 1;
        bytes += value.length;
        if (!isLarge(value) || isReference(value)) continue;
        await tables.write([put(kind, name, value), formatOp({ kind, key: `${name}\u0000` })]);
        noted = bytes;
      }
      key = page.next;
      if (key !== null && bytes - noted >= NOTED_BYTES) {
        await tables.write([formatOp({ kind, key })]);
        noted = bytes;
      }
      if (page.entries.length > 0) tell({ records, bytes });
    }
  }
  await tables.write([formatOp(null)]);
}
