// What a strict review found about values that used to lose the driver of a turn, and about what a driver that is over
// still said and did.
import { expect, it, vi } from 'vitest';
import { NOTE_CHARS } from '../../machines/index.js';
import { createTurnEngine, type Model } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { scriptedModel, simulatedClock } from '../../src/testing/index.js';
import type { Fate } from './process-store.js';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, only } from './world.js';

const there = { ...hello, attended: true };
const LONE = '\ud800';

for (const [what, toolName] of [
  ['without a tool name', undefined],
  ['whose tool name is no text', 5],
] as const) {
  it(`an answer with a call ${what} ends its turn as failed, and the session goes on`, async () => {
    const world = createWorld();
    const call = { type: 'tool-call', toolCallId: 'call', toolName, input: {} } as never;
    const facts = { finish: { reason: 'tool-calls' }, usage: { input: {}, output: {} } } as const;
    const answers = [[call], [{ type: 'text', text: 'done' } as const]];
    const model: Model = { id: 'faulty', call: async () => ({ ...facts, content: answers.shift() ?? [] }) };
    const engine = world.boot({ model, tools: { send: act(() => 'sent') } });
    const turn = await engine.startTurn(hello);
    await world.advance(HOUR_MS);
    expect(await within(turn.outcome)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('toolName'),
    });
    expect(world.eventsOf('driverLost')).toEqual([]);
    expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  });
}

it('a note over its limit rejects in the tool, and the call and its turn go on', async () => {
  const world = createWorld();
  world.says(calls('send'));
  let refused: unknown;
  const send = act(async (_input, call) => {
    await call.note('small');
    refused = await call.note('x'.repeat(NOTE_CHARS)).catch((thrown: unknown) => thrown);
    return 'sent';
  });
  const turn = await world.boot({ tools: { send } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(refused).toMatchObject({ code: 'TURN_TOO_LARGE', message: expect.stringContaining(`${NOTE_CHARS}`) });
  expect(only(await world.calls())).toMatchObject({ state: 'succeeded', notes: ['small'] });
});

for (const running of [false, true]) {
  it(`half a character is nobody who decides about a call of a turn that ${running ? 'runs' : 'is parked'}`, async () => {
    const world = createWorld();
    world.says(running ? calls('send', 'slow') : calls('send'));
    const slow = gate<string>();
    const tools = { send: act(() => 'sent', { approval: 'required' }), slow: act(() => slow.opened) };
    const engine = world.boot({ tools });
    const turn = await engine.startTurn(there);
    await until(() => world.eventsOf('approvalRequested').length === 1, 'it is asked');
    if (!running) await within(turn.rest);
    const { id } = only(await engine.approvals());
    await expect(engine.decideApproval(id, { allow: true, by: LONE })).rejects.toMatchObject({
      code: 'TURN_INVALID_VALUE',
      message: expect.stringMatching(/^by /),
    });
    expect(world.runsOf('send')).toEqual([]);
    expect(await engine.decideApproval(id, { allow: true, by: 'ann' })).toBe('applied');
    slow.open('ok');
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  });
}

it('a prepareModelCall that stops with what is no text fails the call, and the turn has an end', async () => {
  const world = createWorld();
  const turn = await world.boot({ prepareModelCall: () => ({ stop: true }) as never }).startTurn(hello);
  await world.advance(HOUR_MS);
  expect(await within(turn.outcome)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('stop must be a text'),
  });
  expect(world.eventsOf('driverLost')).toEqual([]);
  expect(world.requests).toEqual([]);
});

it('code of the application that throws in the middle of a step ends the turn as failed, and frees the session', async () => {
  let broken = false;
  let id = 0;
  const ids = (): string => {
    if (broken) {
      broken = false;
      throw new Error('no more ids');
    }
    id += 1;
    return `id${id}`;
  };
  const send = act(() => {
    broken = true;
    return 'sent';
  });
  const store = memoryStore();
  const model = scriptedModel([calls('send')]);
  const engine = createTurnEngine({ agent: 'agent', store, clock: simulatedClock(), ids, model, tools: { send } });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('no more ids'),
  });
  expect(await store.markers('agent')).toEqual([]);
  expect(await store.acquire('session s')).toBeDefined();
});

it('an onEvent that rejects later stops nothing, and is a warning', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  const engine = createTurnEngine({
    agent: 'agent',
    store: memoryStore(),
    clock: simulatedClock(),
    model: scriptedModel(['done']),
    onEvent: (async () => {
      throw new Error('the listener is broken');
    }) as never,
  });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  await calm();
  expect(warn).toHaveBeenCalledWith('onEvent threw: the listener is broken', 'DurableTurnWarning');
  expect(unhandled).not.toHaveBeenCalled();
  process.off('unhandledRejection', unhandled);
  warn.mockRestore();
});

it('progress of nothing at all does not fail the call', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const world = createWorld();
  world.says(calls('send'));
  const send = act((_input, call) => {
    call.progress(undefined as never);
    return 'sent';
  });
  await within((await world.boot({ tools: { send } }).startTurn(hello)).outcome);
  expect(only(await world.calls())).toMatchObject({ state: 'succeeded' });
  // The output is stored once, with its message.
  const results = (await world.messages()).flatMap(({ message }) => (message.role === 'tool' ? message.content : []));
  expect(only(results)).toMatchObject({ output: { value: 'sent' } });
  warn.mockRestore();
});

it('a model that still talks after the outcome is not heard', async () => {
  const world = createWorld();
  const late = gate();
  world.says(async (_request, call) => {
    await late.opened;
    call.emit({ type: 'text', id: 't', text: 'late' });
    return 'done';
  });
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await turn.cancel();
  late.open();
  await calm();
  expect(world.events.at(-1)).toMatchObject({ type: 'outcome' });
  expect(world.eventsOf('delta')).toEqual([]);
});

it('a turn that is cancelled while its model call is prepared asks no model', async () => {
  const world = createWorld();
  const preparing = gate();
  let prepared = 0;
  const engine = world.boot({
    prepareModelCall: async () => {
      prepared += 1;
      await preparing.opened;
      return {};
    },
  });
  const turn = await engine.startTurn(hello);
  await until(() => prepared === 1, 'the call is prepared');
  await turn.cancel();
  preparing.open();
  await calm();
  expect(world.requests).toEqual([]);
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
});

it('a lease that is lost while a commit is under way: nothing of the step is told or started behind it (I7)', async () => {
  const world = createWorld();
  const lost = new AbortController();
  const answering = gate();
  world.says(async () => {
    await answering.opened;
    return calls('send');
  });
  const engine = world.boot({ tools: { send: act(() => never()) } });
  const { store } = world.process;
  const acquire = store.acquire.bind(store);
  store.acquire = async (routeKey) => {
    const lease = await acquire(routeKey);
    return lease === undefined ? undefined : { ...lease, lost: lost.signal };
  };
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const committing = gate();
  let held = 0;
  store.fate = async (): Promise<Fate> => {
    held += 1;
    await committing.opened;
    return 'pass';
  };
  answering.open();
  await until(() => held === 1, 'the answer is being written');
  lost.abort();
  await calm();
  const from = world.events.length;
  committing.open();
  await calm(200);
  expect(world.runs).toEqual([]);
  expect(world.requests).toHaveLength(1);
  expect(held).toBe(1);
  expect(world.events.slice(from).filter(({ type }) => type === 'phase' || type === 'outcome')).toEqual([]);
  expect(world.eventsOf('driverLost')).toHaveLength(1);
  expect(await isOpen(turn.outcome)).toBe(true);
});
