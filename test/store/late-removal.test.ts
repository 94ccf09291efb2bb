// More removed calls than a batch takes: no batch grows with them, and a crash between the batches harms nothing.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Commit } from '../../src/core/ports.js';
import type { CallRecord, Head } from '../../src/core/records.js';
import { checkRecords } from '../../src/store/check.js';
import { PART_BYTES } from '../../src/store/parts.js';
import type { LevelTurnStore } from '../../src/store/store.js';
import { BATCH_OPS, Tables } from '../../src/store/tables.js';
import { appended, callOf, commitAfter, rewritten, turnOf } from './fixtures.js';
import { everything, expectNoGarbage, inWorld, partsIn, WORLDS, type World } from './world.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const ids = (calls: readonly CallRecord[]): readonly string[] => calls.map(({ callId }) => callId);
const callsIn = async (world: World): Promise<number> =>
  (await world.inspect(everything)).filter(({ kind }) => kind === 'call').length;

/** A session whose turns have made so many calls each; `changed` makes the last one of all of them another. */
async function filled(store: LevelTurnStore, turns: number, each: number, changed: Partial<CallRecord> = {}) {
  const calls = Array.from({ length: turns * each }, (_, n) =>
    callOf(turnOf('s', Math.floor(n / each)), n % each, n === turns * each - 1 ? changed : {}),
  );
  const first = appended(undefined, 's', ['a', 'b', 'c']);
  await store.commit(first);
  let { head } = first;
  for (let turn = 0; turn < turns; turn += 1) {
    const put = calls.slice(turn * each, (turn + 1) * each);
    const dispatched = put.filter(({ dispatch }) => dispatch > 0).length;
    const settled = put.filter(({ state }) => state === 'succeeded' || state === 'failed').length;
    const counts = { turnId: turnOf('s', turn), dispatched, settled };
    const commit = commitAfter(head, 's', counts, { calls: { put, remove: [] } });
    await store.commit(commit);
    ({ head } = commit);
  }
  return { head, calls };
}

/** The list goes back to its first message, where another turn begins. */
function rewound(head: Head, calls: readonly CallRecord[]): Commit {
  const commit = rewritten(head, 's', ['a'], { calls: { put: [], remove: ids(calls) } });
  return { ...commit, head: { ...commit.head, turnId: turnOf('s', 99), dispatched: 0, settled: 0 } };
}

async function expectSound(world: World): Promise<void> {
  const found: unknown[] = [];
  await world.inspect(async (tables) => {
    for await (const disagreement of checkRecords(tables)) found.push(disagreement);
  });
  expect(found).toEqual([]);
}

describe.each(WORLDS)('in %s, more removed calls than a batch takes', (name) => {
  it('go in batches that are no larger for it, with their parts, before the store is closed', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const output = { type: 'text', value: 'x'.repeat(PART_BYTES * 2) } as const;
      const { head, calls } = await filled(store, 4, 300, { state: 'succeeded', settledAt: 2, output });
      expect((await world.inspect(partsIn)).length).toBeGreaterThan(1);
      const write = vi.spyOn(Tables.prototype, 'write');
      await store.commit(rewound(head, calls));
      await store.close();
      expect(Math.max(...write.mock.calls.map(([ops]) => ops.length))).toBeLessThanOrEqual(BATCH_OPS);
      expect(await callsIn(world)).toBe(0);
      expect(await world.inspect(partsIn)).toEqual([]);
      await expectSound(world);
    });
  });

  it('leave a sound session wherever a crash comes between, and what is left goes with it', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const { head, calls } = await filled(store, 3, 300);
      const before = world.batches;
      world.fate = (n) => (n <= before + 1 ? 'pass' : 'fail');
      await store.commit(rewound(head, calls));
      await world.crash();
      expect(await callsIn(world)).toBe(900 - 250);
      await expectSound(world);
      const next = await world.open();
      expect(await next.load('s')).toMatchObject({ head: { turnId: turnOf('s', 99) }, calls: [] });
      await expectNoGarbage(world);
      await next.remove('s');
      expect((await world.inspect(everything)).filter(({ kind }) => kind !== 'meta')).toEqual([]);
      await next.close();
    });
  });

  it('go with the commit where the head counts them', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const { head, calls } = await filled(store, 1, 300);
      const before = world.batches;
      world.fate = (n) => (n <= before + 1 ? 'pass' : 'fail');
      const change = { calls: { put: [], remove: ids(calls) } };
      await store.commit(commitAfter(head, 's', { dispatched: 0, settled: 0 }, change));
      await world.crash();
      expect(await callsIn(world)).toBe(0);
      await expectSound(world);
    });
  });

  it('stay where the same commit stores them again', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const { head, calls } = await filled(store, 2, 300);
      const again = calls[299] as CallRecord;
      await store.commit(commitAfter(head, 's', {}, { calls: { put: [again], remove: ids(calls.slice(0, 300)) } }));
      await store.close();
      const next = await world.open();
      expect(await next.callsOf(turnOf('s', 0))).toEqual([again]);
      await next.close();
    });
  });
});
