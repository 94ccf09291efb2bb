/**
 * Owns a disk in memory on which every batch has a fate, and its image: what a process that starts now would find.
 * Must not know records or turns: it holds keys and bytes.
 */
import { MemoryLevel } from 'memory-level';
import type { Backing } from '../store/database.js';
import type { Level } from '../store/tables.js';
import { never } from './mortal-store.js';

/** Bytes by key, as they would be found after a crash. Never changes: a fork costs nothing. */
export type DiskImage = ReadonlyMap<string, Buffer>;

/**
 * What becomes of one batch. `fail…`: the process is told that it failed, and it was applied all the same or not;
 * `die…`: it is the last thing the process does.
 */
export type BatchFate = 'pass' | 'failBefore' | 'failAfter' | 'dieBefore' | 'dieAfter';

export interface DiskListener {
  /** The fate of the nth batch of this process, counted from 1. */
  fate(nth: number): BatchFate;
  /** The nth batch is on the disk, and nobody has heard of it. */
  applied(nth: number): void;
  /** The process dies now. */
  died(): void;
  readonly dead: boolean;
}

interface Op {
  readonly type: 'put' | 'del';
  readonly key: string;
  readonly value?: Buffer;
}

export class CrashDisk implements Backing {
  readonly #listener: DiskListener;
  /** What a process finds that starts after this one died: what was never synced is not there. */
  image: DiskImage;
  /** What this process reads; the same as `image` as long as everything is synced. */
  #written: DiskImage;
  batches = 0;

  constructor(image: DiskImage, listener: DiskListener) {
    this.image = image;
    this.#written = image;
    this.#listener = listener;
  }

  async open(): Promise<Level> {
    const level = new MemoryLevel<string, Buffer>({ valueEncoding: 'buffer' });
    await level.open();
    const records = [...this.#written].map(([key, value]) => ({ type: 'put', key, value }) as const);
    if (records.length > 0) await level.batch(records);
    const handle = level as unknown as Level;
    const apply = handle.batch.bind(handle);
    handle.batch = (ops, options) => this.#batch(ops as readonly Op[], options.sync, () => apply(ops, options));
    return handle;
  }

  release(): void {}

  async #batch(ops: readonly Op[], synced: boolean, apply: () => Promise<void>): Promise<void> {
    if (this.#listener.dead) return never();
    this.batches += 1;
    const nth = this.batches;
    const fate = this.#listener.fate(nth);
    if (fate === 'dieBefore') this.#listener.died();
    // Dead by its fate, or because whoever was asked for it ended the process.
    if (this.#listener.dead) return never();
    if (fate === 'failBefore') throw diskFull();
    await apply();
    this.#written = withOps(this.#written, ops);
    if (synced) this.image = withOps(this.image, ops);
    if (fate === 'dieAfter') this.#listener.died();
    this.#listener.applied(nth);
    if (this.#listener.dead) return never();
    if (fate === 'failAfter') throw diskFull();
  }
}

const diskFull = (): Error => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

function withOps(image: DiskImage, ops: readonly Op[]): DiskImage {
  const next = new Map(image);
  for (const { type, key, value } of ops) {
    if (type === 'put') next.set(key, value as Buffer);
    else next.delete(key);
  }
  return next;
}
