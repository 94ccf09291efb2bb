// What every store does, whatever it is made of. The same tests run over LevelDB and memory.
import { describe, expect, it } from 'vitest';
import { turnIdOf } from '../../src/core/ids.js';
import type { TurnStore } from '../../src/core/ports.js';
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
} from './fixtures.js';

export interface Place {
  open(): Promise<TurnStore>;
  dispose(): Promise<void>;
}

const STRANGE_IDS = [
  'a',
  'a/1',
  'a!1',
  'a!0000000000!0000000000',
  'a.b',
  'a%2Eb',
  '../../etc',
  '\u0000',
  '\u00e4\u00f6',
  'e\u0301',
  '\u00e9',
  '\u{1F600}',
  'x'.repeat(512),
  '__proto__',
  'constructor',
];

export function describeStore(name: string, place: () => Place): void {
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

  describe(`${name}: commits and reads`, () => {
    it(
      'gives back everything that one commit stored, and nothing of another session',
      withStore(async (store) => {
        const turn = turnOf('s');
        const call = callOf(turn, 0);
        const old = callOf(turnOf('s', 9), 0);
        const first = appended(undefined, 's', ['a', 'b']);
        const head = { ...first.head, dispatched: 1, waitingInput: 2 };
        await store.commit({
          ...first,
          head,
          checkpoint: checkpointOf(head),
          calls: { put: [call, old], remove: [] },
          inbox: { put: [inputOf('s', 1), inputOf('s', 0)], remove: [] },
          seen: [{ messageId: 'm', turnId: turn }],
          outcomes: [outcomeOf(turn)],
          reviews: { put: [reviewOf(call)], remove: [] },
        });
        await store.commit(appended(undefined, 's2', ['x']));

        expect(await store.load('s')).toEqual({
          head,
          messages: [messageOf('a', '0'), messageOf('b', '1')],
          checkpoint: checkpointOf(head),
          calls: [call],
          inbox: [inputOf('s', 0), inputOf('s', 1)],
          reviews: [reviewOf(call)],
        });
        expect(await store.head('s')).toEqual(head);
        expect(await store.messages('s')).toHaveLength(2);
        expect(await store.inbox('s')).toHaveLength(2);
        expect(await store.call(call.callId)).toEqual(call);
        expect(await store.call(old.callId)).toEqual(old);
        expect(await store.seen('s', 'm')).toEqual({ messageId: 'm', turnId: turn });
        expect(await store.outcome(turn)).toEqual(outcomeOf(turn));
        expect(await store.waitingInput('agent')).toEqual(['s']);
        expect(await store.reviews('agent')).toEqual([{ ...reviewOf(call), sessionId: 's' }]);
        expect((await store.markers('agent')).map((marker) => marker.sessionId).sort()).toEqual(['s', 's2']);
      }),
    );

    it(
      'knows nothing of what was never stored',
      withStore(async (store) => {
        expect(await store.head('s')).toBeUndefined();
        expect(await store.load('s')).toBeUndefined();
        expect(await store.messages('s')).toEqual([]);
        expect(await store.inbox('s')).toEqual([]);
        expect(await store.call('c')).toBeUndefined();
        expect(await store.seen('s', 'm')).toBeUndefined();
        expect(await store.outcome('t')).toBeUndefined();
        expect(await store.markers('agent')).toEqual([]);
        expect(await store.waitingInput('agent')).toEqual([]);
        expect(await store.reviews('agent')).toEqual([]);
      }),
    );

    it(
      'removes what a commit removes',
      withStore(async (store) => {
        const call = callOf(turnOf('s'), 0);
        const head = headOf('s', { dispatched: 1 });
        await store.commit({
          ...commitAfter(undefined, 's', head),
          checkpoint: checkpointOf(head),
          calls: { put: [call], remove: [] },
          inbox: { put: [inputOf('s', 0)], remove: [] },
          reviews: { put: [reviewOf(call)], remove: [] },
        });
        await store.commit({
          ...commitAfter(head, 's', { dispatched: 0 }),
          checkpoint: null,
          calls: { put: [], remove: [call.callId] },
          inbox: { put: [], remove: [inputOf('s', 0)] },
          reviews: { put: [], remove: [call.callId] },
        });
        expect(await store.load('s')).toMatchObject({ checkpoint: null, calls: [], inbox: [], reviews: [] });
        expect(await store.waitingInput('agent')).toEqual([]);
        expect(await store.reviews('agent')).toEqual([]);
      }),
    );

    it(
      'keeps the checkpoint that a commit does not mention',
      withStore(async (store) => {
        const first = commitAfter(undefined, 's');
        await store.commit({ ...first, checkpoint: checkpointOf(first.head) });
        await store.commit(commitAfter(first.head, 's'));
        expect((await store.load('s'))?.checkpoint).toEqual(checkpointOf(first.head));
      }),
    );

    it(
      'I14: stores the values as they were when commit was called, whatever happens to the objects afterwards',
      withStore(async (store) => {
        const commit = appended(undefined, 's', ['as it was']);
        const mutable = structuredClone(commit) as unknown as {
          head: { phase: string };
          transcript: { messages: { message: { content: unknown[] } }[] };
        };
        const done = store.commit(mutable as unknown as typeof commit);
        mutable.head.phase = 'failed';
        for (const { message } of mutable.transcript.messages) message.content = [{ type: 'text', text: 'changed' }];
        await done;
        expect((await store.head('s'))?.phase).toBe('awaitingLLM');
        expect(textsOf(await store.messages('s'))).toEqual(['as it was']);
      }),
    );

    it(
      'I14: keeps sessions apart whose ids look like keys, and message ids too',
      withStore(async (store) => {
        await Promise.all(
          STRANGE_IDS.map((id) =>
            store.commit({
              ...appended(undefined, id, [`text of ${id}`]),
              seen: [{ messageId: id, turnId: turnIdOf(id, 'u') }],
              inbox: { put: [inputOf(id, 0)], remove: [] },
              outcomes: [outcomeOf(turnIdOf(id, 'u'))],
            }),
          ),
        );
        for (const id of STRANGE_IDS) {
          expect(textsOf(await store.messages(id))).toEqual([`text of ${id}`]);
          expect(await store.seen(id, id)).toEqual({ messageId: id, turnId: turnIdOf(id, 'u') });
          expect(await store.seen(id, 'another')).toBeUndefined();
          expect(await store.inbox(id)).toEqual([inputOf(id, 0)]);
          expect(await store.outcome(turnIdOf(id, 'u'))).toBeDefined();
        }
        expect((await store.markers('agent')).map((marker) => marker.sessionId).sort()).toEqual(
          [...STRANGE_IDS].sort(),
        );
        expect([...(await store.waitingInput('agent'))].sort()).toEqual([...STRANGE_IDS].sort());
      }),
    );

    it(
      'refuses an id that has no encoding and a commit that contradicts itself, and stores nothing of it',
      withStore(async (store) => {
        const wrong = [
          commitAfter(undefined, ''),
          { ...commitAfter(undefined, 's'), head: headOf('s', { sessionId: 'a\ud800' }) },
          commitAfter(undefined, 'x'.repeat(513)),
          commitAfter(undefined, 's', { revision: 2 }),
          commitAfter(undefined, 's', { count: 1 }),
          commitAfter(undefined, 's', { turnId: null }),
          commitAfter(undefined, 's', { epoch: -1 }),
          { ...appended(undefined, 's', ['a']), head: headOf('s', { count: 3 }) },
          { ...rewritten(undefined, 's', ['a']), head: headOf('s', { count: 2 }) },
          { ...rewritten(undefined, 's', ['a']), head: headOf('s', { count: 1, epoch: 4 }) },
          { ...commitAfter(undefined, 's'), calls: { put: [callOf('other', 0, { turnId: 's.t1' })], remove: [] } },
        ];
        for (const commit of wrong) await expect(store.commit(commit)).rejects.toThrow(TypeError);
        expect(await store.head('s')).toBeUndefined();
        expect(await store.markers('agent')).toEqual([]);
      }),
    );

    it(
      'refuses an append that leaves a gap or overwrites, and a rewrite into an epoch that is not the next',
      withStore(async (store) => {
        const first = appended(undefined, 's', ['a', 'b']);
        await store.commit(first);
        for (const count of [1, 3]) {
          await expect(store.commit(appended({ ...first.head, count }, 's', ['x']))).rejects.toThrow(TypeError);
        }
        for (const epoch of [0, 2]) {
          const commit = rewritten({ ...first.head, epoch: epoch - 1 }, 's', ['x']);
          await expect(store.commit(commit)).rejects.toThrow(TypeError);
        }
        expect(textsOf(await store.messages('s'))).toEqual(['a', 'b']);
      }),
    );

    it(
      'keeps what compactions take out of the list, in its order, and refuses a gap in it',
      withStore(async (store) => {
        const first = appended(undefined, 's', ['a', 'b', 'c']);
        await store.commit(first);
        expect(await store.archive('s')).toEqual([]);
        const second = compacted(first.head, 's', ['ab', 'c'], ['a', 'b']);
        await store.commit(second);
        const third = compacted(second.head, 's', ['abc'], ['c']);
        await store.commit(third);
        expect(textsOf(await store.messages('s'))).toEqual(['abc']);
        expect(textsOf(await store.archive('s'))).toEqual(['a', 'b', 'c']);
        expect(await store.archive('unknown')).toEqual([]);
        const wrong = [
          { ...compacted(third.head, 's', ['x'], ['y']), head: { ...third.head, revision: 4, epoch: 3, archived: 5 } },
          rewritten({ ...third.head, archived: 2 }, 's', ['x']),
          commitAfter({ ...third.head, archived: 4 }, 's'),
          { ...commitAfter({ ...third.head, archived: 4 }, 's'), archive: [messageOf('y')] },
        ];
        for (const commit of wrong) await expect(store.commit(commit)).rejects.toThrow(TypeError);
        expect(textsOf(await store.archive('s'))).toEqual(['a', 'b', 'c']);
      }),
    );

    it(
      'I14: refuses a value that is not JSON with its path, before anything is written',
      withStore(async (store) => {
        const commit = { ...appended(undefined, 's', ['a']), checkpoint: { snapshot: { n: Number.NaN } } as never };
        await expect(store.commit(commit)).rejects.toMatchObject({
          code: 'TURN_INVALID_VALUE',
          message: expect.stringContaining('checkpoint.snapshot.n'),
        });
        expect(await store.head('s')).toBeUndefined();
      }),
    );
  });

  describe(`${name}: markers`, () => {
    it(
      'I2: a session has a marker while its turn is in progress or an outcome is due, and at no other time',
      withStore(async (store) => {
        const turn = turnOf('s');
        const markers = async () => (await store.markers('agent')).map(({ turnId }) => turnId);
        const idle = commitAfter(undefined, 's', { turnId: null, inProgress: false, phase: null });
        await store.commit(idle);
        expect(await markers()).toEqual([]);
        const started = commitAfter(idle.head, 's', { turnId: turn, inProgress: true });
        await store.commit(started);
        expect(await markers()).toEqual([turn]);
        const ended = commitAfter(started.head, 's', { inProgress: false, outcomesDue: [turn] });
        await store.commit(ended);
        expect(await markers()).toEqual([turn]);
        await store.commit(commitAfter(ended.head, 's', { outcomesDue: [] }));
        expect(await markers()).toEqual([]);
      }),
    );

    it(
      'lists the markers of one agent, newest first',
      withStore(async (store) => {
        for (const [id, savedAt] of [
          ['a', 20],
          ['b', 30],
          ['c', 10],
        ] as const) {
          await store.commit({ ...commitAfter(undefined, id), savedAt });
        }
        await store.commit({ ...commitAfter(undefined, 'd', { agent: 'other' }), savedAt: 40 });
        expect((await store.markers('agent')).map(({ sessionId }) => sessionId)).toEqual(['b', 'a', 'c']);
        expect(await store.markers('other')).toEqual([
          { sessionId: 'd', agent: 'other', turnId: turnOf('d'), savedAt: 40 },
        ]);
      }),
    );
  });

  describe(`${name}: revisions and leases`, () => {
    it(
      'I7: of two commits on one base the first wins and the second is a conflict',
      withStore(async (store) => {
        const results = await Promise.allSettled([
          store.commit(appended(undefined, 's', ['first'])),
          store.commit(appended(undefined, 's', ['second'])),
        ]);
        expect(results[0].status).toBe('fulfilled');
        expect(results[1]).toMatchObject({ status: 'rejected', reason: { code: 'TURN_CONFLICT', retryable: false } });
        expect(textsOf(await store.messages('s'))).toEqual(['first']);
      }),
    );

    it(
      'I7: a conflict fails only its own commit, not those of other sessions that wait with it',
      withStore(async (store) => {
        await store.commit(appended(undefined, 'b', ['old']));
        const results = await Promise.allSettled([
          store.commit(appended(undefined, 'a', ['a'])),
          store.commit(appended(undefined, 'b', ['b'])),
          store.commit(appended(undefined, 'c', ['c'])),
        ]);
        expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect(textsOf(await store.messages('b'))).toEqual(['old']);
      }),
    );

    it(
      'stores commits of one session in the order in which they were made, all at once',
      withStore(async (store) => {
        let last = appended(undefined, 's', ['0']);
        const commits = [last];
        for (let i = 1; i < 30; i += 1) {
          last = appended(last.head, 's', [String(i)]);
          commits.push(last);
        }
        await Promise.all(commits.map((commit) => store.commit(commit)));
        expect(textsOf(await store.messages('s'))).toEqual(commits.map((_, i) => String(i)));
      }),
    );

    it(
      'counts a commit that is already durable as done when exactly the same one comes again',
      withStore(async (store) => {
        const commit = appended(undefined, 's', ['a']);
        await store.commit(commit);
        await store.commit(structuredClone(commit));
        expect((await store.head('s'))?.revision).toBe(1);
      }),
    );

    it(
      'I11: two inputs whose heads are equal are not taken for one commit',
      withStore(async (store) => {
        const commit = commitAfter(undefined, 's', { waitingInput: 1 });
        await store.commit({ ...commit, inbox: { put: [inputOf('s', 0)], remove: [] } });
        await expect(store.commit({ ...commit, inbox: { put: [inputOf('s', 1)], remove: [] } })).rejects.toMatchObject({
          code: 'TURN_CONFLICT',
        });
      }),
    );

    it(
      'I7: a route has one holder; its lease is refused once somebody else has a newer one',
      withStore(async (store) => {
        const first = await store.acquire('route');
        if (first === undefined) throw new Error('not acquired');
        expect(await store.acquire('route')).toBeUndefined();
        expect(await store.acquire('another')).toBeDefined();
        await store.commit({ ...commitAfter(undefined, 'a'), lease: first });
        await store.release(first);
        await store.release(first);
        const second = await store.acquire('route');
        if (second === undefined) throw new Error('not acquired');
        expect(second.token).toBeGreaterThan(first.token);
        await store.release(first);
        expect(await store.acquire('route')).toBeUndefined();
        await expect(store.commit({ ...commitAfter(undefined, 'b'), lease: first })).rejects.toMatchObject({
          code: 'TURN_CONFLICT',
        });
        await store.commit({ ...commitAfter(undefined, 'b'), lease: second });
        expect(second.lost.aborted).toBe(false);
        expect(first.lost.aborted).toBe(false);
      }),
    );
  });

  describe(`${name}: quarantine and end`, () => {
    it(
      'I12: a session in quarantine is found by nobody, and its id can begin anew without meeting the old messages',
      withStore(async (store) => {
        await store.commit({
          ...appended(undefined, 's', ['old 1', 'old 2']),
          inbox: { put: [inputOf('s', 0)], remove: [] },
        });
        await store.quarantine('s', 'damaged');
        expect(await store.head('s')).toBeUndefined();
        expect(await store.load('s')).toBeUndefined();
        expect(await store.markers('agent')).toEqual([]);
        expect(await store.waitingInput('agent')).toEqual([]);
        await store.quarantine('s', 'again');
        await store.quarantine('never stored', 'no reason');
        const fresh = appended(undefined, 's', ['new']);
        await store.commit(fresh);
        expect(textsOf(await store.messages('s'))).toEqual(['new']);
        await store.commit(compacted(fresh.head, 's', ['newer'], ['new']));
        await store.quarantine('s', 'a second time');
        await store.commit(appended(undefined, 's', ['newest']));
        expect(textsOf(await store.messages('s'))).toEqual(['newest']);
        expect(await store.archive('s')).toEqual([]);
      }),
    );

    it('finishes what was accepted before it closes, and refuses everything afterwards', async () => {
      const where = place();
      const store = await where.open();
      const commits = Array.from({ length: 50 }, (_, i) => store.commit(appended(undefined, `s${i}`, ['a'])));
      const results = Promise.allSettled(commits);
      await store.close();
      await store.close();
      expect(new Set((await results).map((result) => result.status))).toEqual(new Set(['fulfilled']));
      const closed = { code: 'TURN_STORE_CLOSED' };
      await expect(store.commit(appended(undefined, 's', ['a']))).rejects.toMatchObject(closed);
      await expect(store.load('s')).rejects.toMatchObject(closed);
      await expect(store.head('s')).rejects.toMatchObject(closed);
      await expect(store.markers('agent')).rejects.toMatchObject(closed);
      await expect(store.acquire('r')).rejects.toMatchObject(closed);
      await expect(store.quarantine('s', 'r')).rejects.toMatchObject(closed);
      await where.dispose();
    });
  });
}
