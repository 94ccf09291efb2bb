/**
 * Owns the folder of a LevelDB database: that it is opened once, and never wiped by opening it.
 * Must not know what is stored in it.
 */
import { type BigIntStats, fstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import { messageOf, TurnError } from '../core/errors.js';
import type { Backing } from './database.js';
import type { Level as OpenLevel } from './tables.js';

/** Shared by all copies of this module in the process. LevelDB would open `/d` and `/d/./` twice. */
const OPEN_FOLDERS = Symbol.for('durable-turn.openFolders');

function openFolders(): Set<string> {
  const scope = globalThis as { [OPEN_FOLDERS]?: Set<string> };
  scope[OPEN_FOLDERS] ??= new Set();
  return scope[OPEN_FOLDERS];
}

/**
 * Reserves the folder, made where it is missing, for this process.
 * @throws {TurnError} TURN_STORE_LOCKED, TURN_STORE_FAILED
 */
export async function reserveFolder(path: string): Promise<Backing> {
  const folder = await resolveFolder(path);
  if (openFolders().has(folder)) throw lockedError(folder, 'this process has it open');
  openFolders().add(folder);
  let opened = false;
  return {
    async open() {
      const level = await openLevel(folder, !opened);
      opened = true;
      return level;
    },
    release: () => {
      openFolders().delete(folder);
    },
  };
}

async function resolveFolder(path: string): Promise<string> {
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
  if (lockIsOurs(folder)) throw lockedError(folder, 'another thread of this process has it open');
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
 * Whether this process holds the lock, in any of its threads. LevelDB refuses a second opening in one process too, but
 * while refusing it closes the lock file, and that gives back the lock of the whole process: another process could
 * then open the database as well. So it must not even be tried. Windows has no such list of open files, and no such
 * flaw in its locks.
 */
function lockIsOurs(folder: string): boolean {
  try {
    // Looked up by name: opening it here, to close it again, would do what this prevents.
    const lock = statSync(join(folder, 'LOCK'), { bigint: true });
    return readdirSync('/dev/fd').some((fd) => isLockedFile(fd, lock));
  } catch {
    return false;
  }
}

function isLockedFile(fd: string, lock: BigIntStats): boolean {
  try {
    const file = fstatSync(Number(fd), { bigint: true });
    if (file.ino !== lock.ino || file.dev !== lock.dev) return false;
    // On Linux a child inherits the open files of LevelDB, but not the lock on them.
    return process.platform !== 'linux' || readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').includes('lock:');
  } catch {
    return false;
  }
}

function openingError(folder: string, error: unknown): TurnError {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  if (cause?.code === 'LEVEL_LOCKED') return lockedError(folder, 'another process has it open', error);
  const reason = messageOf(cause ?? error);
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

function lockedError(folder: string, who: string, cause?: unknown): TurnError {
  return new TurnError(
    'TURN_STORE_LOCKED',
    `The folder ${folder} is in use: ${who}. A database belongs to one store in one process: close that one first, ` +
      'share the store object, or choose another folder.',
    cause === undefined ? undefined : { cause },
  );
}
