// When `reconcile` may be asked, and what becomes of results that come late.
import { expect, it } from 'vitest';
import { calm, gate, isOpen, never, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, only } from './world.js';

it('reconcile is asked when a call could land no more, and not before (reconcileAfterMs)', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const asked: number[] = [];
  const send = act(() => never(), {
    timeoutMs: MINUTE_MS,
    reconcileAfterMs: 5 * MINUTE_MS,
    reconcile: async (call) => {
      asked.push(world.clock.now() - call.dispatchedAt);
      return { outcome: 'succeeded', output: 'landed' };
    },
  });
  const turn = await world.boot({ tools: { send } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(5 * MINUTE_MS - 1);
  expect(asked).toEqual([]);
  expect(await isOpen(turn.outcome)).toBe(true);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(asked).toEqual([5 * MINUTE_MS]);
});

it('after a restart only what is left of reconcileAfterMs is waited for, counted from the dispatch', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const asked: number[] = [];
  const send = act(() => never(), {
    reconcileAfterMs: 10 * MINUTE_MS,
    reconcile: async (call) => {
      asked.push(world.clock.now() - call.dispatchedAt);
      return { outcome: 'succeeded', output: 'landed' };
    },
  });
  await world.boot({ tools: { send } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.crash();
  await world.advance(4 * MINUTE_MS);
  const turn = only((await world.boot({ tools: { send } }).recover()).resumed);
  await world.advance(6 * MINUTE_MS - 1);
  expect(asked).toEqual([]);
  await world.advance(1);
  await within(turn.outcome);
  expect(asked).toEqual([10 * MINUTE_MS]);
  expect(world.runs).toHaveLength(1);
});

it('when the time has passed while nothing ran, reconcile is asked at once', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const reconcile = async () => ({ outcome: 'succeeded' as const, output: 'landed' });
  const send = act(() => never(), { reconcileAfterMs: 10 * MINUTE_MS, reconcile });
  await world.boot({ tools: { send } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.crash();
  await world.advance(20 * MINUTE_MS);
  const turn = only((await world.boot({ tools: { send } }).recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('a cancel during the wait for reconcile ends the turn, and reconcile is never asked', async () => {
  const world = createWorld();
  world.says(calls('send'));
  let asked = 0;
  const send = act(() => never(), {
    timeoutMs: 1_000,
    reconcileAfterMs: MINUTE_MS,
    reconcile: async () => {
      asked += 1;
      return { outcome: 'unknown' };
    },
  });
  const engine = world.boot({ tools: { send } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  await turn.cancel();
  await world.advance(10 * MINUTE_MS);
  expect(asked).toBe(0);
  expect(await engine.reviews()).toHaveLength(1);
});

it('a result that comes back while reconcile waits settles the call, and reconcile is not asked any more', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const late = gate<string>();
  let asked = 0;
  const send = act(() => late.opened, {
    timeoutMs: 1_000,
    reconcileAfterMs: MINUTE_MS,
    reconcile: async () => {
      asked += 1;
      return { outcome: 'failed', error: 'not found' };
    },
  });
  const turn = await world.boot({ tools: { send } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  late.open('landed after all');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  await world.advance(10 * MINUTE_MS);
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'landed after all' }]);
  expect(asked).toBe(0);
});

it('a late result of one call is not taken for its twin: it lands on its own call and dispatch', async () => {
  const world = createWorld();
  world.says(calls(['send', { n: 1 }], ['send', { n: 1 }]));
  const results = [gate<string>(), gate<string>()];
  let nth = 0;
  const send = act(() => (results[nth++] as (typeof results)[0]).opened, { timeoutMs: MINUTE_MS });
  const engine = world.boot({ tools: { send } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.advance(MINUTE_MS);
  expect(await engine.reviews()).toHaveLength(2);
  results[1]?.open('second');
  await until(async () => (await engine.reviews()).length === 1, 'one is settled');
  await calm();
  expect((await world.calls()).map((call) => call.state)).toEqual(['inDoubt', 'succeeded']);
  results[0]?.open('first');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'first' },
    { type: 'text', value: 'second' },
  ]);
});

it('a result of an earlier dispatch is dropped: the call runs again with another dispatch', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const results = [gate<string>(), gate<string>()];
  let nth = 0;
  const send = act(() => (results[nth++] as (typeof results)[0]).opened, { timeoutMs: MINUTE_MS });
  const engine = world.boot({ tools: { send } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(MINUTE_MS);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'notStarted', by: 'ann' });
  await until(() => world.runs.length === 2, 'it runs again');
  results[0]?.open('of the first dispatch');
  await calm();
  expect(await world.calls()).toMatchObject([{ state: 'dispatched', dispatch: 2 }]);
  results[1]?.open('of the second dispatch');
  await within(turn.outcome);
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'of the second dispatch' }]);
});

it('a late result of a turn that ended settles its doubt, and changes nothing of what the model was told', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const result = gate<string>();
  const engine = world.boot({ tools: { send: act(() => result.opened) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await turn.cancel();
  const before = await world.messages();
  expect(await engine.reviews()).toHaveLength(1);
  result.open('landed');
  await until(async () => (await engine.reviews()).length === 0, 'the doubt is settled');
  expect(await world.calls()).toMatchObject([{ state: 'succeeded', output: { value: 'landed' } }]);
  expect(await world.messages()).toEqual(before);
});
