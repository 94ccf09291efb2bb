// What every store does with sessions as a whole: it lists those of an agent and removes one, whatever it is made of.
import { describe, expect, it } from 'vitest';
import type { TurnStore } from '../../src/core/ports.js';
import type { Place } from './contract.js';
import { appended, commitAfter, textsOf } from './fixtures.js';
import { isThere, lifeOf, live } from './lives.js';

async function listed(store: TurnStore, agent: string): Promise<string[]> {
  const found: string[] = [];
  for await (const head of store.sessions(agent)) found.push(head.sessionId);
  return found;
}

export function describeSessions(name: string, place: () => Place): void {
  const withStore = (run: (store: TurnStore) => Promise<void>) => async () => {
    const where = place();
    const store = await where.open();
    try {
      await run(store);
    } finally {
      await store.close();
      await where.dispose();
    }
  };

  describe(`${name}: whole sessions`, () => {
    it(
      'lists the heads of one agent, of sessions at rest too, each as it is now',
      withStore(async (store) => {
        const rest = { inProgress: false };
        const first = commitAfter(undefined, 'a', rest);
        await store.commit(first);
        await store.commit(commitAfter(undefined, 'b'));
        await store.commit(commitAfter(undefined, 'c', { agent: 'other' }));
        const last = appended(first.head, 'a', ['x']);
        await store.commit(last);
        expect(await listed(store, 'agent')).toEqual(['a', 'b']);
        expect(await listed(store, 'other')).toEqual(['c']);
        expect(await listed(store, 'nobody')).toEqual([]);
        for await (const head of store.sessions('agent')) {
          expect(head).toEqual(last.head);
          break;
        }
      }),
    );

    it(
      'removes a session for every reader, and no other',
      withStore(async (store) => {
        for (const id of ['s', 's.t1', 's2']) await live(store, id);
        await store.remove('s');
        expect(await isThere(store, 's')).toBe(false);
        expect(await isThere(store, 's.t1')).toBe(true);
        expect(await isThere(store, 's2')).toBe(true);
        await store.remove('s');
        await store.remove('never stored');
        await expect(store.commit(commitAfter(lifeOf('s')[1]?.head, 's'))).rejects.toMatchObject({
          code: 'TURN_CONFLICT',
        });
      }),
    );

    it(
      'begins a session anew under the id of a removed one, with nothing of it',
      withStore(async (store) => {
        await live(store, 's', 20);
        const removal = store.remove('s');
        await store.commit(appended(undefined, 's', ['new']));
        await removal;
        expect(textsOf(await store.messages('s'))).toEqual(['new']);
        expect(await store.archive('s')).toEqual([]);
        expect(await store.seen('s', 'm0')).toBeUndefined();
        expect(await store.load('s')).toMatchObject({ checkpoint: null, calls: [], inbox: [], reviews: [] });
      }),
    );

    it('finishes a removal that was accepted before it closes, and refuses both afterwards', async () => {
      const where = place();
      const store = await where.open();
      await live(store, 's', 300);
      const removal = store.remove('s');
      await store.close();
      await removal;
      const closed = { code: 'TURN_STORE_CLOSED' };
      await expect(store.remove('s')).rejects.toMatchObject(closed);
      await expect(listed(store, 'agent')).rejects.toMatchObject(closed);
      await where.dispose();
    });
  });
}
