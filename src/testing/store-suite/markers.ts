/**
 * Owns the tests of the index of interrupted turns (I2) and of the other lists of an agent.
 * Must not know a store.
 */
import type { TurnStore } from '../../core/ports.js';
import type { Head } from '../../core/records.js';
import { refused, same } from './expectations.js';
import { appended, commitAfter, compacted, inputOf, rewritten, turnOf } from './made-records.js';
import type { StoreCase } from './store-case.js';

const turnsOf = async (store: TurnStore) => (await store.markers('agent')).map(({ turnId }) => turnId);

const biconditional: StoreCase = {
  name: 'I2: a session has a marker while its turn is in progress or an outcome is due, and at no other time',
  async run({ store }) {
    const turn = turnOf('s');
    const idle = commitAfter(undefined, 's', { turnId: null, inProgress: false, phase: null });
    await store.commit(idle);
    same(await turnsOf(store), [], 'markers of a session that never had a turn');
    const started = commitAfter(idle.head, 's', { turnId: turn, inProgress: true });
    await store.commit(started);
    same(await turnsOf(store), [turn], 'markers of a turn in progress');
    const ended = commitAfter(started.head, 's', { inProgress: false, outcomesDue: [turn] });
    await store.commit(ended);
    same(await turnsOf(store), [turn], 'markers of a turn whose outcome is due');
    const next = commitAfter(ended.head, 's', { turnId: turnOf('s', 2), inProgress: true });
    await store.commit(next);
    same(await turnsOf(store), [turnOf('s', 2)], 'markers of the turn behind it');
    await store.commit(commitAfter(next.head, 's', { inProgress: false, outcomesDue: [] }));
    same(await turnsOf(store), [], 'markers of a session at rest');
  },
};

/** Every way a commit can go: whatever it carries, the marker follows its head and nothing else. */
const everyPath: StoreCase = {
  name: 'I2: the marker follows the head in every kind of commit, and a refused commit moves neither',
  async run({ store }) {
    let head: Head | undefined;
    for (const inProgress of [true, false, true, false]) {
      for (const make of [appended, rewritten]) {
        const commit = make(head, 's', ['a', 'b']);
        const changed = { ...commit, head: { ...commit.head, inProgress } };
        await store.commit(changed);
        head = changed.head;
        same(await turnsOf(store), inProgress ? [turnOf('s')] : [], `markers after ${commit.transcript?.kind}`);
      }
      const shorter = compacted({ ...(head as Head) }, 's', ['c'], ['a']);
      const opposite = { ...shorter, head: { ...shorter.head, inProgress: !inProgress } };
      await refused(store.commit({ ...opposite, base: opposite.base + 5 }), 'a commit on another base');
      same(await turnsOf(store), inProgress ? [turnOf('s')] : [], 'markers after a refused commit');
      await store.commit(opposite);
      head = opposite.head;
      same(await turnsOf(store), inProgress ? [] : [turnOf('s')], 'markers after a compaction');
    }
  },
};

const newest: StoreCase = {
  name: 'lists the markers of one agent, newest first',
  async run({ store }) {
    const saved = { a: 20, b: 30, c: 10 };
    for (const [id, savedAt] of Object.entries(saved)) await store.commit({ ...commitAfter(undefined, id), savedAt });
    await store.commit({ ...commitAfter(undefined, 'd', { agent: 'other' }), savedAt: 40 });
    const found = await store.markers('agent');
    same(
      found.map(({ sessionId }) => sessionId),
      ['b', 'a', 'c'],
      'markers',
    );
    const other = { sessionId: 'd', agent: 'other', turnId: turnOf('d'), savedAt: 40 };
    same(await store.markers('other'), [other], 'markers of the other agent');
    same(await store.markers('nobody'), [], 'markers of nobody');
  },
};

const waiting: StoreCase = {
  name: 'I11: lists a session as waiting exactly while input of it is in the inbox, in progress or not',
  async run({ store }) {
    const put = (seq: number) => ({ inbox: { put: [inputOf('s', seq)], remove: [] } });
    const take = (seq: number) => ({ inbox: { put: [], remove: [inputOf('s', seq)] } });
    const first = commitAfter(undefined, 's', { inProgress: false, waitingInput: 1 }, put(0));
    await store.commit(first);
    same(await store.waitingInput('agent'), ['s'], 'waitingInput of a session at rest');
    const second = commitAfter(first.head, 's', { inProgress: true, waitingInput: 2 }, put(1));
    await store.commit(second);
    const third = commitAfter(second.head, 's', { waitingInput: 1 }, take(0));
    await store.commit(third);
    same(await store.waitingInput('agent'), ['s'], 'waitingInput with one input left');
    await store.commit(commitAfter(third.head, 's', { waitingInput: 0 }, take(1)));
    same(await store.waitingInput('agent'), [], 'waitingInput behind the last');
    same(await store.inbox('s'), [], 'inbox');
  },
};

export const MARKERS: readonly StoreCase[] = [biconditional, everyPath, newest, waiting];
