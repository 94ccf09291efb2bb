// The list of an agent's sessions: all of them once, in order, whatever happens to the store while it is read.
import { describe, expect, it } from 'vitest';
import type { Head } from '../../src/core/records.js';
import * as keys from '../../src/store/keys.js';
import type { LevelTurnStore } from '../../src/store/store.js';
import { put } from '../../src/store/tables.js';
import { appended, commitAfter } from './fixtures.js';
import { inWorld, WORLDS, type World } from './world.js';

const ids = (count: number) => Array.from({ length: count }, (_, i) => `s${String(i).padStart(4, '0')}`);

async function create(store: LevelTurnStore, sessions: readonly string[], agent = 'agent'): Promise<void> {
  await Promise.all(sessions.map((id) => store.commit(commitAfter(undefined, id, { agent, inProgress: false }))));
}

async function listed(store: LevelTurnStore, each: (head: Head) => unknown = () => {}): Promise<string[]> {
  const found: string[] = [];
  for await (const head of store.sessions('agent')) {
    found.push(head.sessionId);
    await each(head);
  }
  return found;
}

describe.each(WORLDS)('the sessions of an agent in %s', (name) => {
  const withStore = (run: (store: LevelTurnStore, world: World) => Promise<void>) => () =>
    inWorld(name, async (world) => {
      const store = await world.open();
      await run(store, world);
      await store.close();
    });

  it(
    'are listed with their heads in the order of their keys, and no other agent is',
    withStore(async (store) => {
      expect(await listed(store)).toEqual([]);
      const strange = ['b', 'a', 'a.b', 'a%2Eb', 'a/1', '\u00e4', '\u{1F600}', '__proto__', 'A', '!'];
      await create(store, strange);
      await create(store, ['another', 'a.c'], 'other');
      const [first] = strange.map(keys.headKey).sort();
      const heads: Head[] = [];
      const found = await listed(store, (head) => heads.push(head));
      expect(found.map(keys.headKey)).toEqual(strange.map(keys.headKey).sort());
      expect(heads[0]).toEqual(await store.head(heads[0]?.sessionId ?? ''));
      expect(keys.headKey(heads[0]?.sessionId ?? '')).toBe(first);
    }),
  );

  it(
    'are found among many of another agent, a few heads at a time',
    withStore(async (store, world) => {
      const all = ids(1200);
      const own = all.filter((_, i) => i % 400 === 399);
      await create(
        store,
        all.slice(0, 600).filter((id) => !own.includes(id)),
        'other',
      );
      await create(
        store,
        all.slice(600).filter((id) => !own.includes(id)),
        'other',
      );
      await create(store, own);
      const seen = new Set<string>();
      world.unreadable = (kind, key) => {
        if (kind === 'head') seen.add(key);
        return false;
      };
      const read: number[] = [];
      expect(await listed(store, () => read.push(seen.size))).toEqual(own);
      expect(read).toEqual([500, 1000, 1200]);
    }),
  );

  it(
    'leave out heads that are damaged or that LevelDB cannot read, and go on behind them',
    withStore(async (store, world) => {
      const all = ids(700);
      await create(store, all);
      const [damaged, lost] = [
        ['s0003', 's0250', 's0699'],
        ['s0100', 's0400'],
      ];
      await world.inspect((tables) =>
        tables.write([
          ...damaged.map((id) => put('head', keys.headKey(id), Buffer.from('junk'))),
          put('head', 'no key of ours', Buffer.from('junk')),
        ]),
      );
      const readable = all.filter((id) => !damaged.includes(id));
      expect(await listed(store)).toEqual(readable);
      world.unreadable = (kind, key) => kind === 'head' && key === 's0100';
      expect(await listed(store)).toEqual(readable.filter((id) => id !== 's0100'));
      // Between two places that cannot be read nothing can be reached from either end.
      world.unreadable = (kind, key) => kind === 'head' && lost.includes(key);
      expect(await listed(store)).toEqual(readable.filter((id) => id < 's0100' || id > 's0400'));
      world.unreadable = (kind, key) => kind === 'head' && key >= 's0600';
      expect(await listed(store)).toEqual(readable.filter((id) => id < 's0600'));
      world.unreadable = (kind) => kind === 'head';
      expect(await listed(store)).toEqual([]);
    }),
  );

  it(
    'can be changed and removed while they are listed: each is listed once at most',
    withStore(async (store) => {
      const all = ids(600);
      await create(store, all);
      const found = await listed(store, async (head) => {
        // As housekeeping does it: what is listed goes, others come before and behind the place, or move on.
        if (head.sessionId.endsWith('0')) await store.remove(head.sessionId);
        if (head.sessionId === 's0010') {
          await create(store, ['s', 'z']);
          await store.commit(commitAfter(await store.head('s0500'), 's0500'));
        }
      });
      expect(found).toEqual([...all, 'z']);
      expect(await listed(store)).toEqual(['s', ...all.filter((id) => !id.endsWith('0')), 'z']);
    }),
  );

  it(
    'are listed on across a reopening of the database',
    withStore(async (store, world) => {
      const all = ids(600);
      await create(store, all);
      const { opened } = world;
      const found = await listed(store, async ({ sessionId }) => {
        if (sessionId !== 's0100') return;
        const { batches } = world;
        world.fate = (n) => (n === batches + 1 ? 'fail' : 'pass');
        await expect(store.commit(appended(undefined, 'new', ['a']))).rejects.toMatchObject({
          code: 'TURN_STORE_FAILED',
        });
      });
      expect(world.opened).toBe(opened + 1);
      expect(found).toEqual(all);
    }),
  );

  it('hold nothing open for a reader that stops or waits, and end with the store', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await create(store, ids(600));
      for await (const head of store.sessions('agent')) if (head.sessionId === 's0001') break;
      const waiting = store.sessions('agent')[Symbol.asyncIterator]();
      expect(await waiting.next()).toMatchObject({ value: { sessionId: 's0000' } });
      await store.close();
      const rest = async () => {
        while ((await waiting.next()).done !== true);
      };
      await expect(rest()).rejects.toMatchObject({ code: 'TURN_STORE_CLOSED' });
      await expect(listed(store)).rejects.toMatchObject({ code: 'TURN_STORE_CLOSED' });
    });
  });
});
