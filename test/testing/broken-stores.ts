// Stores that are wrong in one way each, as adapters have been: the suite has to say in which.
import type { Commit, Lease, TurnStore } from '../../src/core/ports.js';
import { TurnError } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';

export interface BrokenStore {
  /** "a store that ..." */
  readonly fault: string;
  make(): TurnStore;
  /** The test that says what is wrong; others may fail with it. */
  readonly noticedBy: string;
}

/** A right store with some of its methods replaced. */
function broken(fault: string, noticedBy: string, change: (right: TurnStore) => Partial<TurnStore>): BrokenStore {
  const make = () => {
    const right = memoryStore();
    const changes = change(right);
    return new Proxy(right, {
      get(target, name) {
        const own = Reflect.get(changes, name) as unknown;
        if (own !== undefined) return own;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return { fault, make, noticedBy };
}

const pause = () => new Promise((resolve) => setImmediate(resolve));

/** Values go through this text, as in a store that encodes in its own way. */
const throughText = (encode: (commit: Commit) => string) => (right: TurnStore) => ({
  commit: async (commit: Commit) => right.commit({ ...(JSON.parse(encode(commit)) as Commit), lease: commit.lease }),
});

export const BROKEN_STORES: readonly BrokenStore[] = [
  broken(
    'reads the head at another moment than the rest',
    'I3: whoever reads while commits are under way sees one revision whole, never parts of two',
    (right) => ({
      load: async (sessionId) => {
        const head = await right.head(sessionId);
        for (let turn = 0; turn < 20; turn += 1) await pause();
        const records = await right.load(sessionId);
        return records && head ? { ...records, head } : records;
      },
    }),
  ),
  broken(
    'forgets the marker of an ended turn',
    'I2: a session has a marker while its turn is in progress or an outcome is due, and at no other time',
    (right) => {
      const kept = new Map<string, { sessionId: string; agent: string; turnId: string; savedAt: number }>();
      return {
        commit: async (commit) => {
          await right.commit(commit);
          const { sessionId, agent, turnId, inProgress } = commit.head;
          if (inProgress) kept.set(sessionId, { sessionId, agent, turnId: turnId as string, savedAt: commit.savedAt });
        },
        markers: async (agent) => [...kept.values()].filter((marker) => marker.agent === agent),
      };
    },
  ),
  broken(
    'loses the marker of an outcome that is due',
    'I2: a session has a marker while its turn is in progress or an outcome is due, and at no other time',
    (right) => ({
      markers: async (agent) => {
        const found = await right.markers(agent);
        const heads = await Promise.all(found.map(({ sessionId }) => right.head(sessionId)));
        return found.filter((_, index) => heads[index]?.inProgress === true);
      },
    }),
  ),
  broken('lists markers oldest first', 'lists the markers of one agent, newest first', (right) => ({
    markers: async (agent) => [...(await right.markers(agent))].reverse(),
  })),
  broken(
    'does not look at revisions',
    'I7: of many commits on one base exactly one wins, and the others are conflicts',
    (right) => ({
      commit: async (commit) => {
        try {
          await right.commit(commit);
        } catch (error) {
          if ((error as TurnError).code !== 'TURN_CONFLICT') throw error;
        }
      },
    }),
  ),
  broken(
    'takes every commit that comes again for the same one',
    'I11: two inputs whose heads are equal are not taken for one commit',
    (right) => {
      const heads = new Set<string>();
      return {
        commit: async (commit) => {
          const text = JSON.stringify(commit.head);
          if (!heads.has(text)) await right.commit(commit);
          heads.add(text);
        },
      };
    },
  ),
  broken(
    'does not know a commit that it has stored already',
    'counts a commit that is already durable as done when exactly the same one comes again',
    (right) => ({
      commit: async (commit) => {
        const head = await right.head(commit.head.sessionId);
        if ((head?.revision ?? 0) !== commit.base) throw new TurnError('TURN_CONFLICT', 'another base');
        await right.commit(commit);
      },
    }),
  ),
  broken(
    'does not look at the fencing token',
    'I7: a route has one holder, and its lease is refused once somebody else has a newer one',
    (right) => ({ commit: (commit) => right.commit({ ...commit, lease: null }) }),
  ),
  broken(
    'gives one route twice',
    'I7: of many who ask for a route at the same time one gets it, and after its release one more',
    () => {
      const held = new Map<string, Lease>();
      let token = 0;
      return {
        acquire: async (routeKey) => {
          if (held.has(routeKey)) return undefined;
          // Asked, and only then written down: others ask meanwhile.
          await pause();
          token += 1;
          const lease = { routeKey, token, lost: new AbortController().signal };
          held.set(routeKey, lease);
          return lease;
        },
        release: async ({ routeKey }) => void held.delete(routeKey),
      };
    },
  ),
  broken(
    'keeps values by reference',
    'I14: stores the values as they were when commit was called, whatever happens to the objects afterwards',
    (right) => ({
      commit: async (commit) => {
        await pause();
        await right.commit(commit);
      },
    }),
  ),
  broken(
    'takes falsy values for missing ones',
    'I14: gives back the values that stores are known to change, in every place that takes a value',
    (right) => ({
      commit: (commit) => right.commit({ ...commit, head: { ...commit.head, context: commit.head.context || null } }),
    }),
  ),
  broken(
    'stores what JSON.stringify makes of a value',
    'I14: refuses a value that is not JSON with its path, before anything is written (case C25)',
    throughText((commit) => JSON.stringify(commit, (_, value) => (typeof value === 'bigint' ? Number(value) : value))),
  ),
  broken(
    'makes one id of two that look alike',
    'I14: keeps sessions and messages apart however strange their ids are',
    (right) => ({
      seen: async (sessionId, messageId) => right.seen(sessionId, messageId.replace(/another$/, '')),
    }),
  ),
  broken(
    'hands out an inbox in the order of writing',
    'gives back everything that one commit stored, and nothing of another session',
    (right) => ({
      load: async (sessionId) => {
        const records = await right.load(sessionId);
        return records && { ...records, inbox: [...records.inbox].reverse() };
      },
    }),
  ),
  broken('forgets the checkpoint with every commit', 'keeps what a commit does not mention', (right) => ({
    commit: (commit) => right.commit({ checkpoint: null, ...commit }),
  })),
  broken('removes a session and leaves its outcomes', 'removes a session for every reader, and no other', (right) => {
    const outcomes = new Map<string, NonNullable<Awaited<ReturnType<TurnStore['outcome']>>>>();
    return {
      commit: async (commit) => {
        await right.commit(commit);
        for (const outcome of commit.outcomes ?? []) outcomes.set(outcome.turnId, outcome);
      },
      outcome: async (turnId) => outcomes.get(turnId),
    };
  }),
  broken(
    'keeps an old list in front of a new one',
    'I3: after appends and rewrites in any order the list is the last one, with one record for each message',
    (right) => {
      const longest = new Map<string, Awaited<ReturnType<TurnStore['messages']>>>();
      return {
        messages: async (sessionId) => {
          const now = await right.messages(sessionId);
          const before = longest.get(sessionId) ?? [];
          // A rewrite overwrites the messages it has, and leaves those behind them.
          const found = [...now, ...before.slice(now.length)];
          longest.set(sessionId, found);
          return found;
        },
      };
    },
  ),
  broken(
    'drops what waits when it closes',
    'finishes what was accepted before it closes, and refuses everything afterwards',
    (right) => {
      let closed = false;
      return {
        commit: async (commit) => {
          await pause();
          if (closed) throw new TurnError('TURN_STORE_CLOSED', 'closed');
          await right.commit(commit);
        },
        close: async () => {
          closed = true;
          await right.close();
        },
      };
    },
  ),
];
