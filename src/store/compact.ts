/**
 * Owns giving back the room that deleted records still take: LevelDB does it by itself only where it writes.
 * Must not know which records there are beyond their kinds.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reserveFolder } from './folder.js';
import { checkFormat } from './format.js';
import { sweepGarbage } from './garbage.js';
import { placesOf, SUBLEVELS, type SublevelName } from './keys.js';
import { migrate } from './migration.js';
import { Tables } from './tables.js';
import { soundFolder } from './view.js';

/** Bytes of the folder. */
export interface Compacted {
  readonly before: number;
  readonly after: number;
}

/**
 * Rewrites the tables of a folder without what was deleted.
 * @param tell Called before each kind.
 * @param signal Gives it up between two steps; its reason is thrown then, and nothing that is stored has changed.
 * @throws {TurnError} TURN_NOT_FOUND, TURN_STORE_LOCKED, TURN_DAMAGED, TURN_STORE_FORMAT, TURN_STORE_FAILED
 */
export async function compactFolder(
  path: string,
  tell: (kind: SublevelName) => void,
  signal?: AbortSignal,
): Promise<Compacted> {
  // A repair is another thing, and has to be asked for; and over a damaged table LevelDB can abort the process.
  const folder = await soundFolder(path, 'everything', signal);
  const before = await bytesIn(folder);
  const backing = reserveFolder(folder);
  try {
    const level = await backing.open();
    try {
      const tables = new Tables(level);
      const position = await checkFormat(tables);
      if (position !== null) await migrate(tables, position, () => {});
      await sweepGarbage(tables);
      for (const kind of SUBLEVELS) {
        signal?.throwIfAborted();
        tell(kind);
        const { gte, lt } = placesOf(kind, {});
        await (level as unknown as Compacting).compactRange(gte, lt);
      }
    } finally {
      await level.close();
    }
  } finally {
    backing.release();
  }
  return { before, after: await bytesIn(folder) };
}

/** What LevelDB has beyond abstract-level. */
export interface Compacting {
  compactRange(start: string, end: string): Promise<void>;
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found?.isFile() === true) bytes += found.size;
  }
  return bytes;
}
