/**
 * Owns the test of random histories: commits of every kind in several sessions, many at a time, against a model that is
 * nothing but lists in memory. Whatever happened, every reader says what the model says (I2, I3).
 * Must not know a store.
 */
import type { Commit, TurnStore } from '../../core/ports.js';
import type { CallRecord, Head, InboxRecord } from '../../core/records.js';
import type { Random } from '../random.js';
import { same, sameNames } from './expectations.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  inputOf,
  reviewOf,
  rewritten,
  textsOf,
  turnOf,
} from './made-records.js';
import type { StoreCase } from './store-case.js';
import { listed } from './whole-sessions.js';

interface Session {
  readonly id: string;
  head: Head | undefined;
  texts: readonly string[];
  archive: readonly string[];
  /** The journal of its turn. */
  calls: readonly CallRecord[];
  inbox: readonly InboxRecord[];
  reviews: readonly CallRecord[];
}

const CHANGES = [
  'append',
  'append',
  'rewrite',
  'compact',
  'begin',
  'end',
  'owe',
  'tell',
  'dispatch',
  'settle',
  'accept',
  'join',
  'doubt',
  'review',
  'remove',
] as const;
type Change = (typeof CHANGES)[number];

const emptied = (id: string): Session => ({
  id,
  head: undefined,
  texts: [],
  archive: [],
  calls: [],
  inbox: [],
  reviews: [],
});

/** What a change does to the list of messages. */
function listChange(session: Session, change: Change, fresh: readonly string[]): Commit {
  const { id, head, texts, archive } = session;
  if (change === 'append') {
    session.texts = [...texts, ...fresh];
    return appended(head, id, fresh);
  }
  session.texts = fresh;
  if (change === 'rewrite') return rewritten(head, id, fresh);
  session.archive = [...archive, ...texts];
  return compacted(head, id, fresh, texts);
}

/** What a change does to the head alone. */
function headChange({ id, head }: Session, change: Change): Commit {
  const turns = head?.outcomesDue ?? [];
  if (change === 'end') return commitAfter(head, id, { inProgress: false });
  if (change === 'owe')
    return commitAfter(head, id, { inProgress: false, outcomesDue: [turnOf(id, 1), turnOf(id, 2)] });
  if (change === 'tell') return commitAfter(head, id, { outcomesDue: turns.slice(1) });
  const turnId = turnOf(id, 100 + (head?.revision ?? 0));
  return commitAfter(head, id, { inProgress: true, turnId, dispatched: 0, settled: 0 });
}

/** What a change does to journal, inbox and reviews. */
function recordChange(session: Session, change: Change): Commit {
  const { id, head, calls, inbox, reviews } = session;
  const next = commitAfter(head, id);
  const turn = next.head.turnId as string;
  if (change === 'dispatch') {
    session.calls = [...calls, callOf(turn, calls.length)];
    const put = session.calls.slice(-1);
    return { ...next, head: { ...next.head, dispatched: session.calls.length }, calls: { put, remove: [] } };
  }
  if (change === 'settle') {
    const settled = calls.map((call) => ({ ...call, state: 'succeeded', settledAt: 2 }) as const);
    session.calls = settled;
    return { ...next, head: { ...next.head, settled: settled.length }, calls: { put: settled, remove: [] } };
  }
  if (change === 'accept') {
    session.inbox = [...inbox, inputOf(id, next.head.revision)];
    const put = session.inbox.slice(-1);
    return { ...next, head: { ...next.head, waitingInput: session.inbox.length }, inbox: { put, remove: [] } };
  }
  if (change === 'join') {
    session.inbox = [];
    const seen = inbox.map(({ messageId }) => ({ messageId, turnId: turn }));
    return { ...next, head: { ...next.head, waitingInput: 0 }, inbox: { put: [], remove: inbox }, seen };
  }
  if (change === 'doubt') {
    session.reviews = [callOf(turnOf(id, 5), next.head.revision), ...reviews];
    const put = session.reviews.slice(0, 1).map(reviewOf);
    return { ...next, reviews: { put, remove: [] } };
  }
  session.reviews = [];
  return { ...next, reviews: { put: [], remove: reviews.map(({ callId }) => callId) } };
}

/** Moves the model on; what the store has to do is told, so that all of it can be asked for at the same time. */
function apply(session: Session, change: Change, fresh: readonly string[]): (store: TurnStore) => Promise<void> {
  if (change === 'remove') {
    Object.assign(session, emptied(session.id));
    return (store) => store.remove(session.id);
  }
  const commit = commitOf(session, change, fresh);
  // A new turn has a new journal; the calls of the one before stay readable by id only.
  if (commit.head.turnId !== session.head?.turnId) session.calls = change === 'dispatch' ? session.calls : [];
  session.head = commit.head;
  return (store) => store.commit({ ...commit, checkpoint: checkpointOf(commit.head) });
}

function commitOf(session: Session, change: Change, fresh: readonly string[]): Commit {
  if (change === 'append' || change === 'rewrite' || change === 'compact') return listChange(session, change, fresh);
  if (change === 'begin' || change === 'end' || change === 'owe' || change === 'tell')
    return headChange(session, change);
  return recordChange(session, change);
}

async function expectModel(store: TurnStore, sessions: readonly Session[], when: string): Promise<void> {
  for (const { id, head, texts, archive, calls, inbox, reviews } of sessions) {
    const records = await store.load(id);
    same(records?.head, head, `head of ${id} ${when}`);
    same(textsOf(records?.messages ?? []), texts, `messages of ${id} ${when}`);
    same(textsOf(await store.archive(id)), archive, `archive of ${id} ${when}`);
    same(records?.calls ?? [], head === undefined ? [] : calls, `calls of ${id} ${when}`);
    same(records?.inbox ?? [], inbox, `inbox of ${id} ${when}`);
    sameNames(
      (records?.reviews ?? []).map(({ callId }) => callId),
      reviews.map(({ callId }) => callId),
      `reviews of ${id} ${when}`,
    );
    same(records?.checkpoint, head === undefined ? undefined : checkpointOf(head), `checkpoint of ${id} ${when}`);
  }
  const names = (found: readonly Session[]) => found.map(({ id }) => id);
  const there = sessions.filter(({ head }) => head !== undefined);
  sameNames(await listed(store, 'agent'), names(there), `sessions ${when}`);
  const due = there.filter(({ head }) => head?.inProgress === true || (head?.outcomesDue.length ?? 0) > 0);
  const marked = (await store.markers('agent')).map(({ sessionId }) => sessionId);
  sameNames(marked, names(due), `I2: markers ${when}`);
  sameNames(
    await store.waitingInput('agent'),
    names(sessions.filter(({ inbox }) => inbox.length > 0)),
    `waitingInput ${when}`,
  );
}

const IDS = ['a', 'a/1', '\u00e4', 'a!'];
const ROUNDS = 25;

async function play(first: TurnStore, random: Random, reopen: (() => Promise<TurnStore>) | undefined): Promise<void> {
  const sessions = IDS.map(emptied);
  let store = first;
  let written = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const edits = Array.from({ length: 1 + random.below(8) }, () => {
      // Most lists are short; some do not fit into one batch of any store.
      const size = random.below(12) === 0 ? 490 + random.below(60) : random.below(4);
      const fresh = Array.from({ length: size }, () => `${++written}`);
      return apply(random.of(sessions), random.of(CHANGES), fresh);
    });
    await Promise.all(edits.map((edit) => edit(store)));
    await expectModel(store, sessions, `after round ${round}`);
    if (reopen === undefined || random.below(5) > 0) continue;
    store = await reopen();
    await expectModel(store, sessions, `opened again after round ${round}`);
  }
}

const random: StoreCase = {
  name: 'I2, I3: a random history of commits leaves what the model has, after every round',
  run: ({ store, random: draws }) => play(store, draws, undefined),
};

const reopened: StoreCase = {
  name: 'I2, I3: a random history of commits leaves what the model has, also when it is opened again',
  reopens: true,
  run: ({ store, random: draws, reopen }) => play(store, draws, reopen),
};

export const HISTORIES: readonly StoreCase[] = [random, reopened];
