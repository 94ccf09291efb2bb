/**
 * Owns holding a folder against other processes without opening the database in it: the one way to do so.
 * Must not know what is done meanwhile. Threads of this process are the business of `owner.ts`.
 *
 * Node cannot lock a file, but LevelDB does: a scratch database whose LOCK leads to the LOCK of the folder holds both.
 * Nobody reads or copies that file, since closing it would give the lock away.
 */
import { constants } from 'node:fs';
import { access, link, mkdir, mkdtemp, open, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, TurnError } from '../core/errors.js';
import { openDatabase } from './opening.js';
import { lockedError, lockIsOurs } from './owner.js';

export interface FolderLock {
  /** A folder of its own, gone after `release`. */
  readonly scratch: string;
  /** Nobody can be kept out where there is no lock to take; what others may change must be copied then. */
  readonly locked: boolean;
  release(): Promise<void>;
}

/**
 * Keeps every other process out of a folder.
 * @param change Whether a lock that is missing may be made in the folder: never by who only looks.
 * @throws {TurnError} TURN_STORE_LOCKED, TURN_STORE_FAILED
 */
export async function lockFolder(folder: string, change: boolean): Promise<FolderLock> {
  const scratch = await mkdtemp(join(tmpdir(), 'durable-turn-lock-'));
  try {
    if (change) await makeLock(folder);
    const lock = await takeLock(folder, join(scratch, 'lock'));
    return {
      scratch,
      locked: lock !== undefined,
      release: async () => {
        try {
          await lock?.close();
        } finally {
          await rm(scratch, { recursive: true, force: true });
        }
      },
    };
  } catch (error) {
    await rm(scratch, { recursive: true, force: true });
    throw error;
  }
}

/** Usually there is one; it is made here only where nobody can hold it yet. */
async function makeLock(folder: string): Promise<void> {
  await open(join(folder, 'LOCK'), 'wx').then(
    (file) => file.close(),
    () => undefined,
  );
}

/** Takes the lock until it is closed; undefined where there is none to take. */
async function takeLock(folder: string, beside: string): Promise<{ close(): Promise<void> } | undefined> {
  const file = join(folder, 'LOCK');
  if (lockIsOurs(folder)) throw lockedError(folder, 'this process has it open');
  try {
    await access(file, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Nobody has open what has no lock, or what nobody can write to.
    if (code === 'ENOENT' || code === 'EROFS') return undefined;
    throw new TurnError('TURN_STORE_FAILED', `The folder ${folder} cannot be locked: ${messageOf(error)}`, {
      cause: error,
    });
  }
  await mkdir(beside);
  // Not everybody may make symbolic links on Windows.
  await symlink(file, join(beside, 'LOCK')).catch(() => link(file, join(beside, 'LOCK')));
  return openDatabase(beside, true, folder);
}
