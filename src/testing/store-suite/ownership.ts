/**
 * Owns the tests of who may write: revisions, leases and their fencing tokens (I7).
 * Must not know a store.
 */
import type { Lease, TurnStore } from '../../core/ports.js';
import { isTrue, refused, same, sameNames } from './expectations.js';
import { appended, commitAfter, inputOf, textsOf } from './made-records.js';
import type { StoreCase } from './store-case.js';

const statesOf = (results: readonly PromiseSettledResult<unknown>[]) => results.map(({ status }) => status);

const first: StoreCase = {
  name: 'I7: of many commits on one base exactly one wins, and the others are conflicts',
  async run({ store }) {
    const texts = Array.from({ length: 12 }, (_, index) => `try ${index}`);
    const results = await Promise.allSettled(texts.map((text) => store.commit(appended(undefined, 's', [text]))));
    const winners = texts.filter((_, index) => results[index]?.status === 'fulfilled');
    same(winners.length, 1, 'winners');
    same(textsOf(await store.messages('s')), winners, 'messages');
    for (const result of results) {
      if (result.status === 'rejected') same(result.reason?.code, 'TURN_CONFLICT', 'the code of a loser');
    }
    await refused(store.commit(commitAfter(undefined, 's')), 'a commit on an old base', 'TURN_CONFLICT');
  },
};

const isolated: StoreCase = {
  name: 'I7: a conflict fails only its own commit, not those of other sessions that wait with it',
  async run({ store }) {
    await store.commit(appended(undefined, 'b', ['old']));
    const results = await Promise.allSettled([
      store.commit(appended(undefined, 'a', ['a'])),
      store.commit(appended(undefined, 'b', ['b'])),
      store.commit(appended(undefined, 'c', ['c'])),
    ]);
    same(statesOf(results), ['fulfilled', 'rejected', 'fulfilled'], 'results');
    same(textsOf(await store.messages('b')), ['old'], 'messages of the session with the conflict');
  },
};

const ordered: StoreCase = {
  name: 'stores commits of one session in the order in which they were made, all at once',
  async run({ store }) {
    let last = appended(undefined, 's', ['0']);
    const commits = [last];
    for (let index = 1; index < 30; index += 1) {
      last = appended(last.head, 's', [String(index)]);
      commits.push(last);
    }
    await Promise.all(commits.map((commit) => store.commit(commit)));
    const expected = commits.map((_, index) => String(index));
    same(textsOf(await store.messages('s')), expected, 'messages');
    same((await store.head('s'))?.revision, commits.length, 'the revision');
  },
};

const again: StoreCase = {
  name: 'counts a commit that is already durable as done when exactly the same one comes again',
  async run({ store }) {
    const commit = appended(undefined, 's', ['a']);
    await store.commit(commit);
    await store.commit(structuredClone(commit));
    same((await store.head('s'))?.revision, 1, 'the revision');
    same(textsOf(await store.messages('s')), ['a'], 'messages');
  },
};

const twins: StoreCase = {
  name: 'I11: two inputs whose heads are equal are not taken for one commit',
  async run({ store }) {
    const commit = commitAfter(undefined, 's', { waitingInput: 1 });
    await store.commit({ ...commit, inbox: { put: [inputOf('s', 0)], remove: [] } });
    const other = { ...commit, inbox: { put: [inputOf('s', 1)], remove: [] } };
    await refused(store.commit(other), 'the second input', 'TURN_CONFLICT');
    same(await store.inbox('s'), [inputOf('s', 0)], 'inbox');
  },
};

async function taken(store: TurnStore, routeKey: string): Promise<Lease> {
  const lease = await store.acquire(routeKey);
  isTrue(lease !== undefined, `route ${routeKey} is free and was not given`);
  return lease as Lease;
}

const fenced: StoreCase = {
  name: 'I7: a route has one holder, and its lease is refused once somebody else has a newer one',
  async run({ store }) {
    const older = await taken(store, 'route');
    same(await store.acquire('route'), undefined, 'a route that is held');
    await taken(store, 'another');
    const stored = commitAfter(undefined, 'a', {}, { lease: older });
    await store.commit(stored);
    await store.release(older);
    await store.release(older);
    const newer = await taken(store, 'route');
    isTrue(newer.token > older.token, `token ${newer.token} follows ${older.token}`);
    await store.release(older);
    same(await store.acquire('route'), undefined, 'a route whose former holder released it once more');
    const late = { ...commitAfter(stored.head, 'a'), lease: older };
    await refused(store.commit(late), 'a commit with the older lease', 'TURN_CONFLICT');
    same((await store.head('a'))?.revision, 1, 'the revision after what was refused');
    await store.commit({ ...late, lease: newer });
    same([newer.lost.aborted, newer.routeKey], [false, 'route'], 'the newer lease');
  },
};

const racing: StoreCase = {
  name: 'I7: of many who ask for a route at the same time one gets it, and after its release one more',
  async run({ store }) {
    const ask = () => Promise.all(Array.from({ length: 20 }, () => store.acquire('route')));
    let before = -1;
    for (let round = 0; round < 3; round += 1) {
      const given = (await ask()).filter((lease) => lease !== undefined);
      same(given.length, 1, `holders in round ${round}`);
      const [lease] = given as [Lease];
      isTrue(lease.token > before, `token ${lease.token} follows ${before}`);
      before = lease.token;
      await store.release(lease);
    }
  },
};

const busy: StoreCase = {
  name: 'stores commits of many sessions at the same time, each whole',
  async run({ store }) {
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    await Promise.all(
      ids.map(async (id) => {
        const begun = appended(undefined, id, [`${id} a`]);
        await store.commit(begun);
        await store.commit(appended(begun.head, id, [`${id} b`]));
      }),
    );
    for (const id of ids) same(textsOf(await store.messages(id)), [`${id} a`, `${id} b`], `messages of ${id}`);
    sameNames(
      (await store.markers('agent')).map(({ sessionId }) => sessionId),
      ids,
      'markers',
    );
  },
};

export const OWNERSHIP: readonly StoreCase[] = [first, isolated, ordered, again, twins, fenced, racing, busy];
