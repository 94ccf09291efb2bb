/**
 * Owns the tests of what is large, of readers beside writers, and of opening again: a commit is whole or not there,
 * whatever its size and whoever looks at it meanwhile.
 * Must not know a store.
 */
import type { TurnStore } from '../../core/ports.js';
import type { Head } from '../../core/records.js';
import { isTrue, same, sameNames } from './expectations.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  inputOf,
  outcomeOf,
  rewritten,
  textsOf,
  turnOf,
} from './made-records.js';
import type { StoreCase } from './store-case.js';
import { texts } from './whole-sessions.js';

const MANY = 1100;

const many: StoreCase = {
  name: 'stores lists of many messages, appended, rewritten and archived, in their order',
  async run({ store }) {
    const first = appended(undefined, 's', texts('a', MANY));
    await store.commit(first);
    same(textsOf(await store.messages('s')), texts('a', MANY), 'messages after the append');
    const second = compacted(first.head, 's', texts('b', MANY - 1), texts('a', MANY));
    await store.commit(second);
    same(textsOf(await store.messages('s')), texts('b', MANY - 1), 'messages after the rewrite');
    same(textsOf(await store.archive('s')), texts('a', MANY), 'the archive');
    const third = rewritten(second.head, 's', ['c']);
    await store.commit(third);
    await store.commit(appended(third.head, 's', ['d']));
    same(textsOf(await store.messages('s')), ['c', 'd'], 'messages after the last');
  },
};

const large: StoreCase = {
  name: 'stores values of megabytes beside small ones (case C24)',
  async run({ store }) {
    const big = '\u00e4"\n\u0000x'.repeat(400_000);
    const output = { type: 'text', value: big } as const;
    const call = callOf(turnOf('s'), 0, { state: 'succeeded', settledAt: 2, output });
    const commit = appended(undefined, 's', [big, 'small']);
    const head = { ...commit.head, dispatched: 1, settled: 1 };
    await store.commit({ ...commit, head, calls: { put: [call], remove: [] } });
    isTrue(textsOf(await store.messages('s'))[0] === big, 'the large message is another one');
    same(textsOf(await store.messages('s'))[1], 'small', 'the small message');
    isTrue((await store.call(call.callId))?.output?.type === 'text', 'the large output is gone');
    same(await store.call(call.callId), call, 'the call with the large output');
  },
};

/** Everything in it belongs to one revision: each commit of `writes` puts its revision into all of its parts. */
async function isWhole(store: TurnStore): Promise<number> {
  const records = await store.load('s');
  if (records === undefined) return 0;
  const { head, messages, checkpoint, calls, inbox } = records;
  const { revision } = head;
  same(messages.length, head.count, `messages of revision ${revision}`);
  same((checkpoint as { revision: number } | null)?.revision, revision, 'the revision of the checkpoint');
  same(calls.length, head.dispatched, `calls of revision ${revision}`);
  same(inbox.length, head.waitingInput, `inputs of revision ${revision}`);
  const expected = `revision ${revision}`;
  isTrue(textsOf(messages).at(-1) === expected, `the last message is not that of revision ${revision}`);
  return revision;
}

function write(head: Head | undefined, revision: number) {
  const rewrites = revision % 5 === 0;
  const listed = rewrites ? [...texts('m', 30), `revision ${revision}`] : [`revision ${revision}`];
  const commit = rewrites ? rewritten(head, 's', listed) : appended(head, 's', listed);
  const next = { ...commit.head, dispatched: revision, waitingInput: revision % 2 };
  const input = inputOf('s', 0);
  return {
    ...commit,
    head: next,
    checkpoint: checkpointOf(next),
    calls: { put: [callOf(turnOf('s'), revision)], remove: [] },
    inbox: revision % 2 === 1 ? { put: [input], remove: [] } : { put: [], remove: [input] },
  };
}

const readers: StoreCase = {
  name: 'I3: whoever reads while commits are under way sees one revision whole, never parts of two',
  async run({ store }) {
    let head: Head | undefined;
    let writing = true;
    const seen: number[] = [];
    const reader = async () => {
      while (writing) {
        seen.push(await isWhole(store));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const reading = [reader(), reader(), reader()];
    // A reader that fails shall end the test, and not only the reader.
    reading.forEach((read) => {
      read.catch(() => undefined);
    });
    for (let revision = 1; revision <= 40; revision += 1) {
      const commit = write(head, revision);
      await Promise.all([store.commit(commit), isWhole(store)]);
      // A store in memory may never wait: then nobody else would have a turn.
      await new Promise((resolve) => setImmediate(resolve));
      head = commit.head;
      same((await store.head('s'))?.revision, revision, 'what a reader sees behind its own commit');
    }
    writing = false;
    await Promise.all(reading);
    isTrue(seen.length > 0, 'nobody read');
    same(await isWhole(store), 40, 'the last revision');
  },
};

const reopened: StoreCase = {
  name: 'has everything that was committed when it is opened again',
  reopens: true,
  async run({ store, reopen }) {
    const turn = turnOf('s');
    const call = callOf(turn, 0);
    const first = appended(undefined, 's', texts('a', 5));
    await store.commit(first);
    const second = compacted(first.head, 's', ['b'], texts('a', 5));
    const head = { ...second.head, dispatched: 1, waitingInput: 1, outcomesDue: [turnOf('s', 9)] };
    await store.commit({
      ...second,
      head,
      checkpoint: checkpointOf(head),
      calls: { put: [call], remove: [] },
      inbox: { put: [inputOf('s', 0)], remove: [] },
      seen: [{ messageId: 'm', turnId: turn }],
      outcomes: [outcomeOf(turn)],
    });
    await store.commit(commitAfter(undefined, 'at rest', { inProgress: false }));
    const before = [await store.load('s'), await store.archive('s'), await store.markers('agent')];
    const again = await reopen();
    same([await again.load('s'), await again.archive('s'), await again.markers('agent')], before, 'what is stored');
    same(await again.seen('s', 'm'), { messageId: 'm', turnId: turn }, 'seen');
    same(await again.outcome(turn), outcomeOf(turn), 'outcome');
    same(await again.waitingInput('agent'), ['s'], 'waitingInput');
    const next = appended(head, 's', ['c']);
    await again.commit(next);
    same(textsOf(await again.messages('s')), ['b', 'c'], 'messages after the next commit');
    sameNames(
      (await again.markers('agent')).map(({ sessionId }) => sessionId),
      ['s'],
      'markers',
    );
  },
};

const fencedAgain: StoreCase = {
  name: 'I7: gives a route again when it is opened again, and still refuses a commit on an old base',
  reopens: true,
  async run({ store, reopen }) {
    const lease = await store.acquire('s');
    const first = appended(undefined, 's', ['a'], lease === undefined ? {} : { lease });
    await store.commit(first);
    if (lease !== undefined) await store.release(lease);
    const again = await reopen();
    const newer = await again.acquire('s');
    isTrue(newer !== undefined, 'the route is not given');
    const codes = await again.commit(commitAfter(undefined, 's')).catch((error) => error?.code);
    same(codes, 'TURN_CONFLICT', 'a commit on an old base');
    await again.commit(appended(first.head, 's', ['b'], newer === undefined ? {} : { lease: newer }));
    same(textsOf(await again.messages('s')), ['a', 'b'], 'messages');
  },
};

export const SIZES: readonly StoreCase[] = [many, large, readers, reopened, fencedAgain];
