/**
 * Owns the view of one open database: a sublevel for each kind, one way to write a batch, one way to scan.
 * Must not know sessions or what records mean. A view is void once its database was closed: make a new one.
 *
 * A sublevel is what is below its name between separators. abstract-level has objects for that, which give every read a
 * second layer and every opening fourteen more things to open. All keys are bound to their sublevel here, and nothing
 * else is ever written: nothing shows up inside of another sublevel.
 *
 * Records are whole for everybody else. Large ones are cut here on their way in, in the batch that brings them, and
 * joined on their way out. What is deleted or overwritten does not say whether it was large: see part-deletion.ts.
 */
import { type Kind, PART, placeOf, placesOf, type Range, type SublevelName } from './keys.js';
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
  get(key: string, options: ReadOptions & typeof BYTES): Promise<Buffer | undefined>;
  iterator(options: Range & typeof BYTES): { nextv(size: number): Promise<Entry[]>; close(): Promise<void> };
  keys(options: Partial<Range> & { readonly limit: number; readonly reverse?: boolean }): { all(): Promise<string[]> };
  /** LevelDB alone: in memory nothing is left of what was deleted. */
  approximateSize?(start: string, end: string): Promise<number>;
  compactRange?(start: string, end: string): Promise<void>;
}
export interface Snapshot {
  close(): Promise<void>;
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

/** The values of a database are texts unless one says so. */
const BYTES = { valueEncoding: 'buffer' } as const;

const NOBODY: Watch = { readBegins() {}, readEnds() {}, unreadable() {}, wrote() {} };

export class Tables {
  readonly level: Level;
  readonly #watch: Watch;

  constructor(level: Level, watch: Watch = NOBODY) {
    this.level = level;
    this.#watch = watch;
  }

  /** Atomic and durable. Everything is synced: mixed with unsynced writes, a later one can survive an earlier one. */
  async write(ops: readonly Op[]): Promise<void> {
    const bound: object[] = [];
    const bind = (name: SublevelName, key: string, value: Buffer) =>
      bound.push({ type: 'put', key: placeOf(name, key), value, ...BYTES });
    for (const op of ops) {
      if (op.type === 'del') bound.push({ type: 'del', key: placeOf(op.kind, op.key) });
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
    for await (const entries of this.#pages(name, range, how)) yield* entries;
  }

  /**
   * What `take` makes of each entry of a range, in order. A scan hands each entry over by a promise of its own, which
   * costs as much as reading it.
   */
  async collect<T>(
    kind: Kind,
    range: Range,
    how: ReadOptions,
    take: (key: string, value: Buffer, nth: number) => T,
  ): Promise<T[]> {
    const taken: T[] = [];
    for await (const entries of this.#pages(kind, range, how)) {
      for (const [key, value] of entries) taken.push(take(key, value, taken.length));
    }
    return taken;
  }

  async *#pages(name: SublevelName, range: Partial<Range>, how: ScanOptions): AsyncGenerator<Entry[]> {
    const { chunk = CHUNK, ...options } = how;
    const own = how.snapshot === undefined ? this.level.snapshot() : undefined;
    const snapshot = how.snapshot ?? (own as Snapshot);
    const reading = { highWaterMarkBytes: READ_AHEAD_BYTES, ...options, ...BYTES, ...placesOf(name, range), snapshot };
    const iterator = this.level.iterator(reading);
    const keyAt = placeOf(name, '').length;
    try {
      for (;;) {
        const entries = await this.#watched(() => iterator.nextv(chunk));
        if (entries.length === 0) return;
        let page: Entry[] = [];
        for (const entry of entries) {
          entry[0] = entry[0].slice(keyAt);
          page.push(entry);
          if (name === PART || !isReference(entry[1])) continue;
          entry[1] = await this.#whole(name, entry[0], entry[1], snapshot);
          // What was read ahead only names large records: all of them whole at once would be gigabytes.
          yield page;
          page = [];
        }
        if (page.length > 0) yield page;
      }
    } finally {
      await iterator.close();
      await own?.close();
    }
  }

  /**
   * The keys of the parts that a record names: none for one in one piece or not there; null where it cannot be read.
   */
  async partsOf(kind: Kind, key: string): Promise<readonly string[] | null> {
    try {
      const stored = await this.#stored(kind, key);
      return stored !== undefined && isReference(stored) ? partsNamed(kind, key, stored) : [];
    } catch (error) {
      if (isCorruption(error)) return null;
      throw error;
    }
  }

  /** At most `limit` keys of the range. */
  keys(name: SublevelName, range: Range, limit: number): Promise<string[]> {
    return this.#keys(name, range, { limit });
  }

  async lastKey(kind: Kind, range: Range): Promise<string | undefined> {
    const [key] = await this.#keys(kind, range, { limit: 1, reverse: true });
    return key;
  }

  /**
   * Rewrites what is stored from the first key to the last without what was deleted, unless it is more than `atMost`
   * bytes on disk.
   */
  async compact(name: SublevelName, first: string, last: string, atMost: number): Promise<void> {
    const { level } = this;
    const [start, end] = [placeOf(name, first), placeOf(name, last)];
    const bytes = await level.approximateSize?.(start, end);
    if (bytes === undefined || bytes > atMost) return;
    await this.#watched(async () => level.compactRange?.(start, end));
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

  async #keys(name: SublevelName, range: Range, how: { readonly limit: number; readonly reverse?: boolean }) {
    const places = await this.#watched(() => this.level.keys({ ...how, ...placesOf(name, range) }).all());
    return places.map((place) => place.slice(placeOf(name, '').length));
  }

  #stored(name: SublevelName, key: string, snapshot?: Snapshot): Promise<Buffer | undefined> {
    const how = snapshot === undefined ? BYTES : { ...BYTES, snapshot };
    return this.#watched(() => this.level.get(placeOf(name, key), how));
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
