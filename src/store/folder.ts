/**
 * Owns the opening of a LevelDB database: that it is never wiped by it, and that a refusal says what to do.
 * Must not know what is stored in it, nor whose folder it is.
 */
import { mkdir, readdir, realpath } from 'node:fs/promises';
import { Level } from 'level';
import { messageOf, TurnError } from '../core/errors.js';
import type { Backing } from './database.js';
import { lockedError, openedAlone, reserve } from './owner.js';
import type { Level as OpenLevel } from './tables.js';

/**
 * Reserves a folder, by its real path, for this process.
 * @throws {TurnError} TURN_STORE_LOCKED
 */
export function reserveFolder(folder: string): Backing {
  const release = reserve(folder);
  let opened = false;
  return {
    async open() {
      const level = await openedAlone(folder, () => openLevel(folder, !opened));
      opened = true;
      return level;
    },
    release,
  };
}

/**
 * The real path of a folder, made where it is missing.
 * @throws {TurnError} TURN_STORE_FAILED
 */
export async function resolveFolder(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true });
    return await realpath(path);
  } catch (error) {
    throw new TurnError('TURN_STORE_FAILED', `The folder ${path} cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function openLevel(folder: string, mayCreate: boolean): Promise<OpenLevel> {
  const createIfMissing = mayCreate && (await isEmpty(folder));
  const level = new Level<string, Buffer>(folder, { createIfMissing });
  try {
    await level.open();
  } catch (error) {
    throw openingError(folder, error);
  }
  return level as unknown as OpenLevel;
}

/**
 * Whether a new database may be made here. LevelDB takes a folder without CURRENT for a new one and deletes what is
 * in it.
 */
async function isEmpty(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  if (names.includes('CURRENT')) return false;
  // The first manifest alone is left by a crash in the middle of making the database: nothing was stored yet.
  const lost = names.find((name) => /\.(ldb|sst|log)$/.test(name) || /^MANIFEST-(?!000001$)/.test(name));
  if (lost === undefined) return true;
  throw new TurnError(
    'TURN_DAMAGED',
    `The folder ${folder} holds ${lost} of a LevelDB database, but its file CURRENT is missing. Nothing was changed. ` +
      'Copy the folder aside and restore it from a backup, or repair the copy with `ClassicLevel.repair()`.',
  );
}

/**
 * What a refusal of LevelDB means for whoever asked for the folder.
 * @param opened Where LevelDB looked, if elsewhere: its words name files there.
 */
export function openingError(folder: string, error: unknown, opened = folder): TurnError {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  if (cause?.code === 'LEVEL_LOCKED') return lockedError(folder, 'another process has it open', error);
  const reason = messageOf(cause ?? error).replaceAll(opened, folder);
  if (cause?.code === 'LEVEL_CORRUPTION' || /corruption|no such file|does not exist/i.test(reason)) {
    return new TurnError(
      'TURN_DAMAGED',
      `The database in ${folder} does not open: ${reason}. Nothing was changed. ` +
        'Copy the folder aside and restore it from a backup, or repair the copy with `ClassicLevel.repair()`.',
      { cause: error },
    );
  }
  return new TurnError('TURN_STORE_FAILED', `The database in ${folder} does not open: ${reason}`, { cause: error });
}
