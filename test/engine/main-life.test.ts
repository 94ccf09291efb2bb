// The life of a turn in which nothing goes wrong: input, answers, calls, outcome.
import { expect, it } from 'vitest';
import type { ToolMessage } from '../../src/index.js';
import { calm, gate, isOpen, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look } from './world.js';

it('a turn goes from its input to an outcome', async () => {
  const world = createWorld();
  world.says('good morning');
  const turn = await world.boot().startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'good morning' });
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
  expect(await within(turn.rest)).toMatchObject({ status: 'completed' });
});

it('a clean turn clears the flag and the marker', async () => {
  const world = createWorld();
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  expect(await world.head()).toMatchObject({ inProgress: true, turnId: turn.turnId });
  expect(await world.store.markers('agent')).toMatchObject([{ sessionId: 's', turnId: turn.turnId }]);
  await within(turn.outcome);
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'completed' }, phase: 'completed' });
  expect(await world.store.markers('agent')).toEqual([]);
  expect(await engine.interrupted()).toEqual([]);
});

it('the results of several batches reach the model, and its last text is the outcome', async () => {
  const world = createWorld();
  world.says(calls(['read', { path: 'a' }]), calls(['write', { path: 'b' }], 'read'), 'all done');
  const tools = { read: look((input) => ({ was: input })), write: act(() => 'written') };
  const turn = await world.boot({ tools }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'all done' });
  expect(world.requests).toHaveLength(3);
  const results = world.requests[2]?.messages.filter((message): message is ToolMessage => message.role === 'tool');
  expect(results?.flatMap(({ content }) => content).map((part) => ('output' in part ? part.output : part))).toEqual([
    { type: 'json', value: { was: { path: 'a' } } },
    { type: 'text', value: 'written' },
    { type: 'json', value: { was: {} } },
  ]);
});

it('N calls give N results in the model’s order, whichever ends first (case C2)', async () => {
  const world = createWorld();
  const slow = gate<string>();
  const slower = gate<string>();
  world.says(calls('slower', 'slow', 'quick'), 'done');
  const tools = { slower: act(() => slower.opened), slow: look(() => slow.opened), quick: act(() => 'first') };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 3, 'all three run');
  slow.open('second');
  await calm();
  slower.open('third');
  await within(turn.outcome);
  const message = (await world.messages())[2]?.message as ToolMessage;
  expect(message.content).toMatchObject([
    { toolCallId: 'call_0', toolName: 'slower', output: { value: 'third' } },
    { toolCallId: 'call_1', toolName: 'slow', output: { value: 'second' } },
    { toolCallId: 'call_2', toolName: 'quick', output: { value: 'first' } },
  ]);
});

it('the result of a sibling is durable while a stalled tool still runs (case C3)', async () => {
  const world = createWorld();
  const stalled = gate<string>();
  world.says(calls('stalled', 'quick'));
  const turn = await world
    .boot({ tools: { stalled: act(() => stalled.opened), quick: act(() => 'here') } })
    .startTurn(hello);
  await until(async () => (await world.calls()).some((call) => call.state === 'succeeded'), 'a result is on disk');
  expect(await world.calls()).toMatchObject([
    { toolName: 'stalled', state: 'dispatched' },
    { toolName: 'quick', state: 'succeeded', output: { type: 'text', value: 'here' } },
  ]);
  expect(await isOpen(turn.outcome)).toBe(true);
  stalled.open('late');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('an effectful iteration is two commits: its calls, and its results', async () => {
  const world = createWorld();
  world.says(calls('write', 'write'), 'done');
  const engine = world.boot({ tools: { write: act(() => 'ok') } });
  const turn = await engine.startTurn(hello);
  await within(turn.outcome);
  // The input, the calls, the results, the end.
  expect(world.process.store.commits).toBe(4);
});

it('usage is summed over the answers of the turn, in the outcome and in the head', async () => {
  const world = createWorld();
  world.says({ calls: [{ tool: 'read', input: {} }], tokens: 10 }, { say: 'done', tokens: 7 });
  const engine = world.boot({ tools: { read: look(() => null) } });
  const turn = await engine.startTurn(hello);
  const usage = { input: { total: 17 }, output: { total: 17 } };
  expect(await within(turn.outcome)).toMatchObject({ usage });
  expect(await world.head()).toMatchObject({ usage, modelCalls: 2 });
  expect((await engine.session('s'))?.usage).toEqual(usage);
});

it('facts are announced after their commit and progress is marked as not durable (I9)', async () => {
  const world = createWorld();
  world.says({ say: 'I write', calls: [{ tool: 'write', input: {} }] }, 'done');
  const turn = await world
    .boot({
      tools: {
        write: act((_input, { progress }) => {
          progress({ percent: 50 });
          return 'ok';
        }),
      },
    })
    .startTurn(hello);
  await within(turn.outcome);
  const told = world.events.map((event) => {
    const what = event.type === 'phase' ? event.phase : event.type === 'call' ? event.state : '';
    return `${event.durable ? '' : '~'}${event.type}${what === '' ? '' : ` ${what}`}`;
  });
  expect(told).toEqual([
    'message',
    'phase setup',
    '~phase awaitingLLM',
    '~delta',
    '~usage',
    'message',
    'call dispatched',
    'phase executingTools',
    '~progress',
    'message',
    'call succeeded',
    '~phase awaitingLLM',
    '~delta',
    '~usage',
    'message',
    'phase completed',
    'outcome',
  ]);
  for (const event of world.events) {
    expect(event).toMatchObject({ sessionId: 's', turnId: turn.turnId, at: world.clock.now() });
  }
});

it('the same message id again is a duplicate, before, during and after its turn', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const message = { ...hello, messageId: 'm1' };
  const first = await engine.sendMessage(message);
  const second = await engine.sendMessage(message);
  expect(first).toMatchObject({ accepted: 'started', messageId: 'm1' });
  expect(second).toMatchObject({ accepted: 'duplicate', messageId: 'm1' });
  expect(second.turn.turnId).toBe(first.turn.turnId);
  answer.open('hi');
  expect(await within(second.turn.outcome)).toMatchObject({ text: 'hi' });
  const third = await engine.sendMessage(message);
  expect(third.accepted).toBe('duplicate');
  expect(await within(third.turn.outcome)).toMatchObject({ status: 'completed', text: 'hi' });
  expect(await within((await engine.startTurn(message)).outcome)).toMatchObject({ text: 'hi' });
  expect(await world.messages()).toHaveLength(2);
  expect(world.requests).toHaveLength(1);
});

it('two copies of a message that come at once start one turn', async () => {
  const world = createWorld();
  const engine = world.boot();
  const sent = await Promise.all([1, 2, 3].map(() => engine.sendMessage({ ...hello, messageId: 'm1' })));
  expect(sent.map(({ accepted }) => accepted).sort()).toEqual(['duplicate', 'duplicate', 'started']);
  await Promise.all(sent.map(({ turn }) => within(turn.outcome)));
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
});

it('startTurn is refused where the session or its route is busy, and nothing is written', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const engine = world.boot();
  const turn = await engine.startTurn({ ...hello, routeKey: 'r' });
  const busy = { code: 'TURN_BUSY', retryable: true };
  await expect(engine.startTurn(hello)).rejects.toMatchObject(busy);
  await expect(engine.startTurn({ ...hello, sessionId: 't', routeKey: 'r' })).rejects.toMatchObject(busy);
  expect(await world.store.head('t')).toBeUndefined();
  expect((await world.store.inbox('s')).length).toBe(0);
  await turn.cancel();
});

it('what the model port needs is there: instructions, tools, choice, settings, and which call this is', async () => {
  const world = createWorld();
  world.says(calls('read'), 'done');
  const turn = await world
    .boot({
      tools: { read: look(() => 1), hidden: look(() => 2) },
      instructions: 'Be brief.',
      settings: { temperature: 0.5 },
      prepareModelCall: (info, messages) =>
        messages.length > 1 ? { activeTools: ['read'], instructions: `Call ${info.modelCalls}` } : {},
    })
    .startTurn(hello);
  await within(turn.outcome);
  expect(world.requests[0]).toMatchObject({
    instructions: [{ role: 'system', content: 'Be brief.' }],
    toolChoice: 'auto',
    settings: { temperature: 0.5 },
    call: { sessionId: 's', turnId: turn.turnId, modelCall: 0, attempt: 0 },
  });
  expect(world.requests[0]?.tools.map(({ name }) => name)).toEqual(['read', 'hidden']);
  expect(world.requests[1]?.tools.map(({ name }) => name)).toEqual(['read']);
  expect(world.requests[1]).toMatchObject({ instructions: [{ content: 'Call 1' }], call: { modelCall: 1 } });
  expect((await world.messages()).every(({ message }) => message.role !== 'system')).toBe(true);
});

it('a second turn of a session sees the first, and its calls have ids and keys of their own', async () => {
  const world = createWorld();
  world.says(calls('write'), 'one', calls('write'), 'two');
  const engine = world.boot({ tools: { write: act(() => 'ok') } });
  await within((await engine.startTurn(hello)).outcome);
  const second = await engine.startTurn({ ...hello, input: 'again' });
  expect(await within(second.outcome)).toMatchObject({ text: 'two' });
  expect(world.requests[3]?.messages).toHaveLength(7);
  const [a, b] = world.runs;
  expect(a?.key).not.toBe(b?.key);
  expect(a?.call.callId).not.toBe(b?.call.callId);
});
