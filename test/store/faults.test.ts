// Batches that fail: a full disk, a crash at any of them, a batch that was applied and reported as failed.
import { describe, expect, it, vi } from 'vitest';
import { TurnError } from '../../src/core/errors.js';
import type { Commit, TurnStore } from '../../src/core/ports.js';
import { appended, checkpointOf, commitAfter, compacted, rewritten, textsOf } from './fixtures.js';
import {
  expectMarkersAgree,
  expectNoGarbage,
  type Fate,
  inWorld,
  WORLDS,
  type World,
  type WorldName,
} from './world.js';

/** A life with every kind of commit: appends, a staged rewrite, a small one, an end. */
function scenario(): readonly Commit[] {
  const texts = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  const commits: Commit[] = [];
  const add = (commit: Commit) => {
    commits.push({ ...commit, checkpoint: checkpointOf(commit.head) });
    return commit.head;
  };
  let head = add(appended(undefined, 's', texts('a', 3)));
  head = add(rewritten(head, 's', texts('b', 1010)));
  head = add(appended(head, 's', texts('c', 2)));
  head = add(compacted(head, 's', texts('d', 510), texts('b', 300)));
  head = add(compacted(head, 's', texts('e', 2), texts('d', 5)));
  add(commitAfter(head, 's', { inProgress: false }));
  return commits;
}

/** The list after each number of commits. */
function lists(commits: readonly Commit[]): string[][] {
  const result: string[][] = [[]];
  for (const { transcript } of commits) {
    const texts = textsOf(transcript?.messages ?? []);
    const before = result.at(-1) ?? [];
    if (transcript === undefined) result.push(before);
    else result.push(transcript.kind === 'append' ? [...before, ...texts] : texts);
  }
  return result;
}

/** The archive after each number of commits. */
function archives(commits: readonly Commit[]): string[][] {
  const result: string[][] = [[]];
  for (const { archive = [] } of commits) result.push([...(result.at(-1) ?? []), ...textsOf(archive)]);
  return result;
}

/** Both in memory; on disk, where each takes a while, one after the other. */
function fates(name: WorldName, nth: number): readonly Fate[] {
  if (name === 'memory') return ['fail', 'applyAndFail'];
  return nth % 2 === 0 ? ['fail'] : ['applyAndFail'];
}

/** Commits until one fails; how many were acknowledged. */
async function play(store: TurnStore, commits: readonly Commit[], from = 0): Promise<number> {
  for (const [i, commit] of commits.slice(from).entries()) {
    try {
      await store.commit(commit);
    } catch (error) {
      expect(error).toMatchObject({ code: 'TURN_STORE_FAILED', retryable: true });
      return from + i;
    }
  }
  return commits.length;
}

async function countBatches(world: World, commits: readonly Commit[]): Promise<number> {
  const store = await world.open();
  await play(store, commits);
  await store.close();
  return world.batches;
}

describe.each(WORLDS)('a crash over %s', (name) => {
  it('I3: at any batch leaves the old list or the new one, with its marker, and what was acknowledged', async () => {
    const commits = scenario();
    const expected = lists(commits);
    const archived = archives(commits);
    let total = 0;
    await inWorld(name, async (world) => {
      total = await countBatches(world, commits);
    });
    expect(total).toBeGreaterThan(10);
    for (let nth = 1; nth <= total; nth += 1) {
      for (const fate of fates(name, nth)) {
        await inWorld(name, async (world) => {
          const store = world.store();
          // From this batch on nothing reaches the disk, and it cannot be opened again.
          world.fate = (n) => {
            if (n < nth) return 'pass';
            world.gone = true;
            return n === nth ? fate : 'fail';
          };
          const acknowledged = await play(store, commits);
          await world.crash();

          const after = await world.open();
          const label = `batch ${nth}, ${fate}`;
          const list = textsOf(await after.messages('s'));
          const revision = (await after.head('s'))?.revision ?? 0;
          expect([acknowledged, acknowledged + 1], label).toContain(revision);
          expect(list, label).toEqual(expected[revision]);
          expect(textsOf(await after.archive('s')), label).toEqual(archived[revision]);
          await expectMarkersAgree(world);
          await expectNoGarbage(world);
          // The life goes on from there, and ends as if nothing had happened.
          expect(await play(after, commits, acknowledged), label).toBe(commits.length);
          expect(textsOf(await after.messages('s')), label).toEqual(expected.at(-1));
          expect(textsOf(await after.archive('s')), label).toEqual(archived.at(-1));
          await after.close();
          await (await world.open()).close();
          await expectNoGarbage(world);
        });
      }
    }
  });
});

describe.each(WORLDS)('a batch that fails over %s', (name) => {
  it('once, at any place, loses nothing: the same commit tried again completes the list', async () => {
    const commits = scenario();
    const expected = lists(commits).at(-1);
    let total = 0;
    await inWorld(name, async (world) => {
      total = await countBatches(world, commits);
    });
    for (let nth = 2; nth <= total; nth += 1) {
      for (const fate of fates(name, nth)) {
        await inWorld(name, async (world) => {
          world.fate = (n) => (n === nth ? fate : 'pass');
          const store = await world.open();
          let done = await play(store, commits);
          if (done < commits.length) done = await play(store, commits, done);
          expect(done, `batch ${nth}, ${fate}`).toBe(commits.length);
          expect(textsOf(await store.messages('s'))).toEqual(expected);
          await store.close();
          await (await world.open()).close();
          await expectNoGarbage(world);
          await expectMarkersAgree(world);
        });
      }
    }
  });

  it('closes the handle and opens another before anything is acknowledged again', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit(first);
      const { opened, batches } = world;
      world.fate = (n) => (n === batches + 1 ? 'fail' : 'pass');
      const second = appended(first.head, 's', ['b']);
      const error = await store.commit(second).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(TurnError);
      expect(error).toMatchObject({ code: 'TURN_STORE_FAILED', cause: { code: 'ENOSPC' } });
      expect(world.opened).toBe(opened + 1);
      await store.commit(second);
      expect(textsOf(await store.messages('s'))).toEqual(['a', 'b']);
      await store.close();
    });
  });

  it('but was applied counts as done, for each of the sessions in it', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const { batches } = world;
      world.fate = (n) => (n === batches + 1 ? 'applyAndFail' : 'pass');
      await Promise.all(Array.from({ length: 20 }, (_, i) => store.commit(appended(undefined, `s${i}`, ['a']))));
      expect(world.batches).toBe(batches + 1);
      for (let i = 0; i < 20; i += 1) expect(textsOf(await store.messages(`s${i}`))).toEqual(['a']);
      await store.close();
    });
  });

  it('fails the commits in it; those behind it wait for the reopening and are checked again', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 'a', ['a']);
      const commits = [first, appended(first.head, 'a', ['too early']), appended(undefined, 'b', ['b'])];
      const { batches } = world;
      let open = (_fate: 'fail') => {};
      const gate = new Promise<'fail'>((resolve) => {
        open = resolve;
      });
      world.fate = (n) => (n === batches + 1 ? gate : 'pass');
      const running = [store.commit(commits[0] as Commit)];
      // Waits until the first batch is under way, so that the others are behind it.
      while (world.batches === batches) await new Promise((resolve) => setImmediate(resolve));
      running.push(...commits.slice(1).map((commit) => store.commit(commit)));
      open('fail');
      const results = await Promise.allSettled(running);
      expect(results).toMatchObject([
        { status: 'rejected', reason: { code: 'TURN_STORE_FAILED' } },
        { status: 'rejected', reason: { code: 'TURN_CONFLICT' } },
        { status: 'fulfilled' },
      ]);
      expect(await store.head('a')).toBeUndefined();
      expect(textsOf(await store.messages('b'))).toEqual(['b']);
      await store.close();
    });
  });

  it('makes a rewrite begin again that was clearing what another had left', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const texts = Array.from({ length: 1010 }, (_, i) => `${i}`);
      const first = appended(undefined, 'r', ['old']);
      await store.commit(first);
      // The last batch of a staged rewrite fails: what it staged stays.
      const staging = world.batches;
      world.fate = (n) => (n === staging + 4 ? 'fail' : 'pass');
      await expect(store.commit(rewritten(first.head, 'r', texts))).rejects.toMatchObject({
        code: 'TURN_STORE_FAILED',
      });
      // One batch clears some of it beside another session; the next, of that session alone, fails.
      const before = world.batches;
      world.fate = (n) => (n === before + 2 ? 'fail' : 'pass');
      const small = appended(undefined, 'a', ['a']);
      const large = appended(small.head, 'a', texts);
      const results = await Promise.allSettled([
        store.commit(small),
        store.commit(large),
        store.commit(rewritten(first.head, 'r', ['new'])),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(textsOf(await store.messages('r'))).toEqual(['new']);
      expect(textsOf(await store.messages('a'))).toEqual(['a']);
      await store.close();
      await (await world.open()).close();
      await expectNoGarbage(world);
    });
  });

  it('and a database that does not reopen fail every call until it does, and lose nothing', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit(first);
      const { batches } = world;
      world.fate = (n) => {
        if (n !== batches + 1) return 'pass';
        world.gone = true;
        return 'applyAndFail';
      };
      const second = appended(first.head, 's', ['b']);
      const failed = { code: 'TURN_STORE_FAILED', retryable: true };
      await expect(store.commit(second)).rejects.toMatchObject(failed);
      await expect(store.load('s')).rejects.toMatchObject(failed);
      await expect(store.markers('agent')).rejects.toMatchObject(failed);
      await expect(store.commit(second)).rejects.toMatchObject(failed);
      world.gone = false;
      // It was durable all the same: the same commit again is done, another one on the same base is a conflict.
      await expect(store.commit(appended(first.head, 's', ['c']))).rejects.toMatchObject({ code: 'TURN_CONFLICT' });
      await store.commit(second);
      expect(textsOf(await store.messages('s'))).toEqual(['a', 'b']);
      await store.close();
    });
  });

  it('leaves a store that can be closed while the database is away', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      world.fate = () => {
        world.gone = true;
        return 'fail';
      };
      await expect(store.commit(appended(undefined, 's', ['a']))).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
      await store.close();
      await expect(store.head('s')).rejects.toMatchObject({ code: 'TURN_STORE_CLOSED' });
    });
  });
});

describe.each(WORLDS)('group commit over %s', (name) => {
  it('writes what waits at the same time in far fewer batches than commits', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const before = world.batches;
      const first = Array.from({ length: 200 }, (_, i) => appended(undefined, `s${i}`, ['a']));
      await Promise.all(first.map((commit) => store.commit(commit)));
      expect(world.batches - before).toBeLessThanOrEqual(3);
      // Two more of each session: a session is in a batch once at most.
      const second = first.map((commit, i) => appended(commit.head, `s${i}`, ['b']));
      const third = second.map((commit, i) => appended(commit.head, `s${i}`, ['c']));
      const between = world.batches;
      await Promise.all([...second, ...third].map((commit) => store.commit(commit)));
      expect(world.batches - between).toBeGreaterThanOrEqual(2);
      expect(world.batches - between).toBeLessThanOrEqual(6);
      for (let i = 0; i < 200; i += 50) expect(textsOf(await store.messages(`s${i}`))).toEqual(['a', 'b', 'c']);
      await store.close();
    });
  });

  it('puts no more than 500 changes or a megabyte into a merged batch', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const sizes: number[] = [];
      const bytes: number[] = [];
      await world.inspect(async ({ level }) => {
        const batch = level.batch;
        level.batch = (ops, options) => {
          sizes.push(ops.length);
          bytes.push(ops.reduce<number>((sum, op) => sum + ((op as { value?: Buffer }).value?.length ?? 0), 0));
          return batch(ops, options);
        };
      });
      const big = 'x'.repeat(200_000);
      await Promise.all([
        ...Array.from({ length: 30 }, (_, i) => store.commit(appended(undefined, `big${i}`, [big]))),
        ...Array.from({ length: 300 }, (_, i) => store.commit(appended(undefined, `small${i}`, ['a']))),
        store.commit(
          rewritten(
            undefined,
            'staged',
            Array.from({ length: 1200 }, () => 'a'),
          ),
        ),
      ]);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
      expect(Math.max(...bytes)).toBeLessThanOrEqual(1 << 20);
      await store.close();
    });
  });

  it('an epoch that was left behind is swept while the store is open', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const [first, second] = scenario();
      await store.commit(first as Commit);
      await store.commit(second as Commit);
      await vi.waitFor(() => expectNoGarbage(world));
      await store.close();
    });
  });
});
