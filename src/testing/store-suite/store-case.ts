/**
 * Owns what one test of the suite is, and the store it is given.
 * Must not know a test runner.
 */
import type { TurnStore } from '../../core/ports.js';
import type { Random } from '../random.js';

/** Where one test works: a store of its own, empty at the beginning. */
export interface StorePlace {
  readonly store: TurnStore;
  /** Closes the store and opens what it has stored; only in tests that say so. */
  reopen(): Promise<TurnStore>;
  readonly random: Random;
}

export interface StoreCase {
  /** A sentence about every store. */
  readonly name: string;
  /** It opens what was stored a second time. */
  readonly reopens?: true;
  run(place: StorePlace): Promise<void>;
}
