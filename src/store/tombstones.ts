/**
 * Owns that what was deleted of removed sessions does not pile up. LevelDB keeps a tombstone for each key until it
 * compacts, and a look at a place where nothing is passes over all of those behind it, whosever they were: without
 * this, each removal takes longer than the one before.
 * Must not know sessions. Nothing that is stored changes, so nobody fails with it.
 */
import type { Database } from './database.js';
import type { SublevelName } from './keys.js';
import type { Op } from './tables.js';

/** Keys deleted between two compactions: those of some hundred small sessions. A walk over so many takes about 1 ms. */
export const TOMBSTONES = 2_000;
/** Where more is stored between the first and the last, they lie apart, and to rewrite it would keep the disk busy. */
export const COMPACTED_BYTES = 32 << 20;

interface Span {
  first: string;
  last: string;
}

export class Tombstones {
  readonly #database: Database;
  #count = 0;
  /** From the first key of each kind that was deleted to the last. */
  #spans = new Map<SublevelName, Span>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** What a removal deletes. */
  add(ops: readonly Op[]): void {
    for (const { type, kind, key } of ops) {
      if (type !== 'del') continue;
      this.#count += 1;
      const span = this.#spans.get(kind);
      if (span === undefined) this.#spans.set(kind, { first: key, last: key });
      else if (key < span.first) span.first = key;
      else if (key > span.last) span.last = key;
    }
  }

  /** Has LevelDB drop them, once there are enough. Others read and write meanwhile. */
  async drop(): Promise<void> {
    if (this.#count < TOMBSTONES) return;
    const spans = this.#spans;
    this.#spans = new Map();
    this.#count = 0;
    try {
      const tables = await this.#database.ready();
      for (const [kind, { first, last }] of spans) await tables.compact(kind, first, last, COMPACTED_BYTES);
    } catch {
      // The sessions are gone all the same. What is wrong with the database, whoever reads or writes next is told.
    }
  }
}
