// What turns and sessions used: summed over everything that was paid for, and kept.
import { expect, it } from 'vitest';
import { until, within } from '../engine/waiting.js';
import { calls, createWorld, hello, look, only } from './world.js';

const tokens = (total: number) => ({ input: { total }, output: { total } });
const costs = (answer: object | string, total: number) =>
  (typeof answer === 'string' ? { say: answer, tokens: total } : { ...answer, tokens: total }) as never;
const tools = { read: look(() => 'R') };

it('a turn has the sum of its answers, those that left no message included', async () => {
  const world = createWorld();
  world.says(costs(calls('read'), 10), costs({ say: '' }, 100), { fail: 'network' }, costs('end', 1_000));
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 3, 'the failure');
  await world.advance(1_000);
  const outcome = await within(turn.outcome);
  expect(outcome.usage).toEqual(tokens(1_110));
  expect(world.eventsOf('usage').map((event) => event.usage.input.total)).toEqual([10, 100, 1_000]);
});

it('a session has the sum of its turns, however they ended', async () => {
  const world = createWorld();
  world.says(costs('one', 1), costs('two', 20), costs(calls('read'), 300), { fail: 'auth' });
  const engine = world.boot({ tools });
  for (const input of ['a', 'b', 'c']) await within((await engine.startTurn({ ...hello, input })).outcome);
  expect((await engine.session('s'))?.usage).toEqual(tokens(321));
  expect(await world.head()).toMatchObject({ usage: tokens(300), ended: { kind: 'failed' } });
});

it('usage is summed over restarts', async () => {
  const world = createWorld();
  world.says(costs(calls('read'), 10), { hang: true });
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 2, 'asked again');
  await world.process.engine.close({ graceMs: 0 });
  world.says(costs('end', 5));
  const engine = await world.reboot({ tools });
  const outcome = await within(only((await engine.recover()).resumed).outcome);
  expect(outcome.usage).toEqual(tokens(15));
  expect((await engine.session('s'))?.usage).toEqual(tokens(15));
});

it('a cancelled turn has what it used, in its outcome and in its session', async () => {
  const world = createWorld();
  world.says(costs(calls('read'), 10), { hang: true });
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 2, 'asked again');
  expect((await turn.cancel()).usage).toEqual(tokens(10));
  expect((await engine.session('s'))?.usage).toEqual(tokens(10));
});

it('counts a provider does not tell stay absent, those it tells are summed one by one', async () => {
  const world = createWorld();
  const usages = [
    { input: { total: 5, cacheRead: 3 }, output: { reasoning: 2 } },
    { input: { total: 7, cacheWrite: 4 }, output: { reasoning: 1 }, raw: { cost: 0.1 } },
  ];
  let nth = 0;
  const model = {
    id: 'm',
    call: async () => {
      const usage = usages[nth++] ?? { input: {}, output: {} };
      const content = nth === 1 ? ([{ type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} }] as const) : [];
      const text = nth === 1 ? [] : [{ type: 'text' as const, text: 'end' }];
      return { content: [...content, ...text], finish: { reason: 'stop' as const }, usage };
    },
  };
  const outcome = await within((await world.boot({ tools, model }).startTurn(hello)).outcome);
  expect(outcome.usage).toEqual({ input: { total: 12, cacheRead: 3, cacheWrite: 4 }, output: { reasoning: 3 } });
});

it('usage that is none of the form is refused with its path: it would be taken for an answer that cost nothing', async () => {
  const wrong: readonly (readonly [unknown, string])[] = [
    [undefined, 'usage must be'],
    [null, 'usage must be'],
    [{ prompt_tokens: 1 }, 'usage.input must be'],
    [{ input: { total: '5' }, output: {} }, 'usage.input.total must be'],
    [{ input: { total: Number.NaN }, output: {} }, 'usage.input.total must be'],
    [{ input: {}, output: null }, 'usage.output must be'],
  ];
  for (const [usage, path] of wrong) {
    const world = createWorld();
    const model = {
      id: 'm',
      call: async () => ({ content: [{ type: 'text', text: 'end' }], finish: { reason: 'stop' }, usage }) as never,
    };
    const outcome = await within((await world.boot({ model }).startTurn(hello)).outcome);
    expect(outcome, path).toMatchObject({ status: 'failed', reason: expect.stringContaining(path) });
    expect(outcome.usage).toEqual({ input: {}, output: {} });
    expect(world.requests).toHaveLength(1);
  }
});
