/**
 * Owns the store of one simulated process: the real adapter on a disk in memory, cut off when the process dies.
 * Must not know engines, tools or what a crash is to prove.
 */
import { LevelTurnStore } from '../store/store.js';
import { type BatchFate, CrashDisk, type DiskImage } from './crash-disk.js';
import { MortalStore } from './mortal-store.js';

export type { BatchFate, DiskImage } from './crash-disk.js';

export interface CrashStoreOptions {
  /** What the process finds on its disk. Default: nothing. */
  readonly image?: DiskImage;
  /** What becomes of the nth batch of this process, counted from 1. Default: it passes. */
  readonly fate?: (nth: number) => BatchFate;
  /** Called when the nth batch is on the disk, before anybody hears of it: `image` has it. May let the process die. */
  readonly onApplied?: (nth: number, image: DiskImage) => void;
}

/** Everything that is asked of it after `die()` stays open for ever, and its disk does not change any more. */
export class CrashStore extends MortalStore {
  readonly #disk: CrashDisk;

  constructor({ image = new Map(), fate = () => 'pass', onApplied = () => undefined }: CrashStoreOptions = {}) {
    // The disk asks the store, which is made of the disk.
    let self: CrashStore | undefined;
    const disk = new CrashDisk(image, {
      fate,
      applied: (nth) => onApplied(nth, disk.image),
      died: () => self?.die(),
      get dead() {
        return self?.dead === true;
      },
    });
    super(new LevelTurnStore('crash', disk));
    self = this;
    this.#disk = disk;
  }

  /** What the next process would find on the disk, now. */
  get image(): DiskImage {
    return this.#disk.image;
  }

  /** Batches that this process has handed to its disk, whatever became of them. */
  get batches(): number {
    return this.#disk.batches;
  }
}
