// A turn without effects is written with a debounce: what a crash takes of it is had again. Whatever changes of a call
// that is on disk is durable as it arrives, however young the last checkpoint is.
import { expect, it } from 'vitest';
import { CHECKPOINT_DEBOUNCE_MS } from '../../machines/index.js';
import type { ToolContext, ToolSet } from '../../src/index.js';
import { never, until, within } from './waiting.js';
import { type Answer, calls, createWorld, HOUR_MS, hello, look, type World } from './world.js';

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

/** A checkpoint, and the outcome of the call that it found under way. */
const MOST_IN_A_DEBOUNCE = 2;

it('how often a turn without effects is written depends on the debounce, not on its iterations', async () => {
  const iterations = 60;
  const world = createWorld();
  slowly(world, ...Array.from({ length: iterations }, (_, n) => calls(['read', { n }])));
  world.says({ hang: true });
  await world.boot({ tools: { read: look((input) => input) } }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const before = world.process.store.commits;
  for (let n = 0; n < iterations; n += 1) await world.advance(EACH_MS);
  expect(world.requests).toHaveLength(iterations + 1);
  const debounces = (iterations * EACH_MS) / CHECKPOINT_DEBOUNCE_MS;
  const commits = world.process.store.commits - before;
  expect(commits).toBeGreaterThanOrEqual(debounces);
  expect(commits).toBeLessThanOrEqual(debounces * MOST_IN_A_DEBOUNCE);
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
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
  // From here on the time of that checkpoint is known again.
  await world.advance(EACH_MS);
  await until(() => world.requests.length === 3, 'and again');
  expect(await world.messages()).toHaveLength(3);
});

it('the outcome of a call that a checkpoint named is durable as it arrives, without effects as well', async () => {
  const world = createWorld();
  await writtenAnswer(world, calls('read'), { read: look(() => 'read') });
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect((await world.calls()).map(({ state }) => state)).toEqual(['succeeded']);
  const told = world.eventsOf('call').map(({ state, durable }) => `${state} ${durable}`);
  expect(told).toEqual(['dispatched true', 'succeeded true']);
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
