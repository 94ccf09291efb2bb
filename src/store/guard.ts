/**
 * Owns holding a folder against other processes without opening the database in it.
 * Must not know what is done meanwhile. Threads of this process are the business of `owner.ts`.
 *
 * Node cannot lock a file, but LevelDB does: a scratch database whose LOCK is the LOCK of the folder holds both. Nobody
 * reads or copies that file, since closing it would give the lock away.
 */
import { closeSync, linkSync, mkdirSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { messageOf, TurnError } from '../core/errors.js';
import { lockedError } from './owner.js';

/** @throws {TurnError} TURN_STORE_LOCKED, TURN_STORE_FAILED, and whatever `work` throws. */
export async function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  // Of this process: another one that tries meanwhile has a scratch folder of its own.
  const scratch = join(folder, `guard-${process.pid}`);
  const guard = new Level(scratch);
  try {
    makeLock(folder, scratch);
    await guard.open();
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    const cause = (error as { cause?: unknown }).cause ?? error;
    if ((cause as { code?: unknown }).code === 'LEVEL_LOCKED')
      throw lockedError(folder, 'another process has it open', error);
    throw new TurnError('TURN_STORE_FAILED', `The folder ${folder} cannot be locked: ${messageOf(cause)}`, {
      cause: error,
    });
  }
  try {
    return await work();
  } finally {
    await guard.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function makeLock(folder: string, scratch: string): void {
  const lock = join(folder, 'LOCK');
  try {
    closeSync(openSync(lock, 'wx'));
  } catch (error) {
    // There usually is one; it is made here only where nobody can hold it yet.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch);
  try {
    linkSync(lock, join(scratch, 'LOCK'));
  } catch {
    // A file system without hard links.
    symlinkSync(lock, join(scratch, 'LOCK'));
  }
}
