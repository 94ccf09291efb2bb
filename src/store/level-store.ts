/**
 * Owns the entry point `durable-turn/level`: turns stored in a folder (LevelDB), or in memory by the same code.
 * Must not know how: see `store.ts`.
 */

import { MemoryLevel } from 'memory-level';
import { messageOf } from '../core/errors.js';
import { checkFields } from '../core/fields.js';
import type { TurnStore } from '../core/ports.js';
import type { Backing } from './database.js';
import { reserveFolder, resolveFolder } from './folder.js';
import type { MigrationProgress } from './migration.js';
import { pieceByPiece } from './pieces.js';
import { openShared } from './shared-store.js';
import { LevelTurnStore } from './store.js';

export type { TurnStore } from '../core/ports.js';
export type { MigrationProgress } from './migration.js';

export interface LevelStoreOptions {
  /** The folder of the database; made where it is missing. One store of one process at a time. */
  readonly path: string;
  /**
   * For hot reload in development: who opens the folder again in this process, also with `shared`, gets the same
   * database, and the last to close it closes it. Default false: a second opening is a mistake (TURN_STORE_LOCKED).
   */
  readonly shared?: boolean;
  /**
   * Called while a database of an older format is migrated, which takes its first opening by a newer release about as
   * long as reading all of it: how many records and bytes were looked at so far. Killed, it goes on at the next opening.
   */
  readonly onMigration?: (progress: MigrationProgress) => void;
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
  if (options.path.includes('\0')) {
    throw new TypeError('path must not contain a NUL character: no file system has such a folder.');
  }
  checkFields(options, { path: true, shared: true, onMigration: true });
  if (options.shared !== undefined && typeof options.shared !== 'boolean') {
    throw new TypeError('shared must be true or false.');
  }
  if (options.onMigration !== undefined && typeof options.onMigration !== 'function') {
    throw new TypeError('onMigration must be a function.');
  }
  const folder = await resolveFolder(options.path);
  const open = () => openFolder(folder, (progress) => tellMigration(options, progress));
  return options.shared === true ? openShared(folder, open) : open();
}

/** As with any listener, what it throws ends nothing. */
function tellMigration({ onMigration }: LevelStoreOptions, progress: MigrationProgress): void {
  try {
    onMigration?.(progress);
  } catch (thrown) {
    process.emitWarning(`onMigration threw: ${messageOf(thrown)}`, 'DurableTurnWarning');
  }
}

async function openFolder(folder: string, tell: (progress: MigrationProgress) => void): Promise<TurnStore> {
  const store = new LevelTurnStore('level', reserveFolder(folder), tell);
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
  const level = pieceByPiece(new MemoryLevel<string, Buffer>({ valueEncoding: 'buffer' }));
  return {
    async open() {
      await level.open();
      return level;
    },
    release() {},
  };
}
