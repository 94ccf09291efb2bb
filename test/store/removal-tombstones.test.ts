// What is left of removed sessions inside LevelDB: dropped from time to time, and nobody else notices.
import { describe, expect, it } from 'vitest';
import * as keys from '../../src/store/keys.js';
import { placeOf } from '../../src/store/keys.js';
import type { Level } from '../../src/store/tables.js';
import { COMPACTED_BYTES, TOMBSTONES } from '../../src/store/tombstones.js';
import { appended, textsOf } from './fixtures.js';
import { isThere, texts } from './lives.js';
import { inWorld, type World } from './world.js';

type Places = [start: string, end: string][];

/** What LevelDB is asked to compact from now on. */
async function compactions(world: World, change: (level: Level) => void = () => {}): Promise<Places> {
  const places: Places = [];
  await world.inspect(async ({ level }) => {
    change(level);
    const compact = level.compactRange?.bind(level);
    level.compactRange = async (start, end) => {
      places.push([start, end]);
      await compact?.(start, end);
    };
  });
  return places;
}

/** Sessions with more messages than one commit takes, until so many keys go with them. */
async function made(world: World, ids: readonly string[], size: number) {
  const store = await world.open();
  for (const id of ids) await store.commit(appended(undefined, id, texts(id, size)));
  return store;
}

const IDS = ['b', 'c', 'd', 'e'];
const SIZE = TOMBSTONES / IDS.length;

describe('what was deleted of removed sessions on disk', () => {
  it('is dropped by LevelDB where it piles up, from the first key to the last, and others stay', async () => {
    await inWorld('LevelDB', async (world) => {
      const store = await made(world, ['a', ...IDS, 'f'], SIZE);
      const places = await compactions(world);
      for (const id of IDS.slice(1)) await store.remove(id);
      expect(places).toEqual([]);
      await store.remove('b');
      const message = (id: string, seq: number) => placeOf('message', keys.messageKeys(id, 0)(seq));
      expect(places).toContainEqual([message('b', 0), message('e', SIZE - 1)]);
      expect(places).toContainEqual([placeOf('head', keys.headKey('b')), placeOf('head', keys.headKey('e'))]);
      expect(textsOf(await store.messages('a'))).toEqual(texts('a', SIZE));
      expect(textsOf(await store.messages('f'))).toEqual(texts('f', SIZE));
      const { length } = places;
      await store.remove('a');
      expect(places.length).toBe(length);
      await store.close();
    });
  });

  it('stays where so much lies between that to rewrite it would keep the disk busy', async () => {
    await inWorld('LevelDB', async (world) => {
      const store = await made(world, IDS, SIZE);
      const places = await compactions(world, (level) => {
        level.approximateSize = async (start) => COMPACTED_BYTES + (start.startsWith('!message!') ? 1 : 0);
      });
      for (const id of IDS) await store.remove(id);
      expect(places.length).toBeGreaterThan(0);
      expect(places.filter(([start]) => start.startsWith('!message!'))).toEqual([]);
      await store.close();
    });
  });

  it('fails no removal where LevelDB cannot drop it', async () => {
    await inWorld('LevelDB', async (world) => {
      const store = await made(world, IDS, SIZE);
      await compactions(world, (level) => {
        level.compactRange = () => Promise.reject(new Error('no space left on device'));
      });
      for (const id of IDS) await store.remove(id);
      for (const id of IDS) expect(await isThere(store, id)).toBe(false);
      await store.close();
    });
  });
});
