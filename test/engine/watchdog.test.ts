// The watchdog counts the silence of the model, and nothing else (I13, case C26).
import { expect, it, onTestFinished, vi } from 'vitest';
import { HardIdleTimeout, type ModelAnswer, type ModelCall, turnMachine } from '../../src/index.js';
import { calm, gate, until, within } from './waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, type Options, only, type World } from './world.js';

/** A model that the test drives by hand. */
function byHand(world: World, options: Options = {}) {
  const made: { readonly call: ModelCall; answer(text: string): void; say(text: string): void }[] = [];
  const engine = world.boot({
    ...options,
    model: {
      id: 'by hand',
      call: (_request, call) =>
        new Promise<ModelAnswer>((resolve) => {
          made.push({
            call,
            say: (text) => call.emit({ type: 'text', id: 't', text }),
            answer: (text) =>
              resolve({
                content: [{ type: 'text', text }],
                finish: { reason: 'stop' },
                usage: { input: {}, output: {} },
              }),
          });
        }),
    },
  });
  const nth = async (n: number) => {
    await until(() => made.length >= n, `the model is asked ${n} times`);
    return made[n - 1] as (typeof made)[number];
  };
  return { engine, nth, made };
}

const soft = (world: World): number => world.eventsOf('softIdle').length;

it('a silent model is announced once per silence, and nothing else happens (case C26)', async () => {
  const world = createWorld();
  const { engine, nth } = byHand(world, { limits: { idleHardMs: 0 } });
  const turn = await engine.startTurn(hello);
  const call = await nth(1);
  await world.advance(89_999);
  expect(soft(world)).toBe(0);
  await world.advance(1);
  expect(world.eventsOf('softIdle')).toMatchObject([{ phase: 'awaitingLLM', idleMs: 90_000, durable: false }]);
  await world.advance(60 * MINUTE_MS);
  expect(soft(world)).toBe(1);
  expect(call.call.signal.aborted).toBe(false);
  call.answer('here I am');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('content re-arms the watchdog, empty deltas do not (case C26)', async () => {
  const world = createWorld();
  const { engine, nth } = byHand(world, { limits: { idleSoftMs: 60_000, idleHardMs: 0 } });
  await engine.startTurn(hello);
  const call = await nth(1);
  for (let n = 0; n < 5; n += 1) {
    await world.advance(50_000);
    call.say('token');
  }
  await world.advance(59_999);
  expect(soft(world)).toBe(0);
  call.say('');
  await world.advance(1);
  expect(soft(world)).toBe(1);
  // The next silence is announced again.
  call.say('back');
  await world.advance(60_000);
  expect(soft(world)).toBe(2);
});

it('deltas in a wrong form are told to nobody, with one warning in a call, and are no silence', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const world = createWorld();
  const { engine, nth } = byHand(world, { limits: { idleSoftMs: 60_000, idleHardMs: 0 } });
  const turn = await engine.startTurn(hello);
  const call = await nth(1);
  for (let n = 0; n < 5; n += 1) {
    await world.advance(50_000);
    call.call.emit({ type: 'text', text: 'token' } as never);
  }
  await world.advance(59_999);
  expect(soft(world)).toBe(0);
  call.answer('done');
  await within(turn.outcome);
  expect(world.eventsOf('delta')).toEqual([]);
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining('id must be a text, not undefined'), 'DurableTurnWarning'],
  ]);
});

it('a model that is silent for too long is aborted with HardIdleTimeout, and its turn fails', async () => {
  const world = createWorld();
  const { engine, nth } = byHand(world);
  const turn = await engine.startTurn(hello);
  const call = await nth(1);
  await world.advance(540_000 - 1);
  expect(call.call.signal.aborted).toBe(false);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'hardIdle' });
  expect(call.call.signal.reason).toBeInstanceOf(HardIdleTimeout);
  expect(world.eventsOf('hardIdle')).toMatchObject([{ idleMs: 540_000, durable: true }]);
  call.answer('too late');
  await calm();
  expect(await world.messages()).toHaveLength(1);
});

it('the limits are those of the turn, of the engine, and of presence, in this order', async () => {
  const expected: readonly [Options['limits'], object, boolean, number][] = [
    [{ idleHardMs: 5_000 }, { idleHardMs: 1_000 }, false, 1_000],
    [{ idleHardMs: 5_000 }, {}, true, 5_000],
    [{}, {}, false, 540_000],
    [{}, { idleHardMs: Number.POSITIVE_INFINITY }, false, Number.POSITIVE_INFINITY],
    [{ idleHardMs: 5_000 }, { idleHardMs: 0 }, false, Number.POSITIVE_INFINITY],
    [{}, {}, true, Number.POSITIVE_INFINITY],
  ];
  for (const [engineLimits, limits, attended, ms] of expected) {
    const world = createWorld();
    const { engine, nth } = byHand(world, { limits: engineLimits ?? {} });
    await engine.startTurn({ ...hello, attended, limits });
    await nth(1);
    await world.advance(Math.min(ms, 24 * 60 * MINUTE_MS) - 1);
    expect(world.eventsOf('hardIdle')).toHaveLength(0);
    await world.advance(1);
    expect(world.eventsOf('hardIdle')).toHaveLength(ms === Number.POSITIVE_INFINITY ? 0 : 1);
  }
});

it('the time of a tool is never idle (case C26)', async () => {
  const world = createWorld();
  world.says(calls('build'), 'done');
  const built = gate<string>();
  const build = act(() => built.opened, { timeoutMs: 120 * MINUTE_MS });
  const turn = await world.boot({ tools: { build } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(100 * MINUTE_MS);
  expect([soft(world), world.eventsOf('hardIdle').length]).toEqual([0, 0]);
  built.open('ok');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('silence is counted anew after a restart', async () => {
  const world = createWorld();
  const first = byHand(world);
  await first.engine.startTurn(hello);
  await first.nth(1);
  await world.advance(539_000);
  await world.crash();
  const second = byHand(world);
  await second.engine.recover();
  await second.nth(1);
  await world.advance(539_999);
  expect(world.eventsOf('hardIdle')).toHaveLength(0);
  await world.advance(1);
  expect(world.eventsOf('hardIdle')).toHaveLength(1);
});

it('a turn that was attended is not so after a restart: its hard time-out is on (I6)', async () => {
  const world = createWorld();
  const first = byHand(world);
  await first.engine.startTurn({ ...hello, attended: true });
  await first.nth(1);
  await world.crash();
  const second = byHand(world);
  const turn = only((await second.engine.recover()).resumed);
  await second.nth(1);
  await world.advance(540_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'hardIdle' });
});

it('a hard time-out that waits in the mailbox does not kill the next call (m)', async () => {
  const world = createWorld();
  const { engine, nth } = byHand(world, { limits: { idleHardMs: 10_000 } });
  const turn = await engine.startTurn(hello);
  const first = await nth(1);
  // Input that waits makes the answer lead to another call; its commit takes so long that the timer fires meanwhile.
  const commit = gate<'pass'>();
  await world.advance(5_000);
  await engine.sendMessage({ ...hello, input: 'more' });
  world.process.store.fate = () => commit.opened;
  first.answer('one');
  await calm();
  await world.advance(6_000);
  commit.open('pass');
  const second = await nth(2);
  await calm();
  expect(world.eventsOf('hardIdle')).toEqual([]);
  expect(second.call.signal.aborted).toBe(false);
  second.answer('two');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'two' });
});

it('the time a commit takes is not silence of the model it leads to (I13)', async () => {
  const world = createWorld();
  const { engine, nth } = byHand(world, { limits: { idleHardMs: 10_000 } });
  const turn = await engine.startTurn(hello);
  const first = await nth(1);
  await world.advance(5_000);
  await engine.sendMessage({ ...hello, input: 'more' });
  const commit = gate<'pass'>();
  world.process.store.fate = () => commit.opened;
  first.answer('one');
  await calm();
  // As long as a disk that is full for a while: longer than any silence.
  await world.advance(60_000);
  commit.open('pass');
  const second = await nth(2);
  await world.advance(9_000);
  expect(world.eventsOf('hardIdle')).toEqual([]);
  second.answer('two');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'two' });
});

it('a late answer of an earlier call is dropped: it does not end the turn (m)', async () => {
  const world = createWorld();
  let lenient = true;
  const machine = turnMachine.provide({
    guards: { hardIdle: () => false, retryable: ({ context }) => lenient && context.cause?.kind === 'hardIdle' },
  });
  const { engine, nth } = byHand(world, { machine: machine as typeof turnMachine, limits: { idleHardMs: 10_000 } });
  const turn = await engine.startTurn(hello);
  const first = await nth(1);
  await world.advance(10_000);
  await world.advance(1_000);
  const second = await nth(2);
  lenient = false;
  first.say('I was');
  first.answer('only slow');
  await calm();
  expect(await world.messages()).toHaveLength(1);
  expect(world.eventsOf('delta')).toEqual([]);
  second.answer('the right one');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'the right one' });
});

it('a prepareModelCall that hangs is silence of the model: the hard time-out ends it', async () => {
  const world = createWorld();
  const turn = await world.boot({ prepareModelCall: () => new Promise(() => undefined) }).startTurn(hello);
  await calm();
  await world.advance(540_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'hardIdle' });
  expect(world.requests).toEqual([]);
});
