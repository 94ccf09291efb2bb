/**
 * Owns the view of one open database: a sublevel for each kind, one way to write a batch, one way to scan.
 * Must not know sessions or what records mean. A view is void once its database was closed: make a new one.
 *
 * Records are whole for everybody else. Large ones are cut here on their way in, in the batch that brings them, and
 * joined on their way out. What is deleted or overwritten does not say whether it was large: see part-deletion.ts.
 */
import { type Kind, PART, type Range, SUBLEVELS, type SublevelName } from './keys.js';
import { cut, isLarge, join, partsNamed, writesOf } from './parts.js';
import { isReference } from './records.js';

/** What a batch changes. Kinds instead of sublevels, so that it outlives a reopening. */
export type Op =
  | { readonly type: 'put'; readonly kind: Kind; readonly key: string; readonly value: Buffer }
  | { readonly type: 'del'; readonly kind: SublevelName; readonly key: string };

export const put = (kind: Kind, key: string, value: Buffer): Op => ({ type: 'put', kind, key, value });
export const del = (kind: SublevelName, key: string): Op => ({ type: 'del', kind, key });

/** Whether it writes parts beside its record. */
export const isCut = (op: Op): boolean => op.type === 'put' && isLarge(op.value);

export function bytesOf(ops: readonly Op[]): number {
  let bytes = 0;
  for (const op of ops) bytes += op.key.length + (op.type === 'put' ? op.value.length : 0);
  return bytes;
}

/** Writes of LevelDB; more than ops where values are large. */
export function countOf(ops: readonly Op[]): number {
  let count = 0;
  for (const op of ops) count += op.type === 'put' ? writesOf(op.value) : 1;
  return count;
}

/** More in one batch stalls the event loop: LevelDB's bindings copy it in one go. */
export const BATCH_OPS = 500;
export const BATCH_BYTES = 1 << 20;

/** With the default, a transcript is read five times slower. */
const READ_AHEAD_BYTES = 1 << 20;
const CHUNK = 1000;

/** LevelDB found a block of a table that it cannot read. */
export function isCorruption(error: unknown): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === 'LEVEL_CORRUPTION';
}

/** The part of abstract-level in use. Structural, so that every Level fits and its package stays an inner matter. */
export interface Level {
  readonly status: string;
  open(): Promise<void>;
  close(): Promise<void>;
  batch(ops: readonly object[], options: { readonly sync: boolean }): Promise<void>;
  snapshot(): Snapshot;
  sublevel(name: string, options: { readonly valueEncoding: string }): Sublevel;
  keys(options: { readonly limit: number }): { all(): Promise<unknown[]> };
}
export interface Snapshot {
  close(): Promise<void>;
}
interface Sublevel {
  readonly prefix: string;
  open(): Promise<void>;
  get(key: string, options: ReadOptions): Promise<Buffer | undefined>;
  iterator(options: object): { nextv(size: number): Promise<Entry[]>; close(): Promise<void> };
  keys(options: object): { all(): Promise<string[]> };
}
interface ReadOptions {
  readonly snapshot?: Snapshot;
}
export interface ScanOptions extends ReadOptions {
  readonly reverse?: boolean;
  /** Entries taken from LevelDB at once; an error loses those of its chunk. */
  readonly chunk?: number;
}
export type Entry = [key: string, value: Buffer];

/** Is told what LevelDB is doing: when it dies, its files tell nothing about it. */
export interface Watch {
  /** It reads its tables. Damage in them can kill the process. */
  readBegins(): void;
  readEnds(): void;
  /** It met something that it cannot read. */
  unreadable(): void;
  /** So many writes are durable. */
  wrote(writes: number): void;
}

const NOBODY: Watch = { readBegins() {}, readEnds() {}, unreadable() {}, wrote() {} };

export class Tables {
  readonly level: Level;
  readonly #watch: Watch;
  readonly #sublevels: Readonly<Record<SublevelName, Sublevel>>;

  constructor(level: Level, watch: Watch = NOBODY) {
    this.level = level;
    this.#watch = watch;
    const sublevels = SUBLEVELS.map((name) => [name, level.sublevel(name, { valueEncoding: 'buffer' })] as const);
    this.#sublevels = Object.fromEntries(sublevels) as Record<SublevelName, Sublevel>;
  }

  /** Until they are open, sublevels queue what they are asked and encode it later. */
  async open(): Promise<void> {
    for (const name of SUBLEVELS) await this.#sublevels[name].open();
  }

  /**
   * Atomic and durable. Everything is synced: mixed with unsynced writes, a later one can survive an earlier one.
   * The keys are those the sublevels would make: going through them costs as much again as the batch itself.
   */
  async write(ops: readonly Op[]): Promise<void> {
    const bound: object[] = [];
    const bind = (name: SublevelName, key: string, value: Buffer) =>
      bound.push({ type: 'put', key: this.#sublevels[name].prefix + key, value, valueEncoding: 'buffer' });
    for (const op of ops) {
      if (op.type === 'del') bound.push({ type: 'del', key: this.#sublevels[op.kind].prefix + op.key });
      else if (!isLarge(op.value)) bind(op.kind, op.key, op.value);
      else {
        const { reference, parts } = cut(op.kind, op.key, op.value);
        bind(op.kind, op.key, reference);
        for (const [key, bytes] of parts) bind(PART, key, bytes);
      }
    }
    await this.level.batch(bound, { sync: true });
    this.#watch.wrote(bound.length);
  }

  async get(kind: Kind, key: string, snapshot?: Snapshot): Promise<Buffer | undefined> {
    const stored = await this.#stored(kind, key, snapshot);
    if (stored === undefined || !isReference(stored)) return stored;
    // Its parts have to be of the same moment.
    if (snapshot === undefined) return this.atOnce((now) => this.get(kind, key, now));
    return this.#whole(kind, key, stored, snapshot);
  }

  async *scan(name: SublevelName, range: Partial<Range> = {}, how: ScanOptions = {}): AsyncGenerator<Entry> {
    const { chunk = CHUNK, ...options } = how;
    const own = how.snapshot === undefined ? this.level.snapshot() : undefined;
    const snapshot = how.snapshot ?? (own as Snapshot);
    const reading = { highWaterMarkBytes: READ_AHEAD_BYTES, ...range, ...options, snapshot };
    const iterator = this.#sublevels[name].iterator(reading);
    try {
      for (;;) {
        const entries = await this.#watched(() => iterator.nextv(chunk));
        if (entries.length === 0) return;
        for (const entry of entries) {
          const [key, stored] = entry;
          if (name === PART || !isReference(stored)) yield entry;
          else yield [key, await this.#whole(name, key, stored, snapshot)];
        }
      }
    } finally {
      await iterator.close();
      await own?.close();
    }
  }

  /** At most `limit` keys of the range. */
  keys(name: SublevelName, range: Range, limit: number): Promise<string[]> {
    return this.#watched(() => this.#sublevels[name].keys({ ...range, limit }).all());
  }

  async lastKey(kind: Kind, range: Range): Promise<string | undefined> {
    const options = { ...range, limit: 1, reverse: true };
    const [key] = await this.#watched(() => this.#sublevels[kind].keys(options).all());
    return key;
  }

  /** Runs reads that must all see the same state. */
  async atOnce<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.level.snapshot();
    try {
      return await read(snapshot);
    } finally {
      await snapshot.close();
    }
  }

  #stored(name: SublevelName, key: string, snapshot?: Snapshot): Promise<Buffer | undefined> {
    return this.#watched(() => this.#sublevels[name].get(key, snapshot === undefined ? {} : { snapshot }));
  }

  /** A part that LevelDB cannot read is missing: damage of this record, not of the database. */
  async #whole(kind: Kind, key: string, stored: Buffer, snapshot: Snapshot): Promise<Buffer> {
    const names = partsNamed(kind, key, stored);
    if (names === null) return stored;
    const found: (Buffer | undefined)[] = [];
    for (const name of names) {
      const part = this.#stored(PART, name, snapshot);
      found.push(await part.catch((error: unknown) => (isCorruption(error) ? undefined : Promise.reject(error))));
    }
    return join(stored, names, found);
  }

  async #watched<T>(read: () => Promise<T>): Promise<T> {
    this.#watch.readBegins();
    try {
      return await read();
    } catch (error) {
      if (isCorruption(error)) this.#watch.unreadable();
      throw error;
    } finally {
      this.#watch.readEnds();
    }
  }
}
