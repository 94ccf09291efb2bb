// Idempotency keys as receivers see them: what pays once, what pays twice.
import { expect, it } from 'vitest';
import { DefinitiveFailure } from '../../src/index.js';
import { never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, only, type World } from './world.js';

const keys = (world: World): readonly number[] => {
  const known = [...new Set(world.runs.map(({ key }) => key))];
  return world.runs.map(({ key }) => known.indexOf(key));
};

it('two identical calls of one batch have two keys (m)', async () => {
  const world = createWorld();
  world.says(calls(['pay', { to: 'a', sum: 5 }], ['pay', { sum: 5, to: 'a' }], ['pay', { to: 'b', sum: 5 }]));
  await within((await world.boot({ tools: { pay: act(() => 'paid') } }).startTurn(hello)).outcome);
  expect(keys(world)).toEqual([0, 1, 2]);
});

it('a call asked again after its success pays again, with a new key', async () => {
  const world = createWorld();
  world.says(calls('pay'), calls('pay'), 'done');
  await within((await world.boot({ tools: { pay: act(() => 'paid') } }).startTurn(hello)).outcome);
  expect(keys(world)).toEqual([0, 1]);
});

it('a thrown error keeps the key: asked again, the receiver knows it', async () => {
  const world = createWorld();
  world.says(calls('pay'), calls('pay'), calls('pay'), 'done');
  let run = 0;
  const pay = act(() => (++run < 3 ? Promise.reject(new Error('reset')) : 'paid'));
  await within((await world.boot({ tools: { pay } }).startTurn(hello)).outcome);
  expect(keys(world)).toEqual([0, 0, 0]);
});

it('a definitive failure uses its key up: receivers remember failures by key too', async () => {
  const world = createWorld();
  world.says(calls('pay'), calls('pay'), 'done');
  let run = 0;
  const pay = act(() => (++run === 1 ? Promise.reject(new DefinitiveFailure('declined')) : 'paid'));
  await within((await world.boot({ tools: { pay } }).startTurn(hello)).outcome);
  expect(keys(world)).toEqual([0, 1]);
});

it('a call asked again after a time-out has the key of the first: it does not pay twice (m)', async () => {
  const world = createWorld();
  world.says(calls('pay'), calls('pay'), 'done');
  let run = 0;
  const pay = act(() => (++run === 1 ? never() : 'paid'), { effect: 'idempotent', timeoutMs: 1_000 });
  const turn = await world.boot({ tools: { pay } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  await within(turn.outcome);
  expect(keys(world)).toEqual([0, 0]);
});

it('of two identical calls that a crash interrupts, each keeps its own key', async () => {
  const world = createWorld();
  world.says(calls('pay', 'pay'));
  let run = 0;
  const tools = { pay: act(() => (++run === 1 ? 'paid' : never()), { effect: 'idempotent' }) };
  await world.boot({ tools }).startTurn(hello);
  await until(async () => (await world.calls()).some(({ state }) => state === 'succeeded'), 'one is paid');
  const engine = await world.reboot({ tools: { pay: act(() => 'paid', { effect: 'idempotent' }) } });
  await within(only((await engine.recover()).resumed).outcome);
  expect(keys(world)).toEqual([0, 1, 1]);
});

it('a tool’s own key is the one it gets', async () => {
  const world = createWorld();
  world.says(calls(['pay', { order: 'o7' }]));
  const pay = act(() => 'paid', { idempotencyKey: (input) => `order-${(input as { order: string }).order}` });
  await within((await world.boot({ tools: { pay } }).startTurn(hello)).outcome);
  expect(only(world.runs).key).toBe('order-o7');
});

it('ids that the provider repeats in every answer are no trouble: each call has its own', async () => {
  const world = createWorld();
  const same = (n: number) => ({
    calls: [
      { tool: 'pay', input: { n }, id: 'call_0' },
      { tool: 'pay', input: { n: n + 10 }, id: 'call_0' },
    ],
  });
  world.says(same(1), same(2), 'done');
  await within((await world.boot({ tools: { pay: act((input) => input) } }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([1, 11, 2, 12].map((n) => ({ type: 'json', value: { n } })));
  expect(new Set(world.runs.map(({ call }) => call.callId)).size).toBe(4);
});

it('the key and the journal keep the raw input, the tool gets the validated one', async () => {
  const world = createWorld();
  world.says(calls(['pay', { sum: '5' }]), calls(['pay', { sum: 5 }]), 'done');
  const inputs: unknown[] = [];
  const pay = act((input) => {
    inputs.push(input);
    return null;
  });
  const schema = {
    '~standard': {
      ...pay.input['~standard'],
      validate: async (value: unknown) => ({ value: { sum: Number((value as { sum: unknown }).sum) } }),
    },
  };
  await within((await world.boot({ tools: { pay: { ...pay, input: schema } } }).startTurn(hello)).outcome);
  expect(inputs).toEqual([{ sum: 5 }, { sum: 5 }]);
  expect((await world.calls()).map(({ input }) => input)).toEqual([{ sum: '5' }, { sum: 5 }]);
  expect(keys(world)).toEqual([0, 1]);
});
