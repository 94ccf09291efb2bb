/**
 * Owns the tests of what commits store and reads give: whole, in order, as it was given, and nothing of a neighbour.
 * Must not know a store.
 */
import type { Commit, TurnStore } from '../../core/ports.js';
import { isTrue, refused, same, sameNames } from './expectations.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  headOf,
  inputOf,
  messageOf,
  outcomeOf,
  reviewOf,
  rewritten,
  textsOf,
  turnOf,
} from './made-records.js';
import type { StoreCase } from './store-case.js';

/** One record of every kind. `old` is a call of an earlier turn. */
function everything() {
  const turn = turnOf('s');
  const call = callOf(turn, 0);
  const old = callOf(turnOf('s', 9), 0);
  const first = appended(undefined, 's', ['a', 'b']);
  const head = { ...first.head, dispatched: 1, waitingInput: 2 };
  const commit: Commit = {
    ...first,
    head,
    checkpoint: checkpointOf(head),
    calls: { put: [call, old], remove: [] },
    inbox: { put: [inputOf('s', 1), inputOf('s', 0)], remove: [] },
    seen: [{ messageId: 'm', turnId: turn }],
    outcomes: [outcomeOf(turn)],
    reviews: { put: [reviewOf(call)], remove: [] },
  };
  return { turn, call, old, head, commit };
}

const stores: StoreCase = {
  name: 'gives back everything that one commit stored, and nothing of another session',
  async run({ store }) {
    const { turn, call, old, head, commit } = everything();
    await store.commit(commit);
    await store.commit(appended(undefined, 's2', ['x']));
    const loaded = {
      head,
      messages: [messageOf('a', '0'), messageOf('b', '1')],
      checkpoint: checkpointOf(head),
      calls: [call],
      inbox: [inputOf('s', 0), inputOf('s', 1)],
      reviews: [reviewOf(call)],
    };
    same(await store.load('s'), loaded, 'load');
    same(await store.head('s'), head, 'head');
    same(await store.messages('s'), loaded.messages, 'messages');
    same(await store.inbox('s'), loaded.inbox, 'inbox, in the order of acceptance');
    same(await store.call(call.callId), call, 'a call of the latest turn');
    same(await store.call(old.callId), old, 'a call of an earlier turn');
    same(await store.callsOf(turn), [call], 'the journal of the latest turn');
    same(await store.callsOf(old.turnId), [old], 'the journal of an earlier turn');
    same(await store.callsOf(turnOf('s', 8)), [], 'the journal of another turn');
    same(await store.seen('s', 'm'), { messageId: 'm', turnId: turn }, 'seen');
    same(await store.seen('s2', 'm'), undefined, 'seen of another session');
    same(await store.outcome(turn), outcomeOf(turn), 'outcome');
    same(await store.waitingInput('agent'), ['s'], 'waitingInput');
    same(await store.waitingInput('other'), [], 'waitingInput of another agent');
    same(await store.reviews('agent'), [{ ...reviewOf(call), sessionId: 's' }], 'reviews');
    same(await store.reviews('agent', 's'), [{ ...reviewOf(call), sessionId: 's' }], 'reviews of its session');
    same(await store.reviews('agent', 'another'), [], 'reviews of another session');
    same(await store.reviews('other'), [], 'reviews of another agent');
    same(await store.reviews('other', 's'), [], 'reviews of its session for another agent');
    sameNames(await markedBy(store), ['s', 's2'], 'markers');
  },
};

const markedBy = async (store: TurnStore) => (await store.markers('agent')).map(({ sessionId }) => sessionId);

const unknown: StoreCase = {
  name: 'knows nothing of what was never stored',
  async run({ store }) {
    same(await store.head('s'), undefined, 'head');
    same(await store.load('s'), undefined, 'load');
    same(await store.messages('s'), [], 'messages');
    same(await store.archive('s'), [], 'archive');
    same(await store.inbox('s'), [], 'inbox');
    same(await store.call('c'), undefined, 'call');
    same(await store.callsOf('s.t'), [], 'the journal of a turn');
    same(await store.seen('s', 'm'), undefined, 'seen');
    same(await store.outcome('t'), undefined, 'outcome');
    same(await store.markers('agent'), [], 'markers');
    same(await store.waitingInput('agent'), [], 'waitingInput');
    same(await store.reviews('agent'), [], 'reviews');
  },
};

const removes: StoreCase = {
  name: 'removes what a commit removes',
  async run({ store }) {
    const { call, head, commit } = everything();
    await store.commit(commit);
    await store.commit({
      ...commitAfter(head, 's', { dispatched: 0, waitingInput: 0 }),
      checkpoint: null,
      calls: { put: [], remove: [call.callId] },
      inbox: { put: [], remove: [inputOf('s', 0), inputOf('s', 1)] },
      reviews: { put: [], remove: [call.callId] },
    });
    const { checkpoint, calls, inbox, reviews } = (await store.load('s')) ?? {};
    same({ checkpoint, calls, inbox, reviews }, { checkpoint: null, calls: [], inbox: [], reviews: [] }, 'load');
    same(await store.call(call.callId), undefined, 'the call');
    same(await store.waitingInput('agent'), [], 'waitingInput');
    same(await store.reviews('agent'), [], 'reviews');
  },
};

const keeps: StoreCase = {
  name: 'keeps what a commit does not mention',
  async run({ store }) {
    const { head, commit, call } = everything();
    await store.commit(commit);
    await store.commit(commitAfter(head, 's'));
    const loaded = await store.load('s');
    same(loaded?.checkpoint, checkpointOf(head), 'the checkpoint');
    same(loaded?.calls, [call], 'the calls');
    same(textsOf(loaded?.messages ?? []), ['a', 'b'], 'the messages');
    same(loaded?.inbox.length, 2, 'inputs');
    same(loaded?.reviews.length, 1, 'reviews');
  },
};

const copies: StoreCase = {
  name: 'I14: stores the values as they were when commit was called, whatever happens to the objects afterwards',
  async run({ store }) {
    const commit = appended(undefined, 's', ['as it was']);
    const mutable = structuredClone(commit) as unknown as {
      head: { phase: string };
      transcript: { messages: { message: { content: unknown[] } }[] };
    };
    const done = store.commit(mutable as unknown as Commit);
    mutable.head.phase = 'failed';
    for (const { message } of mutable.transcript.messages) message.content = [{ type: 'text', text: 'changed' }];
    await done;
    same((await store.head('s'))?.phase, 'awaitingLLM', 'the phase');
    same(textsOf(await store.messages('s')), ['as it was'], 'the message');
    // What a reader does to its copy is its own business, too.
    const read = (await store.head('s')) as { phase: string };
    read.phase = 'failed';
    same((await store.head('s'))?.phase, 'awaitingLLM', 'the phase, after a reader changed its copy');
  },
};

const contradictions: StoreCase = {
  name: 'refuses a commit that contradicts itself, and stores nothing of it',
  async run({ store }) {
    const wrong: readonly (readonly [string, Commit])[] = [
      ['a revision that is not base + 1', commitAfter(undefined, 's', { revision: 2 })],
      ['a count without messages', commitAfter(undefined, 's', { count: 1 })],
      ['in progress without a turn', commitAfter(undefined, 's', { turnId: null })],
      ['a negative epoch', commitAfter(undefined, 's', { epoch: -1 })],
      ['a count that is too high', { ...appended(undefined, 's', ['a']), head: headOf('s', { count: 3 }) }],
      ['a count that a list does not have', { ...rewritten(undefined, 's', ['a']), head: headOf('s', { count: 2 }) }],
      [
        'an epoch that is not that of the list',
        { ...rewritten(undefined, 's', ['a']), head: headOf('s', { count: 1, epoch: 4 }) },
      ],
      [
        'a call whose id is not of its turn',
        { ...commitAfter(undefined, 's'), calls: { put: [callOf('other', 0, { turnId: 's.t1' })], remove: [] } },
      ],
    ];
    for (const [what, commit] of wrong) await refused(store.commit(commit), what);
    same(await store.head('s'), undefined, 'head');
    same(await store.markers('agent'), [], 'markers');
  },
};

const gaps: StoreCase = {
  name: 'I3: refuses an append that leaves a gap or overwrites, and a rewrite into an epoch that is not the next',
  async run({ store }) {
    const first = appended(undefined, 's', ['a', 'b']);
    await store.commit(first);
    for (const count of [1, 3]) {
      await refused(store.commit(appended({ ...first.head, count }, 's', ['x'])), `an append behind message ${count}`);
    }
    for (const epoch of [0, 2]) {
      const commit = rewritten({ ...first.head, epoch: epoch - 1 }, 's', ['x']);
      await refused(store.commit(commit), `a rewrite of epoch 0 into epoch ${epoch}`);
    }
    same(textsOf(await store.messages('s')), ['a', 'b'], 'messages');
  },
};

const archives: StoreCase = {
  name: 'I3: keeps what compactions take out of the list, in its order, and refuses a gap in it',
  async run({ store }) {
    const first = appended(undefined, 's', ['a', 'b', 'c']);
    await store.commit(first);
    same(await store.archive('s'), [], 'the archive before a compaction');
    const second = compacted(first.head, 's', ['ab', 'c'], ['a', 'b']);
    await store.commit(second);
    const third = compacted(second.head, 's', ['abc'], ['c']);
    await store.commit(third);
    same(textsOf(await store.messages('s')), ['abc'], 'messages');
    same(textsOf(await store.archive('s')), ['a', 'b', 'c'], 'the archive');
    const gapped = { ...third.head, archived: 4 };
    await refused(store.commit(rewritten({ ...third.head, archived: 2 }, 's', ['x'])), 'a shorter archive');
    await refused(store.commit(commitAfter(gapped, 's')), 'an archive that grew by itself');
    await refused(
      store.commit({ ...commitAfter(gapped, 's'), archive: [messageOf('y')] }),
      'an archive without a list',
    );
    same(textsOf(await store.archive('s')), ['a', 'b', 'c'], 'the archive after what was refused');
  },
};

const lists: StoreCase = {
  name: 'I3: after appends and rewrites in any order the list is the last one, with one record for each message',
  async run({ store, random }) {
    let last = appended(undefined, 's', ['first']);
    let texts = ['first'];
    await store.commit(last);
    for (let step = 0; step < 25; step += 1) {
      const added = Array.from({ length: random.below(4) }, (_, index) => `${step}.${index}`);
      const rewrites = random.below(3) === 0;
      last = rewrites ? rewritten(last.head, 's', added) : appended(last.head, 's', added);
      texts = rewrites ? added : [...texts, ...added];
      await store.commit(last);
      const found = await store.messages('s');
      same(textsOf(found), texts, `messages after step ${step}`);
      isTrue(
        found.every(({ meta }, index) => meta.id === String(index)),
        `the metadata after step ${step} is another's`,
      );
    }
  },
};

export const COMMITS: readonly StoreCase[] = [
  stores,
  unknown,
  removes,
  keeps,
  copies,
  contradictions,
  gaps,
  archives,
  lists,
];
