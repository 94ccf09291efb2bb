// Limits over restarts: what was used counts on, and a stop that began is brought to its end.
import { expect, it } from 'vitest';
import { gate, never, until, within } from '../engine/waiting.js';
import {
  act,
  calls,
  createWorld,
  HOUR_MS,
  hello,
  MINUTE_MS,
  type Options,
  only,
  parking,
  type WholeWorld,
  yes,
} from './world.js';

const put = act(() => 'ok', { effect: 'idempotent' });
const puts = (n: number) => ({ ...(calls(['put', { n }]) as object), tokens: 10 }) as { calls: []; tokens: number };

/** Two batches in the first process, a crash, and the next process; gives the turn as it goes on. */
async function afterTwoBatches(world: WholeWorld, options: Options) {
  const all = { tools: { put }, ...options };
  world.says(puts(1), puts(2), { hang: true });
  await world.boot(all).startTurn(hello);
  await until(() => world.requests.length === 3, 'two batches are done');
  await world.advance(2_000);
  world.says(puts(3), puts(4), 'last words');
  const engine = await world.reboot(all);
  return only((await engine.recover()).resumed);
}

it.each<[string, Options['limits'], number]>([
  ['maxIterations', { maxIterations: 3 }, 3],
  // The call that was on its way when the process died was made and is not counted: nothing says so on disk.
  ['maxModelCalls', { maxModelCalls: 3 }, 3],
  ['maxTokens', { maxTokens: 60 }, 3],
])('%s counts over a restart, and ends the turn as stopped with that reason', async (reason, limits, batches) => {
  const world = createWorld();
  const turn = await afterTwoBatches(world, { limits: limits ?? {} });
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason });
  expect(world.runs).toHaveLength(batches);
  expect(world.requests.at(-1)).toMatchObject({ toolChoice: 'none' });
  expect(await world.head()).toMatchObject({ ended: { kind: 'stopped', reason } });
});

it('limits of the turn are kept with it, those of the engine are those of the new process', async () => {
  const world = createWorld();
  world.says(puts(1), { hang: true });
  await world.boot({ tools: { put } }).startTurn({ ...hello, limits: { maxIterations: 2 } });
  await until(() => world.requests.length === 2, 'one batch is done');
  world.says(puts(2), 'last words');
  const engine = await world.reboot({ tools: { put }, limits: { maxIterations: 100 } });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'maxIterations' });
});

it('a stop under way is brought to its end by the next process, with the reason of the first', async () => {
  for (const reason of ['maxIterations', 'budget is used up']) {
    const world = createWorld();
    const options: Options =
      reason === 'maxIterations'
        ? { limits: { maxIterations: 1 } }
        : { prepareModelCall: ({ modelCalls }) => (modelCalls >= 1 ? { stop: reason } : {}) };
    world.says(puts(1), { hang: true });
    await world.boot({ tools: { put }, ...options }).startTurn(hello);
    await until(() => world.requests.length === 2, 'the last answer is asked for');
    expect(await world.head()).toMatchObject({ phase: 'forceStop' });
    world.says('last words');
    const engine = await world.reboot({ tools: { put } });
    const turn = only((await engine.recover()).resumed);
    expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason, text: 'last words' });
    expect(world.runs).toHaveLength(1);
  }
});

it('a stop asked for by prepareModelCall reaches the person and the model makes no more calls', async () => {
  const world = createWorld();
  world.says(puts(1), calls(['put', { n: 2 }]));
  const engine = world.boot({
    tools: { put },
    prepareModelCall: ({ usage }) => ((usage.input.total ?? 0) >= 10 ? { stop: 'the budget of ann is used up' } : {}),
  });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'stopped', reason: 'the budget of ann is used up' });
  expect(world.runs).toHaveLength(1);
  expect(only(world.eventsOf('stopping')).reason).toBe('the budget of ann is used up');
});

it('turnMs does not count the time a turn waits for a person, in one process or over restarts', async () => {
  for (const restart of [false, true]) {
    const world = createWorld();
    world.says(calls('deploy'), 'fine');
    const options = { tools: { deploy: act(() => 'deployed', parking) }, limits: { turnMs: 10 * MINUTE_MS } };
    let engine = world.boot(options);
    await within((await engine.startTurn(hello)).rest);
    await world.advance(HOUR_MS);
    if (restart) {
      engine = await world.reboot(options);
      await engine.recover();
    }
    await engine.decideApproval(only(await engine.approvals()).id, yes);
    await until(async () => !(await world.head()).inProgress, 'the turn has ended');
    expect(await world.head()).toMatchObject({ ended: { kind: 'completed' } });
    expect((await world.head()).activeMs).toBeLessThan(MINUTE_MS);
  }
});

it('turnMs that is over when a killed turn is taken up ends it behind the batch, which is never cut', async () => {
  const world = createWorld();
  const options = { limits: { turnMs: 5 * MINUTE_MS } };
  const slow = (execute: () => unknown) =>
    act(execute as () => string, { effect: 'idempotent', timeoutMs: 60 * MINUTE_MS });
  world.says(calls('slow', 'put'));
  await world.boot({ ...options, tools: { slow: slow(() => never()), put } }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.advance(4 * MINUTE_MS);
  await world.process.engine.close({ graceMs: 0 });
  await world.crash();
  await world.advance(HOUR_MS);
  const built = gate<string>();
  const engine = world.boot({ ...options, tools: { slow: slow(() => built.opened), put } });
  const turn = only((await engine.recover()).resumed);
  await until(() => world.runsOf('slow').length === 2, 'it runs again');
  await world.advance(2 * MINUTE_MS);
  expect(world.runs.at(-1)?.call.signal.aborted).toBe(false);
  world.says('last words');
  built.open('built');
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'turnMs', text: 'last words' });
  expect((await world.outputs())[0]).toEqual({ type: 'text', value: 'built' });
});

it('the first reason to stop counts, and is told once', async () => {
  const world = createWorld();
  world.says(puts(1));
  const engine = world.boot({
    tools: { put },
    limits: { maxIterations: 1, maxTokens: 1, maxModelCalls: 1 },
    prepareModelCall: () => ({ stop: 'not asked any more' }),
  });
  const turn = await engine.startTurn({ ...hello, limits: { maxIterations: 1 } });
  const outcome = await within(turn.outcome);
  expect(outcome.status).toBe('stopped');
  expect(world.eventsOf('stopping')).toHaveLength(1);
});

it('input that arrives during a stop starts the next turn with limits of its own', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(puts(1), () => answer.opened, 'and the next');
  const engine = world.boot({ tools: { put }, limits: { maxIterations: 1 } });
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 2, 'the last answer is asked for');
  const sent = await engine.sendMessage({ ...hello, input: 'next' });
  answer.open('last words');
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', text: 'last words' });
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the next turn has ended');
  expect(sent.accepted).toBe('queued');
});
