// A place that keeps what is stored while stores come and go: a folder, or a memory that stays. Its batches can be
// made to fail, as a full disk or a crash would, and its bytes can be looked at.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryLevel } from 'memory-level';
import { expect } from 'vitest';
import type { Head } from '../../src/core/records.js';
import { KINDS, type Kind, PART } from '../../src/store/keys.js';
import { levelIn } from '../../src/store/opening.js';
import { decodeRecord } from '../../src/store/records.js';
import { LevelTurnStore } from '../../src/store/store.js';
import { type Level as Handle, Tables } from '../../src/store/tables.js';

export type Fate = 'pass' | 'fail' | 'applyAndFail';

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'durable-turn-store-'));

export abstract class World {
  /** What happens to the nth batch, counted from 1. */
  fate: (nth: number) => Fate | Promise<Fate> = () => 'pass';
  batches = 0;
  /** As if the disk were gone: the database cannot be opened. */
  gone = false;
  /** As LevelDB meets a block that it cannot read: a get fails, and so does every scan that reaches it. */
  unreadable: (kind: string, key: string) => boolean = () => false;
  opened = 0;
  #handle: Handle | null = null;
  /** How many processes have come and gone. */
  #deaths = 0;

  protected abstract make(): Handle;
  /** What is stored becomes that of the next process: no handle of the last one reaches it any more. */
  protected abstract handOver(): Promise<void>;
  abstract dispose(): Promise<void>;

  store(): LevelTurnStore {
    const deaths = this.#deaths;
    return new LevelTurnStore('test', {
      open: async () => {
        // A store of a process that is gone may still be sweeping; it must not come back beside its successor.
        if (this.gone || deaths !== this.#deaths) throw Object.assign(new Error('no such disk'), { code: 'EIO' });
        return this.#handleNow();
      },
      release: () => {},
    });
  }

  async open(): Promise<LevelTurnStore> {
    const store = this.store();
    await store.open();
    return store;
  }

  /** The process is gone: whatever the store was doing, its handle ends here. */
  async crash(): Promise<void> {
    this.#deaths += 1;
    const handle = this.#handle;
    this.#handle = null;
    await this.handOver();
    await handle?.close();
    this.fate = () => 'pass';
    this.gone = false;
  }

  /** Looks at the bytes, whether a store is open or not. */
  async inspect<T>(look: (tables: Tables) => Promise<T>): Promise<T> {
    const tables = new Tables(await this.#handleNow());
    return look(tables);
  }

  #injectUnreadable(handle: Handle): void {
    const [get, iterator] = [handle.get.bind(handle), handle.iterator.bind(handle)];
    const listed = handle.keys.bind(handle);
    const check = (places: readonly string[]): void => {
      for (const place of places) {
        const [, kind = '', ...key] = place.split('!');
        if (this.unreadable(kind, key.join('!'))) throw corruption();
      }
    };
    handle.get = async (place, how) => {
      check([place]);
      return get(place, how);
    };
    handle.keys = (how) => {
      const found = listed(how);
      const all = found.all.bind(found);
      found.all = async () => {
        const some = await all();
        check(some);
        return some;
      };
      return found;
    };
    handle.iterator = (how) => {
      const entries = iterator(how);
      const nextv = entries.nextv.bind(entries);
      entries.nextv = async (size) => {
        const chunk = await nextv(size);
        // The whole chunk is lost with one entry of it.
        check(chunk.map(([place]) => place));
        return chunk;
      };
      return entries;
    };
  }

  async #handleNow(): Promise<Handle> {
    if (this.#handle?.status === 'open') return this.#handle;
    const handle = this.make();
    await handle.open();
    this.opened += 1;
    if (handle !== this.#handle) this.#injectFaults(handle);
    this.#handle = handle;
    return handle;
  }

  #injectFaults(handle: Handle): void {
    this.#injectUnreadable(handle);
    const batch = handle.batch.bind(handle);
    handle.batch = async (ops, options) => {
      expect(options).toEqual({ sync: true });
      this.batches += 1;
      const fate = await this.fate(this.batches);
      if (fate !== 'fail') await batch(ops, options);
      if (fate !== 'pass') throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
  }
}

const corruption = () => Object.assign(new Error('Corruption: bad entry in block'), { code: 'LEVEL_CORRUPTION' });

class MemoryWorld extends World {
  #level = new MemoryLevel<string, Buffer>();

  protected make(): Handle {
    return this.#level as unknown as Handle;
  }
  protected async handOver(): Promise<void> {
    const encoding = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
    if (this.#level.status !== 'open') await this.#level.open();
    const stored = await this.#level.iterator<Buffer, Buffer>(encoding).all();
    this.#level = new MemoryLevel<string, Buffer>();
    const ops = stored.map(([key, value]) => ({ type: 'put' as const, key, value }));
    await this.#level.batch<Buffer, Buffer>(ops, encoding);
  }
  async dispose(): Promise<void> {}
}

class FolderWorld extends World {
  readonly #path = temporaryFolder();

  protected make(): Handle {
    return levelIn(this.#path, true);
  }
  protected async handOver(): Promise<void> {}
  async dispose(): Promise<void> {
    await this.crash();
    rmSync(this.#path, { recursive: true, force: true });
  }
}

export type WorldName = 'LevelDB' | 'memory';
export const WORLDS: readonly WorldName[] = ['LevelDB', 'memory'];
export const makeWorld = (name: WorldName): World => (name === 'memory' ? new MemoryWorld() : new FolderWorld());

/** Runs with a world of its own and cleans up, whatever happens. */
export async function inWorld(name: WorldName, run: (world: World) => Promise<void>): Promise<void> {
  const world = makeWorld(name);
  try {
    await run(world);
  } finally {
    await world.dispose();
  }
}

export interface Stored {
  readonly kind: Kind;
  readonly key: string;
  readonly bytes: Buffer;
}

/** Every record as it lies there. */
export async function everything(tables: Tables): Promise<Stored[]> {
  const found: Stored[] = [];
  for (const kind of KINDS) for await (const [key, bytes] of tables.scan(kind)) found.push({ kind, key, bytes });
  return found;
}

/** The keys of all parts of large records. */
export async function partsIn(tables: Tables): Promise<string[]> {
  const found: string[] = [];
  for await (const [key] of tables.scan(PART)) found.push(key);
  return found;
}

/** I2, read from one snapshot: a marker for each head that is in progress or has an outcome due, and no other. */
export async function expectMarkersAgree(world: World): Promise<void> {
  const { heads, markers } = await world.inspect((tables) =>
    tables.atOnce(async (snapshot) => {
      const heads: Head[] = [];
      const markers: { sessionId: string; turnId: string; agent: string }[] = [];
      for await (const [key, bytes] of tables.scan('head', {}, { snapshot })) {
        const record = decodeRecord('head', key, bytes);
        if (record.ok) heads.push((record.value as unknown as { head: Head }).head);
      }
      for await (const [key, bytes] of tables.scan('marker', {}, { snapshot })) {
        const record = decodeRecord('marker', key, bytes);
        if (record.ok) markers.push(record.value as unknown as (typeof markers)[number]);
      }
      return { heads, markers };
    }),
  );
  const due = heads.filter((head) => head.inProgress || head.outcomesDue.length > 0);
  const byName = (a: { sessionId: string }, b: { sessionId: string }) => (a.sessionId < b.sessionId ? -1 : 1);
  expect(markers.sort(byName).map(({ sessionId, agent, turnId }) => ({ sessionId, agent, turnId }))).toEqual(
    due.sort(byName).map(({ sessionId, agent, turnId, outcomesDue }) => ({
      sessionId,
      agent,
      turnId: turnId ?? outcomesDue[0],
    })),
  );
}

/** Nothing but the list that the head names: no epoch is left behind. */
export async function expectNoGarbage(world: World): Promise<void> {
  const left = await world.inspect(async (tables) => {
    const epochs = new Map<string, string>();
    for await (const [key, bytes] of tables.scan('head')) {
      const record = decodeRecord('head', key, bytes);
      if (record.ok) epochs.set(key, String((record.value as unknown as { head: Head }).head.epoch).padStart(10, '0'));
    }
    const found: string[] = [];
    for await (const [key] of tables.scan('garbage')) found.push(`garbage ${key}`);
    for await (const [key] of tables.scan('message')) {
      const [sessionId, epoch] = key.split('!');
      if (epochs.get(sessionId as string) !== epoch) found.push(`message ${key}`);
    }
    return found;
  });
  expect(left).toEqual([]);
}
