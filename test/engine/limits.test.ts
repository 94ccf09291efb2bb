// Limits ask the turn to stop: it gets one last answer, and ends as stopped with the reason.
import { expect, it } from 'vitest';
import { gate, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only } from './world.js';

const tools = { read: look(() => 'ok') };

it('maxIterations: the last answer is asked for without calls, and the turn is stopped with the reason', async () => {
  const world = createWorld();
  world.says(calls('read'), calls('read'), 'this far I got');
  const turn = await world.boot({ tools, limits: { maxIterations: 2 } }).startTurn(hello);
  const outcome = await within(turn.outcome);
  expect(outcome).toMatchObject({ status: 'stopped', reason: 'maxIterations', text: 'this far I got' });
  expect(outcome).not.toHaveProperty('partial');
  expect(world.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'none']);
  // Providers refuse a history with calls but no tools.
  expect(world.requests[2]?.tools.map(({ name }) => name)).toEqual(['read']);
  expect(world.eventsOf('stopping')).toMatchObject([{ reason: 'maxIterations', durable: true }]);
});

it('maxModelCalls counts retries too', async () => {
  const world = createWorld();
  world.says({ fail: 'network' }, calls('read'), 'last words');
  const turn = await world.boot({ tools, limits: { maxModelCalls: 2 } }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.advance(1_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'maxModelCalls', text: 'last words' });
  expect(world.requests).toHaveLength(3);
});

it('maxTokens is summed over the turn', async () => {
  const world = createWorld();
  const spend = { calls: [{ tool: 'read', input: {} }], tokens: 30 };
  world.says(spend, spend, 'last words');
  const turn = await world.boot({ tools, limits: { maxTokens: 100 } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'maxTokens' });
  expect(world.requests).toHaveLength(3);
});

it('turnMs is the time with a driver, over restarts, and not the time nobody ran it', async () => {
  const world = createWorld();
  const built = gate<string>();
  world.says(calls('build'), calls('build'));
  const build = act(() => built.opened, { timeoutMs: 60 * MINUTE_MS, effect: 'idempotent' });
  const limits = { turnMs: 10 * MINUTE_MS };
  await world.boot({ tools: { build }, limits }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(4 * MINUTE_MS);
  await world.process.engine.close({ graceMs: 0 });
  await world.crash();
  await world.advance(60 * MINUTE_MS);
  const second = gate<string>();
  const engine = world.boot({
    tools: { build: act(() => second.opened, { ...build, execute: () => second.opened }) },
    limits,
  });
  const turn = only((await engine.recover()).resumed);
  await until(() => world.runs.length === 2, 'it runs again');
  await world.advance(5 * MINUTE_MS);
  second.open('ok');
  await until(() => world.runs.length === 3, 'nine minutes are not ten');
  world.says('last words');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect((await world.head()).activeMs).toBe(9 * MINUTE_MS);
});

it('turnMs asks the turn to stop before the next model call, and cuts no batch', async () => {
  const world = createWorld();
  const built = gate<string>();
  world.says(calls('build'), 'last words');
  const build = act(() => built.opened, { timeoutMs: 60 * MINUTE_MS });
  const turn = await world.boot({ tools: { build }, limits: { turnMs: MINUTE_MS } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(2 * MINUTE_MS);
  expect(world.runs[0]?.call.signal.aborted).toBe(false);
  built.open('built');
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'turnMs', text: 'last words' });
  expect(JSON.stringify(await world.messages())).toContain('built');
});

it('the application may stop a turn before any model call', async () => {
  const world = createWorld();
  world.says(calls('read'), 'last words');
  const engine = world.boot({
    tools,
    prepareModelCall: ({ modelCalls }) => (modelCalls >= 1 ? { stop: 'budget of the tenant' } : {}),
  });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({
    status: 'stopped',
    reason: 'budget of the tenant',
    text: 'last words',
  });
});

it('calls in the last answer are paired and never run', async () => {
  const world = createWorld();
  world.says({
    say: 'let me just',
    calls: [
      { tool: 'send', input: {} },
      { tool: 'read', input: {} },
    ],
  });
  const engine = world.boot({
    tools: { ...tools, send: act(() => 'sent') },
    prepareModelCall: () => ({ stop: 'now' }),
  });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'now', text: 'let me just' });
  expect(world.runs).toEqual([]);
  expect((await world.messages()).at(-1)?.message).toMatchObject({
    role: 'tool',
    content: [{ output: { type: 'error-text' } }, { output: { type: 'error-text' } }],
  });
  expect(await engine.reviews()).toEqual([]);
});

it('a stop whose last answer fails or is faulty ends as stopped, partial, without another try', async () => {
  for (const answer of [{ fail: 'overloaded' }, { fail: 'auth' }, ''] as const) {
    const world = createWorld();
    world.says(calls('read'), answer);
    const turn = await world.boot({ tools, limits: { maxIterations: 1 } }).startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'maxIterations', partial: true });
    expect(world.requests).toHaveLength(2);
  }
});

it('a crash while the last answer is waited for goes on in the same stop (case C6)', async () => {
  const world = createWorld();
  world.says(calls('read'), { hang: true }, 'last words');
  await world.boot({ tools, limits: { maxIterations: 1 } }).startTurn(hello);
  await until(() => world.requests.length === 2, 'the last answer is waited for');
  const engine = await world.reboot({ tools, limits: { maxIterations: 1 } });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: 'maxIterations', text: 'last words' });
  expect(world.requests[2]?.toolChoice).toBe('none');
});

it('input that waits when a turn is stopped starts the next one', async () => {
  const world = createWorld();
  const last = gate<string>();
  world.says(calls('read'), () => last.opened, 'for the input');
  const engine = world.boot({ tools });
  const turn = await engine.startTurn({ ...hello, limits: { maxIterations: 1 } });
  await until(() => world.requests.length === 2, 'the last answer is waited for');
  await engine.sendMessage({ ...hello, input: 'more' });
  last.open('last words');
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped' });
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the next turn has ended');
  expect((await world.head()).turnId).not.toBe(turn.turnId);
});

it('a long result is cut in the transcript at a well-formed place, and whole in the journal (case C24)', async () => {
  const world = createWorld();
  world.says(calls('read'));
  const text = '😀'.repeat(1_000);
  const turn = await world
    .boot({ tools: { read: act(() => text, { effect: 'idempotent' }) }, limits: { outputBytes: 103 } })
    .startTurn(hello);
  await within(turn.outcome);
  const message = (await world.messages())[2]?.message;
  expect(message).toMatchObject({
    content: [{ output: { type: 'text', value: expect.stringMatching(/^(😀){25}\n\[cut: 4000 bytes/u) } }],
  });
  expect(await world.calls()).toMatchObject([{ output: { type: 'text', value: text } }]);
});
