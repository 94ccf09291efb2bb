/**
 * Owns the tests of sessions as a whole: listed, removed, taken aside; and of the end of a store.
 * Must not know a store.
 */
import type { Commit, TurnStore } from '../../core/ports.js';
import { isTrue, refused, same } from './expectations.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  inputOf,
  outcomeOf,
  reviewOf,
  textsOf,
  turnOf,
} from './made-records.js';
import type { StoreCase } from './store-case.js';

export const texts = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Records of each kind, of several turns and epochs. */
export function lifeOf(id: string, size = 3): readonly Commit[] {
  const turn = turnOf(id);
  const old = texts('', size).map((_, index) => callOf(turnOf(id, 7), index));
  const calls = [callOf(turn, 0), callOf(turn, 1), ...old];
  const first = appended(undefined, id, texts('a', size));
  const second = compacted(first.head, id, texts('b', size), texts('a', size));
  const head = { ...second.head, dispatched: 2, waitingInput: 2 };
  return [
    first,
    {
      ...second,
      head,
      checkpoint: checkpointOf(head),
      calls: { put: calls, remove: [] },
      inbox: { put: [inputOf(id, 0), inputOf(id, 1)], remove: [] },
      seen: texts('m', size).map((messageId) => ({ messageId, turnId: turn })),
      outcomes: [outcomeOf(turn), outcomeOf(turnOf(id, 7))],
      reviews: { put: calls.slice(0, 2).map(reviewOf), remove: [] },
    },
  ];
}

export async function live(store: TurnStore, id: string, size?: number): Promise<void> {
  for (const commit of lifeOf(id, size)) await store.commit(commit);
}

export async function listed(store: TurnStore, agent: string): Promise<string[]> {
  const found: string[] = [];
  for await (const head of store.sessions(agent)) found.push(head.sessionId);
  return found;
}

/** What every reader of the port says about a session that has had a whole life. */
async function told(store: TurnStore, id: string): Promise<Record<string, boolean>> {
  const turn = turnOf(id);
  const of = (found: readonly { readonly sessionId: string }[]) => found.filter(({ sessionId }) => sessionId === id);
  return {
    head: (await store.head(id)) !== undefined,
    records: (await store.load(id)) !== undefined,
    messages: (await store.messages(id)).length > 0,
    archive: (await store.archive(id)).length > 0,
    inbox: (await store.inbox(id)).length > 0,
    call: (await store.call(callOf(turn, 0).callId)) !== undefined,
    seen: (await store.seen(id, 'm0')) !== undefined,
    outcome: (await store.outcome(turn)) !== undefined,
    marker: of(await store.markers('agent')).length > 0,
    waiting: (await store.waitingInput('agent')).includes(id),
    review: of(await store.reviews('agent')).length > 0,
    listed: (await listed(store, 'agent')).includes(id),
  };
}

/** Whole for all readers or gone for all of them. */
export async function isThere(store: TurnStore, id: string): Promise<boolean> {
  const answers = Object.entries(await told(store, id));
  const there = answers.filter(([, answer]) => answer).map(([reader]) => reader);
  const whole = there.length === 0 || there.length === answers.length;
  isTrue(whole, `session ${JSON.stringify(id)} is in part there: ${there.join(', ')}`);
  return there.length > 0;
}

const lists: StoreCase = {
  name: 'lists the heads of one agent, of sessions at rest too, each as it is now',
  async run({ store }) {
    const first = commitAfter(undefined, 'a', { inProgress: false });
    await store.commit(first);
    await store.commit(commitAfter(undefined, 'b'));
    await store.commit(commitAfter(undefined, 'c', { agent: 'other' }));
    const last = appended(first.head, 'a', ['x']);
    await store.commit(last);
    same(await listed(store, 'agent'), ['a', 'b'], 'sessions');
    same(await listed(store, 'other'), ['c'], 'sessions of the other agent');
    same(await listed(store, 'nobody'), [], 'sessions of nobody');
    for await (const head of store.sessions('agent')) {
      same(head, last.head, 'the first head');
      break;
    }
  },
};

const removes: StoreCase = {
  name: 'removes a session for every reader, and no other',
  async run({ store }) {
    for (const id of ['s', 's.t1', 's2']) await live(store, id);
    isTrue(await isThere(store, 's'), 'the session is not there before its removal');
    await store.remove('s');
    same(await isThere(store, 's'), false, 'the removed session');
    same([await isThere(store, 's.t1'), await isThere(store, 's2')], [true, true], 'its neighbours');
    await store.remove('s');
    await store.remove('never stored');
    const late = commitAfter(lifeOf('s')[1]?.head, 's');
    await refused(store.commit(late), 'a commit to a removed session', 'TURN_CONFLICT');
  },
};

const anew: StoreCase = {
  name: 'begins a session anew under the id of a removed one, with nothing of it',
  async run({ store }) {
    await live(store, 's', 20);
    const removal = store.remove('s');
    await store.commit(appended(undefined, 's', ['new']));
    await removal;
    same(textsOf(await store.messages('s')), ['new'], 'messages');
    same(await store.archive('s'), [], 'the archive');
    same(await store.seen('s', 'm0'), undefined, 'seen');
    same(await store.outcome(turnOf('s')), undefined, 'outcome');
    const { checkpoint, calls, inbox, reviews } = (await store.load('s')) ?? {};
    same({ checkpoint, calls, inbox, reviews }, { checkpoint: null, calls: [], inbox: [], reviews: [] }, 'load');
  },
};

const aside: StoreCase = {
  name: 'I12: a session in quarantine is found by nobody, and its id can begin anew without meeting the old messages',
  async run({ store }) {
    await store.commit({
      ...appended(undefined, 's', ['old 1', 'old 2']),
      inbox: { put: [inputOf('s', 0)], remove: [] },
    });
    await store.quarantine('s', 'damaged');
    same([await store.head('s'), await store.load('s')], [undefined, undefined], 'head and load');
    same([await store.markers('agent'), await store.waitingInput('agent')], [[], []], 'markers and waitingInput');
    same(await listed(store, 'agent'), [], 'sessions');
    await store.quarantine('s', 'again');
    await store.quarantine('never stored', 'no reason');
    const fresh = appended(undefined, 's', ['new']);
    await store.commit(fresh);
    same(textsOf(await store.messages('s')), ['new'], 'messages of the new session');
    await store.commit(compacted(fresh.head, 's', ['newer'], ['new']));
    await store.quarantine('s', 'a second time');
    await store.commit(appended(undefined, 's', ['newest']));
    same(textsOf(await store.messages('s')), ['newest'], 'messages of the newest session');
    same(await store.archive('s'), [], 'the archive of the newest session');
  },
};

const closes: StoreCase = {
  name: 'finishes what was accepted before it closes, and refuses everything afterwards',
  async run({ store }) {
    await live(store, 'removed', 50);
    const accepted = Promise.allSettled([
      ...texts('s', 50).map((id) => store.commit(appended(undefined, id, ['a']))),
      store.remove('removed'),
    ]);
    await store.close();
    await store.close();
    const failed = (await accepted).filter(({ status }) => status === 'rejected');
    same(failed.length, 0, 'what was accepted and failed');
    const later: Record<string, () => Promise<unknown>> = {
      commit: () => store.commit(appended(undefined, 's', ['a'])),
      load: () => store.load('s'),
      head: () => store.head('s'),
      markers: () => store.markers('agent'),
      acquire: () => store.acquire('r'),
      quarantine: () => store.quarantine('s', 'r'),
      remove: () => store.remove('s'),
      sessions: () => listed(store, 'agent'),
    };
    for (const [name, ask] of Object.entries(later)) await refused(ask(), `${name}, closed`, 'TURN_STORE_CLOSED');
  },
};

export const WHOLE_SESSIONS: readonly StoreCase[] = [lists, removes, anew, aside, closes];
