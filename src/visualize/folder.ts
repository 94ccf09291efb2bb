/**
 * Owns a folder of generated files on disk: writing what changed, and naming what is stale.
 * Must not know what the files hold.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Stale {
  readonly file: string;
  readonly why: 'missing' | 'differs' | 'left over';
}

/** `owned` says which files of the folder are generated, so that one that is no longer made is found. */
export function staleFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  owned: (file: string) => boolean,
): Stale[] {
  const stale: Stale[] = [];
  for (const [file, content] of files) {
    const path = join(folder, file);
    if (!existsSync(path)) stale.push({ file, why: 'missing' });
    // A checkout may have other line ends than the generator writes.
    else if (readFileSync(path, 'utf8').replaceAll('\r\n', '\n') !== content) stale.push({ file, why: 'differs' });
  }
  const there = existsSync(folder) ? readdirSync(folder) : [];
  for (const file of there.sort()) if (owned(file) && !files.has(file)) stale.push({ file, why: 'left over' });
  return stale;
}

/** Touches only what is stale; answers what it touched. */
export function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  owned: (file: string) => boolean,
): Stale[] {
  const stale = staleFiles(folder, files, owned);
  mkdirSync(folder, { recursive: true });
  for (const { file, why } of stale) {
    if (why === 'left over') rmSync(join(folder, file));
    else writeFileSync(join(folder, file), files.get(file) ?? '');
  }
  return stale;
}
