// Work without effects is written once in a debounce: what a crash takes of it is had again. Everything that cannot be
// had again is durable when it is told, however young the last checkpoint is.
import { describe, expect, it } from 'vitest';
import { CHECKPOINT_DEBOUNCE_MS } from '../../machines/index.js';
import type { ToolContext, ToolSet } from '../../src/index.js';
import { never, until, within } from './waiting.js';
import { type Answer, act, calls, createWorld, HOUR_MS, hello, look, only, type World } from './world.js';

const EACH_MS = 500;

const after = (world: World, ms: number, answer: Answer): Answer => {
  return async (request, call) => {
    await new Promise<void>((resolve) => world.clock.after(ms, resolve));
    return typeof answer === 'function' ? answer(request, call) : answer;
  };
};

/** The model takes half a second for each answer. */
const slowly = (world: World, ...answers: readonly Answer[]): void =>
  world.says(...answers.map((answer) => after(world, EACH_MS, answer)));

/** A turn whose first answer was written because its debounce was over, and whose tool has not run yet. */
async function writtenAnswer(world: World, answer: Answer, tools: ToolSet): Promise<void> {
  world.says(after(world, CHECKPOINT_DEBOUNCE_MS, answer), { hang: true });
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.advance(CHECKPOINT_DEBOUNCE_MS);
}

it('a turn without effects is written once in a debounce, whichever boundary is due', async () => {
  const iterations = 60;
  const world = createWorld();
  slowly(world, ...Array.from({ length: iterations }, (_, n) => calls(['read', { n }])));
  world.says({ hang: true });
  await world.boot({ tools: { read: look((input) => input) } }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const before = world.process.store.commits;
  for (let n = 0; n < iterations; n += 1) await world.advance(EACH_MS);
  expect(world.requests).toHaveLength(iterations + 1);
  expect(world.process.store.commits - before).toBe((iterations * EACH_MS) / CHECKPOINT_DEBOUNCE_MS);
});

it('a clock that was set back holds no checkpoint back', async () => {
  const world = createWorld();
  slowly(world, calls('read'), calls('read'));
  world.says({ hang: true });
  await world.boot({ tools: { read: look(() => 'read') } }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const { now } = world.clock;
  Object.assign(world.clock, { now: () => now() - HOUR_MS });
  await world.advance(EACH_MS);
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
  // From here on the time of that checkpoint is known again.
  await world.advance(EACH_MS);
  await until(() => world.requests.length === 3, 'and again');
  expect(await world.messages()).toHaveLength(2);
});

it('the outcome of a call without effects waits with the message that shows it, is told as progress, and is written with it', async () => {
  const world = createWorld();
  await writtenAnswer(world, calls('read'), { read: look(() => 'read') });
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect((await world.calls()).map(({ state }) => state)).toEqual(['dispatched']);
  const told = () => world.eventsOf('call').map(({ state, durable }) => `${state} ${durable}`);
  expect(told()).toEqual(['dispatched true', 'succeeded false']);
  await within(world.process.engine.close());
  expect((await world.calls()).map(({ state }) => state)).toEqual(['succeeded']);
  expect(told()).toEqual(['dispatched true', 'succeeded false', 'succeeded true']);
});

it('killed while it waits, the call runs again and the turn goes on', async () => {
  const tools = { read: look(() => 'read') };
  const world = createWorld();
  await writtenAnswer(world, calls('read'), tools);
  await until(() => world.requests.length === 2, 'the model is asked again');
  const engine = await world.reboot({ tools });
  const { resumed } = await engine.recover();
  await within((resumed[0] as { outcome: Promise<unknown> }).outcome);
  expect(world.runsOf('read').map(({ process }) => process)).toEqual([1, 2]);
  expect((await world.messages()).map(({ message }) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
});

it('while its siblings run, an outcome is durable as it arrives', async () => {
  const tools = { read: look(() => 'read'), hang: look(() => never()) };
  const world = createWorld();
  await writtenAnswer(world, calls('read', 'hang'), tools);
  await until(async () => (await world.calls())[0]?.state === 'succeeded', 'the outcome is durable');
  expect((await world.calls()).map(({ state }) => state)).toEqual(['succeeded', 'dispatched']);
});

it('what a tool notes is durable when note() resolves, however young the checkpoint is', async () => {
  const noted: unknown[] = [];
  const world = createWorld();
  const tools = {
    read: look(async (_input, call) => {
      await call.note('half way');
      noted.push((await world.calls())[0]?.notes);
      return 'read';
    }),
  };
  await writtenAnswer(world, calls('read'), tools);
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect(noted).toEqual([['half way']]);
});

it('what a tool notes behind its outcome is durable as well', async () => {
  const world = createWorld();
  let note: ToolContext['note'] | undefined;
  const tools = {
    read: look((_input, call) => {
      note = call.note;
      return 'read';
    }),
  };
  await writtenAnswer(world, calls('read'), tools);
  await until(() => world.requests.length === 2, 'the model is asked again');
  await within(note?.('late') as Promise<void>);
  expect((await world.calls()).map(({ state, notes }) => [state, notes])).toEqual([['succeeded', ['late']]]);
});

it('an outcome with an effect is durable before the model is shown it, however young the checkpoint is', async () => {
  const world = createWorld();
  await writtenAnswer(world, calls('mail', 'read'), { mail: act(() => 'sent'), read: look(() => 'read') });
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect((await world.calls()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
});

describe('an outcome that a person made possible is durable before the model is shown it', () => {
  const asks = { read: look(() => 'read', { approval: 'required' }) };

  it('by a decision, which covers no second run', async () => {
    const world = createWorld();
    world.says(calls('read'), { hang: true });
    const engine = world.boot({ tools: asks });
    await engine.startTurn({ ...hello, attended: true });
    await until(async () => (await engine.approvals()).length === 1, 'a person is asked');
    await engine.decideApproval(only(await engine.approvals()).id, { allow: true, by: 'ann' });
    await until(() => world.requests.length === 2, 'the model is asked again');
    expect((await world.calls()).map(({ state }) => state)).toEqual(['succeeded']);
  });

  it('by a grant, which holds only while somebody is there', async () => {
    const world = createWorld();
    const again = after(world, CHECKPOINT_DEBOUNCE_MS, calls(['read', { again: true }]));
    world.says(calls('read'), again, { hang: true });
    const engine = world.boot({ tools: asks });
    await engine.startTurn({ ...hello, attended: true });
    await until(async () => (await engine.approvals()).length === 1, 'a person is asked');
    await engine.decideApproval(only(await engine.approvals()).id, { allow: true, by: 'ann', grant: 'session' });
    await until(() => world.requests.length === 2, 'the model is asked again');
    await world.advance(CHECKPOINT_DEBOUNCE_MS);
    await until(() => world.requests.length === 3, 'and again');
    expect((await world.calls()).map(({ state, approval }) => [state, approval?.by])).toEqual([
      ['succeeded', 'ann'],
      ['succeeded', undefined],
    ]);
  });
});
