/**
 * Owns how far an exchange of files came whose plan cannot be read: decided by what lies in the folder, or not at all.
 * Must not know how files are exchanged. Changes nothing.
 *
 * The order of the exchange is what makes it decidable. No file of the repaired database leaves its folder before the
 * last original is in its place, and the file of the last run is the last original.
 */

import { existsSync, readdirSync } from 'node:fs';
import { link, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLevelFile, readFolder } from './folder-content.js';
import { readLastRun } from './run-file.js';
import { checkTables } from './table-check.js';

/**
 * - `repaired`: no file of the repaired database has left its folder, and it is whole: originals may still have to move.
 * - `originals`: nothing has moved, the repair may begin again.
 * - `placing`: all originals are in their place; what is left of the repaired database belongs beside what is here.
 * - `unknown`: neither is whole.
 */
export type Progress = 'repaired' | 'originals' | 'placing' | 'unknown';

/**
 * @param repaired The folder of the repaired database.
 * @param kept The folder for the originals; null where there is none.
 */
export async function progressOf(folder: string, repaired: string, kept: string | null): Promise<Progress> {
  const [here, there, moved] = [namesIn(folder), namesIn(repaired), kept === null ? [] : namesIn(kept)];
  const twice = (some: readonly string[]): boolean => here.some((name) => some.includes(name));
  if (kept !== null && !twice(moved) && (await isWhole([repaired]))) return 'repaired';
  if (moved.length === 0) return 'originals';
  return !twice(there) && (await isWhole([folder, repaired])) ? 'placing' : 'unknown';
}

const namesIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter(isLevelFile) : [];

/** Whether the files of these folders are a database in which nothing is damaged, and nothing acknowledged missing. */
async function isWhole(folders: readonly string[]): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), 'durable-turn-plan-'));
  try {
    for (const folder of folders) {
      for (const name of namesIn(folder)) {
        const [from, to] = [join(folder, name), join(scratch, name)];
        // Not everybody may make symbolic links on Windows.
        await symlink(from, to).catch(() => link(from, to));
      }
    }
    if (!existsSync(join(scratch, 'CURRENT'))) return false;
    const acknowledged = folders.map((folder) => readLastRun(folder)?.acknowledged ?? 0);
    const content = readFolder(scratch, Math.max(...acknowledged));
    const { findings } = await checkTables(content, 'everything');
    return content.findings.length + findings.length === 0;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
