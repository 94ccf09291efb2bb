/**
 * Owns the entry point `durable-turn/level`: turns stored in a folder (LevelDB), or in memory by the same code.
 * Must not know how: see `store.ts`.
 */

import { MemoryLevel } from 'memory-level';
import { checkFields } from '../core/fields.js';
import type { TurnStore } from '../core/ports.js';
import type { Backing } from './database.js';
import { reserveFolder, resolveFolder } from './folder.js';
import { openShared } from './shared-store.js';
import { LevelTurnStore } from './store.js';
import type { Level } from './tables.js';

export type { TurnStore } from '../core/ports.js';

export interface LevelStoreOptions {
  /** The folder of the database; made where it is missing. One store of one process at a time. */
  readonly path: string;
  /**
   * For hot reload in development: who opens the folder again in this process, also with `shared`, gets the same
   * database, and the last to close it closes it. Default false: a second opening is a mistake (TURN_STORE_LOCKED).
   */
  readonly shared?: boolean;
}

/**
 * Opens the database in a folder. Every commit is synced to the disk before it resolves.
 * @throws {TurnError} TURN_STORE_LOCKED while another store or process has it open, TURN_STORE_FORMAT for a newer
 * format or a foreign database, TURN_DAMAGED where it cannot be opened without losing something, TURN_STORE_FAILED.
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<TurnStore> {
  if (typeof options?.path !== 'string' || options.path === '') {
    throw new TypeError('openLevelStore needs { path }: the folder of the database.');
  }
  checkFields(options, { path: true, shared: true });
  if (options.shared !== undefined && typeof options.shared !== 'boolean') {
    throw new TypeError('shared must be true or false.');
  }
  const folder = await resolveFolder(options.path);
  return options.shared === true ? openShared(folder, () => openFolder(folder)) : openFolder(folder);
}

async function openFolder(folder: string): Promise<TurnStore> {
  const store = new LevelTurnStore('level', reserveFolder(folder));
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** A store in memory, for tests and trials: it behaves like the one in a folder and is gone with the process. */
export function memoryStore(): TurnStore {
  return new LevelTurnStore('memory', memoryBacking());
}

function memoryBacking(): Backing {
  const level = new MemoryLevel<string, Buffer>();
  return {
    async open() {
      await level.open();
      return level as unknown as Level;
    },
    release() {},
  };
}
