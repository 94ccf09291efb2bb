/**
 * Owns that parts go in the batch in which their record goes or is overwritten: finds which there are.
 * Must not know why a record goes. To ask costs a look into the database; nobody asks for a session without parts.
 */
import { type Kind, PART, partsBetween, partsOfSession, type Range, recordOfPart, type SublevelName } from './keys.js';
import { readable } from './salvage.js';
import { del, isCorruption, type Op, type Tables } from './tables.js';

/** More than one record can have. */
const ALL = 1_000;

/** Whether any record of the session is stored in parts. */
export async function hasParts(tables: Tables, sessionId: string): Promise<boolean> {
  try {
    return (await tables.keys(PART, partsOfSession(sessionId), 1)).length > 0;
  } catch (error) {
    // There is something.
    if (isCorruption(error)) return true;
    throw error;
  }
}

/** Deletes the parts of one record, also where LevelDB cannot read all of them. */
export async function partsOfRecord(tables: Tables, kind: Kind, key: string): Promise<readonly Op[]> {
  const range = partsBetween(kind, key, key);
  try {
    return (await tables.keys(PART, range, ALL)).map((part) => del(PART, part));
  } catch (error) {
    if (!isCorruption(error)) throw error;
  }
  const ops: Op[] = [];
  for await (const [part] of readable(tables, PART, range)) ops.push(del(PART, part));
  return ops;
}

/** What a commit overwrites or deletes. Its messages are new: an epoch is cleared before it is written to. */
export async function partsBefore(tables: Tables, ops: readonly Op[]): Promise<readonly Op[]> {
  const changed = ops.filter((op) => op.kind !== 'message' && op.kind !== PART);
  return (await Promise.all(changed.map((op) => partsOfRecord(tables, op.kind as Kind, op.key)))).flat();
}

/**
 * Deletes the first records of a range with their parts: as many as fit into `limit`, and one in any case. None are
 * left where it is empty.
 * @param parts Whether any of them may have parts.
 */
export async function firstDeletions(
  tables: Tables,
  kind: SublevelName,
  range: Range,
  limit: number,
  parts: boolean,
): Promise<readonly { readonly key: string; readonly ops: readonly Op[] }[]> {
  const keys = await tables.keys(kind, range, limit);
  if (!parts || kind === PART) return keys.map((key) => ({ key, ops: [del(kind, key)] }));
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) return [];
  const found = await tables.keys(PART, partsBetween(kind, first, last), limit);
  const chosen: { key: string; ops: readonly Op[] }[] = [];
  let [at, count] = [0, 0];
  for (const key of keys) {
    const from = at;
    while (at < found.length && recordOfPart(found[at] as string) <= key) at += 1;
    // Where the look at parts ended, there may be more of this record.
    const cutOff = at === found.length && found.length === limit;
    const own = cutOff ? [] : found.slice(from, at).map((part) => del(PART, part));
    if (cutOff || count + own.length + 1 > limit) break;
    chosen.push({ key, ops: [del(kind, key), ...own] });
    count += own.length + 1;
  }
  if (chosen.length > 0) return chosen;
  return [{ key: first, ops: [del(kind, first), ...(await partsOfRecord(tables, kind, first))] }];
}
