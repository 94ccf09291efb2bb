/**
 * Owns looking at a folder without changing a byte of it: it keeps everybody else out meanwhile, and opens a view that
 * is made of links to the tables and copies of the rest. Must not know what is looked for.
 *
 * LevelDB cannot open a database without writing: it begins a new log and a new manifest. Tables it never changes.
 */
import { copyFile, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { TurnError } from '../core/errors.js';
import { isDatabaseFile } from './folder-content.js';
import { checkFormat } from './format.js';
import { type FolderLock, lockFolder } from './guard.js';
import { databaseFolder, diedAtWork, inspect, readWhole } from './inspect.js';
import { openDatabase } from './opening.js';
import { reserve } from './owner.js';
import { isSwapPending } from './swap.js';
import type { Extent } from './table-check.js';
import { type Level, Tables } from './tables.js';

/** A folder that no service can open until `release`. */
export interface Held extends FolderLock {
  /** The real path. */
  readonly folder: string;
}

export interface View {
  readonly tables: Tables;
  /** The real path of what is looked at. */
  readonly folder: string;
  close(): Promise<void>;
}

const isTable = (name: string): boolean => /\.(ldb|sst)$/.test(name);

/**
 * Keeps everybody else out of a folder.
 * @throws {TurnError} TURN_NOT_FOUND where there is no database; TURN_STORE_LOCKED while a service
 * has it open; TURN_STORE_FAILED.
 */
export async function holdFolder(path: string): Promise<Held> {
  const folder = databaseFolder(path);
  const giveBack = reserve(folder);
  try {
    const lock = await lockFolder(folder, false);
    const release = () => lock.release().finally(giveBack);
    return { ...lock, folder, release };
  } catch (error) {
    giveBack();
    throw error;
  }
}

/**
 * Opens what is in the folder, as it is: no upkeep runs, damage stays where it is.
 * @param signal Gives the opening up; nothing is left behind then, and its reason is thrown.
 * @throws {TurnError} as `holdFolder`, and TURN_DAMAGED, TURN_STORE_FORMAT.
 */
export async function viewFolder(path: string, signal?: AbortSignal): Promise<View> {
  const held = await holdFolder(path);
  let level: Level | undefined;
  const close = async (): Promise<void> => {
    await level?.close();
    await held.release();
  };
  try {
    await checkWhole(held.folder, 'start', () => signal?.throwIfAborted());
    const copy = join(held.scratch, 'database');
    await copyDatabase(held, copy, signal);
    signal?.throwIfAborted();
    level = await openDatabase(copy, false, held.folder);
    const tables = new Tables(level);
    await checkFormat(tables);
    return { tables, folder: held.folder, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The real path of a folder that nobody has open and in which nothing is damaged: to open it repairs nothing.
 * @param extent `everything` for whoever makes LevelDB read all of its tables.
 * @param signal Gives it up; its reason is thrown.
 * @throws {TurnError} as `holdFolder`, and TURN_DAMAGED.
 */
export async function soundFolder(path: string, extent: Extent, signal?: AbortSignal): Promise<string> {
  const held = await holdFolder(path);
  try {
    await checkWhole(held.folder, extent, () => signal?.throwIfAborted());
    return held.folder;
  } finally {
    await held.release();
  }
}

/** LevelDB drops parts of damaged files without a word, and can abort the process. */
async function checkWhole(folder: string, extent: Extent, between?: () => void): Promise<void> {
  const pending = isSwapPending(folder);
  const { findings } = await inspect(readWhole(folder), diedAtWork(folder) ? 'everything' : extent, between);
  const [first] = pending ? [{ file: 'the database', what: 'is half repaired' }] : findings;
  if (first === undefined) return;
  throw new TurnError(
    'TURN_DAMAGED',
    `The database in ${folder} is damaged: ${first.file} ${first.what}. Nothing was changed; ` +
      `\`npx durable-turn verify ${folder}\` tells all of it, \`npx durable-turn repair ${folder}\` repairs it on a copy.`,
  );
}

async function copyDatabase({ folder, locked }: Held, copy: string, signal?: AbortSignal): Promise<void> {
  await mkdir(copy);
  for (const name of (await readdir(folder)).filter(isDatabaseFile)) {
    signal?.throwIfAborted();
    const [from, to] = [join(folder, name), join(copy, name)];
    if (isTable(name) && locked) await symlink(from, to);
    else await copyFile(from, to);
  }
}
