// Removals that are cut off, and sessions that begin again: whole or gone, and never mixed.
import { describe, expect, it } from 'vitest';
import type { Commit } from '../../src/core/ports.js';
import type { LevelTurnStore } from '../../src/store/store.js';
import { appended, commitAfter, rewritten, textsOf } from './fixtures.js';
import { isThere, lifeOf, live, stored, storedAfter, swept, texts } from './lives.js';
import { expectMarkersAgree, expectNoGarbage, type Fate, inWorld, WORLDS, type World } from './world.js';

const BOTH: readonly Fate[] = ['fail', 'applyAndFail'];

describe.each(WORLDS)('a removal that is cut off in %s', (name) => {
  // On disk, where each place takes a while, there are fewer batches; what takes several for one kind is cut off in memory.
  const size = name === 'memory' ? 260 : 3;
  const fates = (nth: number) => (name === 'memory' || nth < 3 ? BOTH : BOTH.slice(nth % 2, (nth % 2) + 1));

  /** Fails at the nth batch of a removal and runs what comes then. */
  async function cut(
    fatal: boolean,
    run: (world: World, store: LevelTurnStore, nth: number, label: string) => Promise<void>,
  ): Promise<void> {
    let total = 0;
    for (let nth = 1; total === 0 || nth <= total; nth += 1) {
      for (const fate of fates(nth)) {
        await inWorld(name, async (world) => {
          const store = await world.open();
          await live(store, 's.t1');
          await live(store, 's', size);
          await swept(world);
          const { batches } = world;
          if (total === 0) {
            await store.remove('s');
            total = world.batches - batches;
            expect(total).toBeGreaterThan(6);
            await live(store, 's', size);
            await swept(world);
          }
          const start = world.batches;
          world.fate = (n) => {
            if (n !== start + nth) return n > start + nth && fatal ? 'fail' : 'pass';
            world.gone = fatal;
            return fate;
          };
          await expect(store.remove('s')).rejects.toMatchObject({ code: 'TURN_STORE_FAILED', retryable: true });
          await run(world, store, nth === 1 && fate === 'fail' ? 0 : nth, `batch ${nth}, ${fate}`);
        });
      }
    }
  }

  it('I3: by a crash at any batch, leaves the session whole or gone, and nothing of it after the next opening', async () => {
    const others = await storedAfter(name, (store) => live(store, 's.t1'));
    await cut(true, async (world, _store, nth, label) => {
      await world.crash();
      const after = await world.open();
      expect(await isThere(after, 's'), label).toBe(nth === 0);
      expect(await isThere(after, 's.t1'), label).toBe(true);
      if (nth > 0) expect(await stored(world), label).toEqual(others);
      await expectMarkersAgree(world);
      await expectNoGarbage(world);
      await after.remove('s');
      expect(await stored(world), label).toEqual(others);
      await after.close();
    });
  });

  it('by a batch that fails, is whole or gone for every reader, and ends with the next try', async () => {
    const others = await storedAfter(name, (store) => live(store, 's.t1'));
    await cut(false, async (world, store, nth, label) => {
      expect(await isThere(store, 's'), label).toBe(nth === 0);
      await expectMarkersAgree(world);
      await store.remove('s');
      expect(await stored(world), label).toEqual(others);
      await store.close();
    });
  });

  it('by a batch that fails, leaves nothing to a session that is created again', async () => {
    const others = await storedAfter(name, async (store) => {
      await live(store, 's.t1');
      await live(store, 's', 2);
    });
    await cut(false, async (world, store, nth, label) => {
      if (nth === 0) return store.close();
      await live(store, 's', 2);
      await swept(world);
      expect(await stored(world), label).toEqual(others);
      await store.close();
      await (await world.open()).close();
      expect(await stored(world), label).toEqual(others);
    });
  });

  it('by a batch of somebody else that fails, begins again on the new handle and ends', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's', size);
      await swept(world);
      // The second batch holds the large commit alone, while the removal has begun and waits.
      const { batches } = world;
      world.fate = (n) => (n === batches + 2 ? 'fail' : 'pass');
      const small = appended(undefined, 'other', ['small']);
      const large = appended(small.head, 'other', texts('large', 480));
      const results = await Promise.allSettled([store.commit(small), store.commit(large), store.remove('s')]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await isThere(store, 's')).toBe(false);
      await store.remove('other');
      expect(await stored(world)).toMatchObject([{ kind: 'meta' }]);
      await store.close();
    });
  });
});

describe.each(WORLDS)('a session created again in %s', (name) => {
  it('while the old one is still being removed, gets its own records and keeps them', async () => {
    const fresh = await storedAfter(name, (store) => live(store, 's', 4));
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's', 400);
      // All at once: the commits of the old life that come too late are conflicts.
      const late = lifeOf('s', 400)[1] as Commit;
      const removal = store.remove('s');
      const conflict = store.commit(commitAfter(late.head, 's'));
      const again = lifeOf('s', 4).map((commit) => store.commit(commit));
      await expect(conflict).rejects.toMatchObject({ code: 'TURN_CONFLICT' });
      await Promise.all([removal, ...again]);
      await swept(world);
      expect(await stored(world)).toEqual(fresh);
      await store.close();
      await (await world.open()).close();
      expect(await stored(world)).toEqual(fresh);
    });
  });

  it('loses nothing to the sweep of an epoch that the old one had begun', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const old = appended(undefined, 's', texts('old', 490));
      await store.commit(old);
      const fillers = [appended(undefined, 'filler', ['small'])];
      for (const size of [1, 200, 200, 200, 200, 200, 200, 200, 200]) {
        fillers.push(appended(fillers.at(-1)?.head, 'filler', texts('f', size)));
      }
      // The sweep begins beside a last commit of the old session and then waits: others that came before it fill the
      // batches, while the old session goes and the new one, with messages in the same epoch, comes.
      const short = rewritten(old.head, 's', ['short']);
      const commits = [short, commitAfter(short.head, 's'), ...fillers];
      const all = [...commits.map((commit) => store.commit(commit)), store.remove('s')];
      await Promise.all([...all, store.commit(appended(undefined, 's', texts('new', 290)))]);
      await store.close();
      const after = await world.open();
      expect(textsOf(await after.messages('s'))).toEqual(texts('new', 290));
      await after.close();
    });
  });
});
