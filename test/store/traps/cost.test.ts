// Traps of LevelDB that cost time, shown by counts that no machine changes: bytes and ops handed to LevelDB, calls into
// it, entries that a scan has to go through. How long they take is a matter of `npm run bench`.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Head } from '../../../src/core/records.js';
import { readFolder } from '../../../src/store/folder-content.js';
import { markerKey } from '../../../src/store/keys.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { TableFile } from '../../../src/store/leveldb/table-file.js';
import { appended, checkpointOf, rewritten, textsOf } from '../fixtures.js';
import { NaiveStore } from '../naive/naive-store.js';
import { RecordedCalls } from '../naive/recorded-calls.js';
import { temporaryFolder } from '../world.js';

let scratch = '';
let plain = '';
let path = '';
let calls: RecordedCalls;
beforeEach(() => {
  scratch = temporaryFolder();
  [plain, path] = [join(scratch, 'plain'), join(scratch, 'database')];
  calls = new RecordedCalls();
});
afterEach(() => {
  calls.restore();
  vi.useRealTimers();
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

/** Text that does not compress, of so many characters. */
function text(seed: string, length: number): string {
  let made = '';
  for (let n = 0; made.length < length; n += 1) made += createHash('sha512').update(`${seed} ${n}`).digest('base64');
  return made.slice(0, length);
}

/** None would be within every bound: a way of writing that nobody listens to. */
function writesTo(folder: string) {
  const writes = calls.writes.filter((write) => write.folder === folder);
  expect(writes).not.toEqual([]);
  return writes;
}
const bytesTo = (folder: string): number => writesTo(folder).reduce((sum, { bytes }) => sum + bytes, 0);

describe('a growing transcript', () => {
  it('that is written whole at each checkpoint costs its square; in the store the new messages and a small head', async () => {
    const checkpoints = 60;
    const list = Array.from({ length: checkpoints * 2 }, (_, nth) => text(`${nth}`, 2_000));
    const content = list.join('').length;
    const naive = new NaiveStore(plain);
    for (let n = 1; n <= checkpoints; n += 1) await naive.save('s', list.slice(0, n * 2));
    await naive.close();
    const store = await openLevelStore({ path });
    let head: Head | undefined;
    for (let n = 0; n < checkpoints; n += 1) {
      const commit = appended(head, 's', list.slice(n * 2, n * 2 + 2));
      await store.commit({ ...commit, checkpoint: checkpointOf(commit.head) });
      head = commit.head;
    }
    expect(textsOf(await store.messages('s'))).toEqual(list);
    await store.close();
    expect(bytesTo(plain)).toBeGreaterThan(content * (checkpoints / 2));
    expect(bytesTo(path)).toBeGreaterThan(content);
    expect(bytesTo(path)).toBeLessThan(content * 1.5);
  });
});

describe('a batch is copied in one go while nothing else runs', () => {
  it('a list of five thousand is one of five thousand ops; in the store none has more than 500, or a value over 256 KB', async () => {
    const list = Array.from({ length: 5_000 }, (_, nth) => `${nth}`);
    const large = [text('large', 900_000)];
    const naive = new NaiveStore(plain);
    await naive.save('s', list);
    await naive.save('large', large);
    await naive.close();
    expect(Math.max(...writesTo(plain).map(({ ops }) => ops))).toBeGreaterThan(5_000);
    expect(Math.max(...writesTo(plain).map(({ largest }) => largest))).toBeGreaterThan(900_000);

    const store = await openLevelStore({ path });
    const first = appended(undefined, 's', ['x']);
    await store.commit(first);
    await store.commit(rewritten(first.head, 's', list));
    await store.commit(appended(undefined, 'large', large));
    expect(textsOf(await store.messages('s'))).toEqual(list);
    expect(textsOf(await store.messages('large'))).toEqual(large);
    await store.remove('s');
    await store.close();
    expect(Math.max(...writesTo(path).map(({ ops }) => ops))).toBeLessThanOrEqual(500);
    expect(Math.max(...writesTo(path).map(({ largest }) => largest))).toBeLessThanOrEqual(256 * 1024 + 11);
  });
});

describe('each synced write waits for the disk', () => {
  it('sessions that write at the same time wait for it one by one; in the store they share it', async () => {
    const ids = Array.from({ length: 40 }, (_, nth) => `s${nth}`);
    const naive = new NaiveStore(plain);
    await Promise.all(ids.map((id) => naive.append(id, ['x'], { sync: true })));
    await naive.close();
    const store = await openLevelStore({ path });
    const before = writesTo(path).length;
    await Promise.all(ids.map((id) => store.commit(appended(undefined, id, ['x']))));
    const shared = writesTo(path).length - before;
    await store.close();
    expect(writesTo(plain).filter(({ sync }) => sync)).toHaveLength(ids.length);
    expect(shared).toBeGreaterThanOrEqual(1);
    expect(shared).toBeLessThanOrEqual(4);
  });
});

describe('an iterator reads ahead 16 KB at a time', () => {
  it('a list of a hundred long messages takes a call for each; the store takes a few', async () => {
    const list = Array.from({ length: 100 }, (_, nth) => text(`${nth}`, 20_000));
    const naive = new NaiveStore(plain);
    await naive.save('s', list);
    const count = countedCalls(naive.level);
    await naive.messages('s');
    expect(count()).toBeGreaterThanOrEqual(list.length);
    await naive.close();
    const store = await openLevelStore({ path });
    await store.commit(appended(undefined, 's', list));
    const before = count();
    expect(textsOf(await store.messages('s'))).toEqual(list);
    expect(count() - before).toBeLessThanOrEqual(4);
    await store.close();
  });
});

/** Counts calls for entries of every database from here on. */
function countedCalls(level: Level<string, unknown>): () => number {
  const iterator = level.iterator();
  const prototype = Object.getPrototypeOf(iterator) as Record<'_next' | '_nextv' | '_all', () => Promise<unknown>>;
  const spies = (['_next', '_nextv'] as const).map((name) => vi.spyOn(prototype, name));
  void iterator.close();
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

describe('deleted keys stay in tables that overlap no other one', () => {
  const turns = 8_000;
  const naiveMarker = (id: string): string => `!marker!${id}`;
  const ownMarker = (id: string): string => `!marker!${markerKey(id)}`;

  /** Entries in all tables: what a scan for markers goes through. */
  function entriesIn(folder: string): number {
    try {
      return readFolder(folder).tables.reduce((sum, table) => sum + entriesOf(folder, table.file), 0);
    } catch {
      // LevelDB has just merged it away.
      return Number.POSITIVE_INFINITY;
    }
  }

  function entriesOf(folder: string, name: string): number {
    const file = new TableFile(join(folder, name));
    const index = file.index(file.size) ?? [];
    const entries = index.reduce((sum, block) => sum + (file.writes(block)?.length ?? 0), 0);
    file.close();
    return entries;
  }

  /** A database in which so many turns came and went. */
  async function used(folder: string, keyOf: (id: string) => string): Promise<Level<string, string>> {
    // Small tables make of some thousand markers what a million are otherwise.
    const level = new Level<string, string>(folder, { ...{ writeBufferSize: 1 << 16 } });
    await level.open();
    for (let n = 0; n < turns; n += 1) {
      const key = keyOf(`01900000-${String(n).padStart(8, '0')}`);
      await level.put(key, 'in progress');
      await level.del(key);
    }
    return level;
  }

  it('markers in the order of time are never merged away; four characters of a hash in front of them let LevelDB do so', async () => {
    const naive = await used(plain, naiveMarker);
    const own = await used(path, ownMarker);
    // It merges beside what else it does.
    await expect.poll(() => entriesIn(path), { timeout: 60_000 }).toBeLessThan(turns * 1.5);
    expect(entriesIn(plain)).toBeGreaterThan(turns * 1.8);
    await naive.close();
    await own.close();
  });
});

describe('under fake timers', () => {
  it('LevelDB answers as ever, and so does the store: nothing in it waits for a timer', async () => {
    vi.useFakeTimers();
    const store = await openLevelStore({ path });
    const first = appended(undefined, 's', ['x']);
    await store.commit(first);
    await store.commit(rewritten(first.head, 's', ['y']));
    expect(textsOf(await store.messages('s'))).toEqual(['y']);
    await store.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
