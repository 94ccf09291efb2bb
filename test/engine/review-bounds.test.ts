// Why: what has no end of its own keeps a turn for ever - a call that is started again and again, application code that
// never answers, two engines that take each other's turns away.
import { expect, it } from 'vitest';
import { createTurnEngine, OutcomeUnknown } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { scriptedModel, simulatedClock } from '../../src/testing/index.js';
import { never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS } from './world.js';

it('a call that never comes to an end, while reconcile says that it never started, is not started for ever', async () => {
  const world = createWorld();
  world.says(calls('send'), 'gave up');
  const send = act(
    () => {
      throw new OutcomeUnknown('no answer');
    },
    { reconcile: async () => ({ outcome: 'notStarted' }) },
  );
  const turn = await world.boot({ tools: { send } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'gave up' });
  expect(world.runs).toHaveLength(20);
  expect(JSON.stringify(world.requests.at(-1)?.messages)).toContain('20 times');
});

it('an approval function that never answers fails the model call, and so the turn, instead of holding it', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const send = act(() => 'sent', { approval: () => new Promise<never>(() => undefined) });
  const turn = await world.boot({ tools: { send } }).startTurn({ ...hello, attended: true });
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.advance(3 * MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed' });
  expect(world.runs).toEqual([]);
});

it('a second engine of an agent on the same store is refused until the first is closed (I7)', async () => {
  const options = { agent: 'a', store: memoryStore(), model: scriptedModel([]) };
  const engine = createTurnEngine(options);
  expect(() => createTurnEngine(options)).toThrow(/agent "a" has an engine on this store already/);
  expect(() => createTurnEngine({ ...options, agent: 'b' })).not.toThrow();
  await engine.close({ graceMs: 0 });
  expect(() => createTurnEngine(options)).not.toThrow();
});

it('a clock that was set back while nothing ran does not keep reconcile from being asked', async () => {
  const store = memoryStore();
  const asked: string[] = [];
  const send = act(() => never(), {
    reconcile: async ({ idempotencyKey }) => {
      asked.push(idempotencyKey);
      return { outcome: 'succeeded', output: 'sent' };
    },
  });
  const model = scriptedModel([{ calls: [{ tool: 'send', input: {} }] }, 'done']);
  const running: string[] = [];
  const options = { agent: 'a', store, model, tools: { send } };
  const first = createTurnEngine({
    ...options,
    clock: simulatedClock(2_000_000_000_000),
    onEvent: ({ type }) => void running.push(type),
  });
  await first.startTurn(hello);
  await until(() => running.includes('call'), 'it runs');
  await first.close({ graceMs: 0 });
  const second = createTurnEngine({ ...options, clock: simulatedClock(2_000_000_000_000 - 60 * MINUTE_MS) });
  const [turn] = (await second.recover()).resumed;
  expect(await within(turn?.outcome as Promise<unknown>)).toMatchObject({ status: 'completed', text: 'done' });
  expect(asked).toHaveLength(1);
  await second.close({ graceMs: 0 });
});
