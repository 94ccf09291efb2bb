/**
 * Owns the answer to one question: are the files of this folder what LevelDB wrote?
 * Must not know repair. Changes nothing, and may run beside a service, but then sees files come and go.
 */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, TurnError } from '../core/errors.js';
import { type Finding, type FolderContent, isDatabaseFile, readFolder } from './folder-content.js';
import { readFile } from './leveldb/regular-file.js';
import { diedOpening } from './owner.js';
import { readLastRun } from './run-file.js';
import { KEPT } from './swap.js';
import { checkTables, type Extent } from './table-check.js';

export interface Inspection {
  readonly findings: readonly Finding[];
  readonly content: FolderContent;
  /** Bytes of which the checksums were verified. */
  readonly bytes: number;
}

/** What the files say, without a look at the tables. */
export const readWhole = (folder: string): FolderContent => readFolder(folder, readLastRun(folder)?.acknowledged ?? 0);

export async function inspect(
  content: FolderContent,
  extent: Extent,
  progress?: (bytes: number) => void,
): Promise<Inspection> {
  const tables = await checkTables(content, extent, (bytes) => progress?.(content.bytes + bytes));
  return {
    findings: [...content.findings, ...tables.findings],
    content,
    bytes: content.bytes + tables.bytes,
  };
}

/**
 * - `new`: nothing is or was here, a database may be made.
 * - `lost`: a database was here, and none of its files is.
 * - `database`: something is left to read.
 */
export type FolderKind = 'new' | 'lost' | 'database';

export function kindOfFolder(folder: string): FolderKind {
  const names = readdirSync(folder);
  // The first manifest alone is left by a crash in the middle of making the database: nothing was stored yet.
  const made = names.filter((name) => isDatabaseFile(name) && name !== 'MANIFEST-000001');
  if (made.length > 0) return 'database';
  return (readLastRun(folder)?.acknowledged ?? 0) > 0 || names.some((name) => hasLived(folder, name)) ? 'lost' : 'new';
}

/** LevelDB's own report gets its first line when a database was made, or opened; a repair keeps what it repaired. */
function hasLived(folder: string, name: string): boolean {
  try {
    return KEPT.test(name) || (/^LOG(\.old)?$/.test(name) && readFile(join(folder, name)).length > 0);
  } catch {
    return false;
  }
}

/** Whether the last run died while LevelDB was at its tables, or met something there: all of them are verified then. */
export function diedAtWork(folder: string): boolean {
  const stage = readLastRun(folder)?.stage;
  return stage === 'reading' || (stage === 'open' && diedCompacting(folder)) || diedOpening(folder);
}

/** LevelDB reports the begin and the end of each compaction, and one that failed. */
function diedCompacting(folder: string): boolean {
  try {
    const report = readFile(join(folder, 'LOG')).toString('latin1');
    const begun = report.lastIndexOf(' Compacting ');
    return begun > report.lastIndexOf(' compacted to: ') || report.includes(' Compaction error: ');
  } catch {
    return false;
  }
}

export interface FolderReport {
  /** The folder, with its links resolved. */
  readonly folder: string;
  /** What is damaged; none for a folder that is as it was written. */
  readonly findings: readonly Finding[];
  readonly bytes: number;
}

/**
 * Verifies every checksum of every file. Reads only. Not to be used while a service has the folder open: files that
 * come and go look like damage.
 * @param progress Gets the bytes verified so far.
 * @throws {TurnError} TURN_NOT_FOUND for a folder without a database, TURN_STORE_FAILED
 */
export async function verifyFolder(path: string, progress?: (bytes: number) => void): Promise<FolderReport> {
  const folder = databaseFolder(path);
  const { findings, bytes } = await inspect(readWhole(folder), 'everything', progress);
  return { folder, findings, bytes };
}

/** @throws {TurnError} TURN_NOT_FOUND, TURN_STORE_FAILED */
export function databaseFolder(path: string): string {
  try {
    if (existsSync(path) && kindOfFolder(path) !== 'new') return realpathSync(path);
  } catch (error) {
    throw new TurnError('TURN_STORE_FAILED', `The folder "${path}" cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const link = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path);
  if (link) throw new TurnError('TURN_NOT_FOUND', `There is no database in "${path}": it is a link to nothing.`);
  throw new TurnError('TURN_NOT_FOUND', `There is no database in "${path}".`);
}
