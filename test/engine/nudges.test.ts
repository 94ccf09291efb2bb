// Answers that are the model's fault: it is nudged, and told what was wrong; its siblings' good calls run.
import { expect, it } from 'vitest';
import type { ModelAnswer } from '../../src/index.js';
import { until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, type World } from './world.js';

const kinds = (world: World) =>
  world.messages().then((messages) => messages.map(({ message, meta }) => `${message.role} ${meta.origin}`));

it('an empty answer is nudged, and leaves no message of its own', async () => {
  const world = createWorld();
  world.says('', '  ', 'awake');
  const turn = await world.boot().startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'awake' });
  expect(await kinds(world)).toEqual(['user input', 'user nudge', 'user nudge', 'assistant model']);
  expect(world.eventsOf('nudge')).toMatchObject([{ fault: 'empty' }, { fault: 'empty' }]);
  expect(world.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', content: [{ type: 'text' }] });
});

it('three nudges within ten answers are enough, the fourth fault ends the turn', async () => {
  const world = createWorld();
  world.says('', '', '', '');
  const turn = await world.boot().startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'empty' });
  expect(world.requests).toHaveLength(4);
});

it('the nudges of a long healthy turn do not add up', async () => {
  const world = createWorld();
  const work = Array.from({ length: 9 }, (_, n) => calls(['read', { n }]));
  world.says('', '', '', ...work, '', 'done');
  const turn = await world.boot({ tools: { read: look(() => 1) } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.eventsOf('nudge')).toHaveLength(4);
});

it('a cut-off answer is kept, its calls are paired and never run, and the model is nudged', async () => {
  const world = createWorld();
  world.says({ say: 'I will', calls: [{ tool: 'send', input: {} }], finish: 'length' }, 'done');
  const turn = await world.boot({ tools: { send: act(() => 'sent') } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toEqual([]);
  expect(await kinds(world)).toEqual(['user input', 'assistant model', 'tool tool', 'user nudge', 'assistant model']);
  expect(world.eventsOf('nudge')).toMatchObject([{ fault: 'cutOff' }]);
});

it('an answer of which no call can run is nudged behind its error results', async () => {
  const world = createWorld();
  world.says(calls('missing', ['strict', { n: 'x' }]), 'done');
  const strict = {
    ...act(() => 1),
    input: {
      '~standard': {
        version: 1 as const,
        vendor: 't',
        validate: () => ({ issues: [{ message: 'no number', path: ['n'] }] }),
        jsonSchema: { input: () => ({}) },
      },
    },
  };
  const turn = await world.boot({ tools: { strict } }).startTurn(hello);
  await within(turn.outcome);
  const results = JSON.stringify((await world.messages())[2]);
  expect(results).toContain('There is no tool \\"missing\\". There are: strict.');
  expect(results).toContain('n: no number');
  expect(world.eventsOf('nudge')).toMatchObject([{ fault: 'noCallCanRun' }]);
  expect(world.runs).toEqual([]);
});

it('a bad call among good ones gets an error result, and its siblings run without a nudge', async () => {
  const world = createWorld();
  world.says(calls('missing', 'write'), 'done');
  const turn = await world.boot({ tools: { write: act(() => 'ok') } }).startTurn(hello);
  await within(turn.outcome);
  expect(world.runs).toHaveLength(1);
  expect(world.eventsOf('nudge')).toEqual([]);
  expect((await world.messages())[2]?.message).toMatchObject({
    content: [{ output: { type: 'error-text' } }, { output: { type: 'text', value: 'ok' } }],
  });
});

it('a call whose input was no JSON is malformed, and does not run', async () => {
  const world = createWorld();
  const answer = (malformed: boolean): ModelAnswer => ({
    content: malformed
      ? [{ type: 'tool-call', toolCallId: 'a', toolName: 'write', input: '{"x":', malformed: 'Unexpected end of JSON' }]
      : [{ type: 'text', text: 'done' }],
    finish: { reason: malformed ? 'tool-calls' : 'stop' },
    usage: { input: {}, output: {} },
  });
  let n = 0;
  const model = { id: 'm', call: async () => answer(n++ === 0) };
  await within((await world.boot({ model, tools: { write: act(() => 'ok') } }).startTurn(hello)).outcome);
  expect(world.runs).toEqual([]);
  expect(JSON.stringify((await world.messages())[2])).toContain('Unexpected end of JSON');
});

it('a filtered answer is not nudged: the turn fails and says so', async () => {
  const world = createWorld();
  world.says({ say: 'I', calls: [{ tool: 'send', input: {} }], finish: 'content-filter' });
  const turn = await world.boot({ tools: { send: act(() => 'sent') } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'filtered' });
  expect(world.runs).toEqual([]);
  expect(await kinds(world)).toEqual(['user input', 'assistant model', 'tool tool']);
});

it('an answer that goes on is asked to go on, and no fault is found in it', async () => {
  const world = createWorld();
  world.says({ say: 'part one', finish: 'continue' }, { say: '', finish: 'continue' }, 'part two');
  const turn = await world.boot().startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'part two' });
  expect(world.eventsOf('nudge')).toEqual([]);
  expect(world.requests).toHaveLength(3);
});

it('a crash behind a nudge does not nudge twice', async () => {
  const world = createWorld();
  world.says('');
  world.says({ hang: true });
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 2, 'the model is asked again');
  const engine = await world.reboot();
  await engine.recover();
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect((await kinds(world)).filter((kind) => kind === 'user nudge').length).toBeLessThanOrEqual(1);
});

it('text of models and tools is made well formed, never a commit that is refused (case C23)', async () => {
  const world = createWorld();
  const lone = 'a\ud800b';
  world.says({ say: lone, calls: [{ tool: 'write', input: { [lone]: lone }, id: lone }] }, lone);
  const write = act(() => ({ [lone]: lone }));
  const turn = await world.boot({ tools: { write } }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'a\ufffdb' });
  expect(JSON.stringify(await world.messages())).not.toContain('ud800');
});
