// What models answer at their worst: every such answer has an end that the model or a person can read.
import { expect, it } from 'vitest';
import { localCalls } from '../../src/core/messages.js';
import type { Json } from '../../src/index.js';
import { jsonSchema } from '../../src/index.js';
import { gate, until, within } from '../engine/waiting.js';
import { act, brief, calls, createWorld, hello, look, only } from './world.js';

const read = look((input) => `read ${JSON.stringify(input)}`);
const strict = jsonSchema<Json>({ type: 'object' }, (value) =>
  typeof (value as { n?: unknown }).n === 'number' ? undefined : 'n must be a number',
);

it('calls that repeat one id are three calls with three results, each its own (I10)', async () => {
  const world = createWorld();
  const twice = { id: 'call_0' };
  world.says({
    calls: [1, 2, 3].map((n) => ({ tool: 'read', input: { n }, ...twice })),
  });
  await within((await world.boot({ tools: { read } }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([1, 2, 3].map((n) => ({ type: 'text', value: `read {"n":${n}}` })));
  const ids = (await world.messages()).flatMap(({ message }) => localCalls(message).map((part) => part.toolCallId));
  expect(new Set(ids).size).toBe(3);
  expect(ids[0]).toBe('call_0');
});

it('the same ids in every answer, over a restart in between, never mix up results', async () => {
  const world = createWorld();
  const answer = (n: number) => ({ calls: [{ tool: 'put', input: { n }, id: 'call_0' }] });
  const put = act((input) => `put ${(input as { n: number }).n}`, { effect: 'idempotent' });
  world.says(answer(1), answer(2), { hang: true });
  await world.boot({ tools: { put } }).startTurn(hello);
  await until(() => world.requests.length === 3, 'two batches');
  world.says(answer(3), answer(4));
  const engine = await world.reboot({ tools: { put } });
  await within(only((await engine.recover()).resumed).outcome);
  expect(await world.outputs()).toEqual([1, 2, 3, 4].map((n) => ({ type: 'text', value: `put ${n}` })));
  expect(world.runs).toHaveLength(4);
});

it('a call of an unknown tool tells the model which tools there are, and its siblings run', async () => {
  const world = createWorld();
  world.says(calls('raed', 'read'));
  await within((await world.boot({ tools: { read, send: act(() => 1) } }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([
    { type: 'error-text', value: 'There is no tool "raed". There are: read, send.' },
    { type: 'text', value: 'read {}' },
  ]);
});

it('names that mean something to JavaScript are no tools', async () => {
  const world = createWorld();
  const names = ['__proto__', 'constructor', 'toString', ''];
  world.says(calls(...names, 'read'));
  await within((await world.boot({ tools: { read } }).startTurn(hello)).outcome);
  const outputs = (await world.outputs()) as { type: string; value: string }[];
  expect(outputs.slice(0, 4).map((output) => output.type)).toEqual(Array(4).fill('error-text'));
  for (const output of outputs.slice(0, 4)) expect(output.value).toContain('There is no tool');
});

it('input that does not fit tells the model what is wrong, and nothing runs with it', async () => {
  const world = createWorld();
  world.says(calls(['put', { n: 'one' }], ['put', { n: 1 }]));
  const put = act(() => 'ok', { input: strict });
  await within((await world.boot({ tools: { put } }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([
    { type: 'error-text', value: 'The input is not valid: n must be a number' },
    { type: 'text', value: 'ok' },
  ]);
  expect(world.runs).toHaveLength(1);
});

it('two hundred calls of one answer run a bounded number at a time, and each has its result in order', async () => {
  const world = createWorld();
  world.says(calls(...Array.from({ length: 200 }, (_, n) => ['read', { n }] as const)));
  let running = 0;
  let most = 0;
  const slow = look(async (input) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    return `${(input as { n: number }).n}`;
  });
  await within((await world.boot({ tools: { read: slow } }).startTurn(hello)).outcome);
  expect(most).toBe(8);
  expect(await world.outputs()).toEqual(Array.from({ length: 200 }, (_, n) => ({ type: 'text', value: `${n}` })));
});

it('two hundred calls with effects, killed in the middle, are each done once at most by their keys (case C5)', async () => {
  const world = createWorld();
  world.says(calls(...Array.from({ length: 200 }, (_, n) => ['put', { n }] as const)));
  const hold = gate<string>();
  const put = (wait: boolean) =>
    act((input) => (wait && (input as { n: number }).n >= 100 ? hold.opened : 'ok'), { effect: 'idempotent' });
  await world.boot({ tools: { put: put(true) } }).startTurn(hello);
  await until(() => world.runs.length === 108, 'a hundred are done and eight run');
  const engine = await world.reboot({ tools: { put: put(false) } });
  await within(only((await engine.recover()).resumed).outcome);
  expect(await world.outputs()).toHaveLength(200);
  expect(new Set(world.runs.map((run) => run.key)).size).toBe(200);
  expect(world.runs).toHaveLength(208);
});

it('an empty answer, a cut-off one and one that can run nothing are nudged; the fourth in a row ends the turn', async () => {
  const bad = [{ say: '' }, { say: 'half a', finish: 'length' as const }, calls('nothing')];
  const world = createWorld();
  world.says(...bad, { say: '' });
  const outcome = await within((await world.boot({ tools: { read } }).startTurn(hello)).outcome);
  expect(world.eventsOf('nudge').map((event) => event.fault)).toEqual(['empty', 'cutOff', 'noCallCanRun']);
  expect(outcome).toMatchObject({ status: 'failed', reason: 'empty' });
  const well = createWorld();
  well.says(...bad, 'now it is right');
  expect(await within((await well.boot({ tools: { read } }).startTurn(hello)).outcome)).toMatchObject({
    status: 'completed',
    text: 'now it is right',
  });
});

it('the calls of a cut-off or filtered answer are never dispatched, and are answered (I10)', async () => {
  for (const finish of ['length', 'content-filter'] as const) {
    const world = createWorld();
    world.says({ say: 'I will', calls: [{ tool: 'send', input: {} }], finish });
    const outcome = await within((await world.boot({ tools: { send: act(() => 1) } }).startTurn(hello)).outcome);
    expect(world.runs).toEqual([]);
    expect(outcome.status).toBe(finish === 'length' ? 'completed' : 'failed');
    if (finish === 'content-filter') expect(outcome.reason).toBe('filtered');
    expect(await world.outputs()).toMatchObject([
      { type: 'error-text', value: expect.stringContaining('did not run') },
    ]);
  }
});

it('an answer that asks to go on is asked again at once, with and without text, and costs no nudge', async () => {
  const world = createWorld();
  world.says({ say: 'first half', finish: 'continue' }, { say: '', finish: 'continue' }, 'second half');
  const outcome = await within((await world.boot().startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'completed', text: 'second half' });
  expect(world.eventsOf('nudge')).toEqual([]);
  expect(world.requests).toHaveLength(3);
});

it('a model that goes on for ever is stopped by its iterations, with the reason', async () => {
  const world = createWorld();
  world.says(...Array.from({ length: 30 }, () => ({ say: 'and', finish: 'continue' as const })), 'end');
  const engine = world.boot({ limits: { maxIterations: 10 } });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'stopped', reason: 'maxIterations' });
  expect(world.requests).toHaveLength(11);
});

it('half a character anywhere in an answer is replaced, and its call is what it was asked for (case C23)', async () => {
  const world = createWorld();
  world.says({ say: 'text \ud83e', calls: [{ tool: 'read', input: { 'k\udd86': 'v\ud83e' }, id: 'id\ud83e' }] });
  await within((await world.boot({ tools: { read } }).startTurn(hello)).outcome);
  expect(JSON.stringify(await world.messages()).isWellFormed()).toBe(true);
  expect(await world.head()).toMatchObject({ ended: { kind: 'completed' } });
  expect(brief(await world.messages())[2]).toBe('tool: read gave text');
});

it('an answer too large to be stored ends the turn with the reason, and the session goes on', async () => {
  const world = createWorld();
  world.says('\u0001'.repeat(3 * 1024 * 1024), 'shorter');
  const engine = world.boot();
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('too large') });
  expect(await within((await engine.startTurn({ ...hello, input: 'again' })).outcome)).toMatchObject({
    text: 'shorter',
  });
});
