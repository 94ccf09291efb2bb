/**
 * Owns the repair of a folder: everything that is whole goes into a new database beside the damaged one, is scrubbed
 * there, and takes its place; the originals stay. Must not know how files or records are read.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { messageOf, TurnError } from '../core/errors.js';
import type { DamagedSession } from '../core/ports.js';
import { findRecord } from './find-record.js';
import type { Finding, FolderContent } from './folder-content.js';
import { FORMAT_PLACE, refuseForeign, refuseNewer } from './format.js';
import { lockFolder } from './guard.js';
import { databaseFolder, inspect, readWhole } from './inspect.js';
import { headKey, KINDS, placeOf, sessionOfHead } from './keys.js';
import { openedAlone, reserve } from './owner.js';
import { RunFile } from './run-file.js';
import { type LostKeys, Salvage } from './salvage-files.js';
import { type Suspicion, scrub } from './scrub.js';
import { finishSwap, isSwapPending, REPAIRED, swapIn } from './swap.js';
import { BATCH_BYTES, BATCH_OPS, type Level as OpenLevel, Tables } from './tables.js';

export interface RepairReport {
  readonly folder: string;
  /** What was damaged; none: nothing was done. */
  readonly findings: readonly Finding[];
  /** Where the damaged files are kept; null where nothing was done. */
  readonly originals: string | null;
  /** Records in the repaired database. */
  readonly records: number;
  /** What was acknowledged may be missing: writes of the log, or records of tables. */
  readonly incomplete: boolean;
  /**
   * Sessions in which something disagrees, and turns in progress that may have gone back to an older state. Where the
   * report is `incomplete`, a session without a turn in progress may be gone, or have gone back to a state that agrees
   * with itself: nothing tells which.
   */
  readonly sessions: readonly DamagedSession[];
}

/** What no list of sessions can say of a repair that is `incomplete`. */
export const UNTOLD =
  'Sessions without a turn in progress may have gone back to an older state, or be gone, without a sign of it.';

/**
 * Repairs the database in a folder that nobody has open. Without damage it changes nothing.
 * @param progress Gets the bytes read so far.
 * @param signal Gives the repair up while it still copies: nothing is left of it then, and its reason is thrown.
 * @throws {TurnError} TURN_NOT_FOUND without a database, TURN_STORE_LOCKED, TURN_STORE_FORMAT for a newer format, and for
 * a whole database that somebody else filled, TURN_DAMAGED where nothing is left to repair, TURN_STORE_FAILED, for
 * example where there is no space for the new database: nothing was changed, unless the error says that the repair goes
 * on with the next opening.
 */
export async function repairFolder(
  path: string,
  progress?: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<RepairReport> {
  const folder = databaseFolder(path);
  const release = reserve(folder);
  try {
    return await openedAlone(folder, () => repairAlone(folder, progress, signal));
  } finally {
    release();
  }
}

/** The same where the folder is reserved for the caller. */
export async function repairAlone(
  folder: string,
  progress?: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<RepairReport> {
  const lock = await lockFolder(folder, true);
  try {
    await finishSwap(folder);
    return await repairLocked(folder, progress, signal);
  } catch (error) {
    // A part of the files has moved: what is still to come is nowhere else.
    if (isSwapPending(folder)) throw unfinishedError(folder, error);
    rmSync(join(folder, REPAIRED), { recursive: true, force: true });
    throw error === signal?.reason ? error : repairError(folder, error);
  } finally {
    await lock.release();
  }
}

async function repairLocked(
  folder: string,
  progress: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<RepairReport> {
  const between = () => signal?.throwIfAborted();
  const { findings, content } = await inspect(readWhole(folder), 'everything', (bytes) => {
    between();
    progress(bytes);
  });
  if (findings.length === 0) {
    refuseNewer(findRecord(content, FORMAT_PLACE));
    refuseForeign(new Salvage(content).entries());
    return { folder, findings, originals: null, records: 0, incomplete: false, sessions: [] };
  }
  const report = { folder, findings, ...(await rebuild(folder, content, between)) };
  // From its start the repaired database says what its log has to hold.
  const repaired = join(folder, REPAIRED);
  new RunFile(repaired, readWhole(repaired).lastSequence).end(true);
  return { ...report, originals: swapIn(folder, report) };
}

function unfinishedError(folder: string, error: unknown): TurnError {
  if (error instanceof TurnError) return error;
  return new TurnError(
    'TURN_STORE_FAILED',
    `The database in ${folder} is repaired, but not all of its files have taken their places: ${messageOf(error)}. ` +
      `Nothing is lost, those to come are in ${join(folder, REPAIRED)}: remove the cause, and the next opening goes on.`,
    { cause: error },
  );
}

function repairError(folder: string, error: unknown): TurnError {
  if (error instanceof TurnError) return error;
  return new TurnError(
    'TURN_STORE_FAILED',
    `The database in ${folder} is damaged, and its repair failed: ${messageOf((error as { cause?: unknown }).cause ?? error)}. ` +
      'Nothing was changed. The repair needs as much space as the database: make room, or restore a backup.',
    { cause: error },
  );
}

async function rebuild(folder: string, content: FolderContent, between: () => void) {
  rmSync(join(folder, REPAIRED), { recursive: true, force: true });
  const level = new Level<string, Buffer>(join(folder, REPAIRED), { errorIfExists: true });
  await level.open();
  try {
    const salvage = new Salvage(content);
    const { records, heads } = await copyInto(level as unknown as OpenLevel, salvage, between);
    if (records === 0) {
      throw new TurnError(
        'TURN_DAMAGED',
        `Nothing can be read any more of the database in ${folder}. Nothing was changed: restore a backup, or choose another folder.`,
      );
    }
    const tables = new Tables(level as unknown as OpenLevel);
    const cut = Math.max(salvage.lastSequence, content.lastSequence) < content.acknowledged;
    const lostUpTo = Math.max(content.lostUpTo, cut ? content.acknowledged : 0);
    const sessions = await scrub(tables, suspicion(heads, lostUpTo, salvage.lost), between);
    return { records, incomplete: lostUpTo > 0 || salvage.lost.length > 0, sessions };
  } finally {
    await level.close();
  }
}

const HEADS = placeOf('head', '');
const OURS = KINDS.map((kind) => placeOf(kind, ''));

/** Copies every record; of heads it remembers when they were written. */
async function copyInto(level: OpenLevel, salvage: Salvage, between: () => void) {
  const heads = new Map<string, number>();
  const encoding = { type: 'put', keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
  let ops: object[] = [];
  let bytes = 0;
  let records = 0;
  const flush = async () => {
    between();
    if (ops.length > 0) await level.batch(ops, { sync: true });
    [ops, bytes] = [[], 0];
  };
  for (const { key, value, sequence } of salvage.entries()) {
    const text = key.toString();
    if (text.startsWith(HEADS)) {
      const sessionId = sessionOfHead(text.slice(HEADS.length));
      if (sessionId !== undefined) heads.set(sessionId, sequence);
    }
    // Before the records are made to agree: this release would take those of a newer one for damaged.
    if (text === FORMAT_PLACE) refuseNewer(value);
    if (OURS.some((prefix) => text.startsWith(prefix))) records += 1;
    ops.push({ ...encoding, key, value });
    bytes += key.length + value.length;
    if (ops.length >= BATCH_OPS || bytes >= BATCH_BYTES) await flush();
  }
  await flush();
  return { records, heads };
}

/** A head that was written behind everything that is lost, and lies where nothing is lost, is the newest one. */
function suspicion(heads: ReadonlyMap<string, number>, lostUpTo: number, lost: readonly LostKeys[]): Suspicion {
  return (sessionId) => {
    const key = Buffer.from(placeOf('head', headKey(sessionId)));
    const mayBeOld =
      (heads.get(sessionId) ?? 0) <= lostUpTo ||
      lost.some((keys) => keys === null || (key.compare(keys.from) >= 0 && key.compare(keys.to) <= 0));
    if (!mayBeOld) return undefined;
    return `A part of the database may be lost: session ${JSON.stringify(sessionId)} may have gone back to an older state.`;
  };
}
