// Callbacks and policies that throw, hang or return nonsense: the turn ends or goes on with a reason, and nothing else breaks.
import { expect, it, vi } from 'vitest';
import { type Tool, type TurnMachine, turnMachine } from '../../src/index.js';
import { calm, gate, never, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, MINUTE_MS, type Options, only } from './world.js';

const failing: readonly (readonly [string, Options, string])[] = [
  ['dependencies throw', { dependencies: () => Promise.reject(new Error('no database')) }, 'no database'],
  ['dependencies throw null', { dependencies: () => Promise.reject(null) }, 'null'],
  ['tools throw', { tools: () => Promise.reject(new Error('no tools today')) }, 'no tools today'],
  ['tools are none', { tools: () => ({ bad: { description: 'x' } }) as never }, 'tools.bad.execute'],
  ['dependencies hang', { dependencies: () => never() }, 'timeout'],
  ['tools hang', { tools: () => never() }, 'timeout'],
];

for (const [what, options, reason] of failing) {
  it(`a turn whose ${what} fails in setup, within a minute, and says why`, async () => {
    const world = createWorld();
    const turn = await world.boot(options).startTurn(hello);
    await world.advance(MINUTE_MS);
    expect(await within(turn.outcome)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(new RegExp(`^setup: .*${reason}`)),
    });
    expect(world.requests).toEqual([]);
    expect(await world.store.markers('agent')).toEqual([]);
  });
}

it('the signal of dependencies that take too long is aborted', async () => {
  const world = createWorld();
  let signal: AbortSignal | undefined;
  await world
    .boot({
      dependencies: (_turn, given) => {
        signal = given;
        return never();
      },
    })
    .startTurn(hello);
  await world.advance(MINUTE_MS);
  await until(() => signal?.aborted === true, 'the signal is aborted');
});

for (const hangs of [false, true]) {
  it(`dependencies that ${hangs ? 'hang' : 'throw'} in a recovery spend an attempt: held, and abandoned after three`, async () => {
    const world = createWorld();
    world.says({ hang: true });
    const turn = await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'the model is asked');
    const dependencies = () => (hangs ? never() : Promise.reject(new Error('no database')));
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const recovering = (await world.reboot({ dependencies })).recover();
      if (hangs) await world.advance(MINUTE_MS);
      const held = only((await within(recovering)).held);
      expect(held).toMatchObject({ turnId: turn.turnId, gate: 'dependencies' });
      expect(held.reason).toContain(hangs ? '60000 ms' : 'no database');
      expect(await world.head()).toMatchObject({ inProgress: true, attempts: attempt });
    }
    expect((await (await world.reboot({ dependencies })).recover()).abandoned).toMatchObject([{ gate: 'attempts' }]);
    expect(await world.head()).toMatchObject({ inProgress: false });
  });
}

it('dependencies that fail for one turn hold up no other (I12)', async () => {
  const world = createWorld();
  world.says({ hang: true }, { hang: true });
  const first = world.boot();
  for (const sessionId of ['a', 'b']) await first.startTurn({ ...hello, sessionId });
  await until(() => world.requests.length === 2, 'both are asked');
  const engine = await world.reboot({
    dependencies: ({ sessionId }) => (sessionId === 'a' ? never() : {}),
  });
  const recovering = engine.recover({ concurrency: 2 });
  await until(async () => !(await world.head('b')).inProgress, 'the other one has ended');
  await world.advance(MINUTE_MS);
  expect(await within(recovering)).toMatchObject({ held: [{ gate: 'dependencies' }] });
});

it('a tool that is gone after a deploy: held, and the attempt is given back', async () => {
  const world = createWorld();
  world.says(calls('send'));
  await world.boot({ tools: { send: act(() => never()) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  for (let deploy = 0; deploy < 5; deploy += 1) {
    const held = only((await (await world.reboot({ tools: { mail: act(() => null) } })).recover()).held);
    expect(held).toMatchObject({ gate: 'tool', reason: expect.stringContaining('"send"') });
    expect(await world.head()).toMatchObject({ inProgress: true, attempts: 0, recoveries: 0 });
  }
  const reconcile = async () => ({ outcome: 'succeeded', output: 'landed' }) as const;
  const engine = await world.reboot({ tools: { mail: act(() => null, { formerNames: ['send'], reconcile }) } });
  expect(await within(only((await engine.recover()).resumed).outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'landed' }]);
});

it('a model that uses a former name reaches the tool under its new one', async () => {
  const world = createWorld();
  world.says(calls('old'));
  await within(
    (await world.boot({ tools: { fresh: act(() => 'ok', { formerNames: ['old'] }) } }).startTurn(hello)).outcome,
  );
  expect(world.runs.map(({ tool }) => tool)).toEqual(['fresh']);
});

it('an input that a new schema refuses does not run, and the model is told', async () => {
  const world = createWorld();
  world.says(calls('put'));
  const put = (more: Partial<Tool>): Tool => ({ ...act(() => never(), { effect: 'idempotent' }), ...more }) as Tool;
  await world.boot({ tools: { put: put({}) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const input = {
    '~standard': {
      version: 1 as const,
      vendor: 't',
      validate: () => ({ issues: [{ message: 'too old' }] }),
      jsonSchema: { input: () => ({}) },
    },
  };
  const engine = await world.reboot({ tools: { put: put({ input }) } });
  await within(only((await engine.recover()).resumed).outcome);
  expect(JSON.stringify(await world.outputs())).toContain('too old');
  expect(world.runs).toHaveLength(1);
});

it('an onEvent that throws stops nothing, and does not go unnoticed', async () => {
  const world = createWorld();
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  world.says(calls('write'), 'done');
  const engine = world.boot({
    tools: { write: act(() => 'ok') },
    onEvent: () => {
      throw new Error('the listener is broken');
    },
  });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  expect(warn).toHaveBeenCalledWith('onEvent threw: the listener is broken', 'DurableTurnWarning');
  warn.mockRestore();
});

it('a prepareModelCall that returns nonsense fails the call, not the engine', async () => {
  const world = createWorld();
  const turn = await world.boot({ prepareModelCall: () => ({ messages: 5 }) as never }).startTurn(hello);
  await world.advance(HOUR_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed' });
});

const provide = (guards: object, delays: object = {}): TurnMachine =>
  turnMachine.provide({ guards, delays } as never) as TurnMachine;
const boom = () => {
  throw new Error('guard exploded');
};

let asked = 0;
const policies: readonly (readonly [string, TurnMachine, string])[] = [
  ['a guard that throws', provide({ hasCalls: boom }), 'guard exploded'],
  [
    'a policy that loops in the chart',
    // Whoever asks second gets the other answer: injectingMessage and recovering send the turn to each other for ever.
    provide({ inputPending: () => false, stopAsked: () => asked++ % 2 === 0, nudgeable: () => true }),
    '',
  ],
  ['a delay that is no number', provide({}, { softTimeout: () => Number.NaN }), 'NaN'],
  ['a delay that throws', provide({}, { hardTimeout: boom }), 'guard exploded'],
];

for (const [what, machine, reason] of policies) {
  it(`${what} ends the turn as failed with TURN_POLICY`, async () => {
    const world = createWorld();
    world.says(...Array.from({ length: 20 }, () => 'text'), { hang: true });
    const turn = await world.boot({ machine }).startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({
      status: 'failed',
      code: 'TURN_POLICY',
      reason: expect.stringContaining(reason),
    });
    expect(await world.store.markers('agent')).toEqual([]);
  });
}

it('a guard that throws while tools run ends the turn, and their calls are paired', async () => {
  const world = createWorld();
  world.says(calls('quick', 'slow'));
  const slow = gate<string>();
  const engine = world.boot({
    machine: provide({ stopDue: boom }),
    tools: { quick: act(() => 'ok'), slow: act(() => slow.opened) },
  });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  slow.open('ok');
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', code: 'TURN_POLICY' });
  expect(await world.outputs()).toHaveLength(2);
  await calm();
});

it('a machine that cannot start refuses the input, and the route is free', async () => {
  const world = createWorld();
  const machine = provide({}, { setupTimeout: boom });
  const engine = world.boot({ machine });
  await expect(engine.startTurn(hello)).rejects.toMatchObject({ code: 'TURN_POLICY' });
  expect(await world.store.head('s')).toBeUndefined();
  expect(await world.store.acquire('session s')).toBeDefined();
});
