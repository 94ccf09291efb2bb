// Calls that must not overlap: the tool with itself, or whatever names the same thing.
import { expect, it } from 'vitest';
import { calm, gate, until, within } from '../engine/waiting.js';
import { act, approvalFor, calls, createWorld, hello, parking, yes } from './world.js';

const file = (input: unknown) => (input as { file: string }).file;

it('exclusive: true is the tool with itself, one after the other in the order of the model', async () => {
  const world = createWorld();
  world.says(calls(['git', { n: 1 }], ['git', { n: 2 }], 'other', ['git', { n: 3 }]));
  let running = 0;
  const git = act(
    async (input) => {
      running += 1;
      expect(running).toBe(1);
      await calm(3);
      running -= 1;
      return `${(input as { n: number }).n}`;
    },
    { exclusive: true },
  );
  await within((await world.boot({ tools: { git, other: act(() => 'o') } }).startTurn(hello)).outcome);
  expect(world.runsOf('git').map((run) => run.input)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect((await world.outputs()).map((output) => (output as { value: string }).value)).toEqual(['1', '2', 'o', '3']);
});

it('by name: tools that name the same thing never overlap, whichever they are', async () => {
  const world = createWorld();
  world.says(calls(['edit', { file: 'a' }], ['move', { file: 'a' }], ['move', { file: 'b' }]));
  const open = gate<string>();
  const tools = {
    edit: act(() => open.opened, { exclusive: file }),
    move: act(() => 'moved', { exclusive: file }),
  };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 2, 'what may run runs');
  await calm();
  expect(world.runs.map((run) => [run.tool, run.input])).toEqual([
    ['edit', { file: 'a' }],
    ['move', { file: 'b' }],
  ]);
  open.open('edited');
  await within(turn.outcome);
  expect(world.runs).toHaveLength(3);
});

it('a call that waits for its turn holds nobody else up, and counts for nothing against parallelCalls', async () => {
  const world = createWorld();
  world.says(calls('git', 'git', 'git', 'other', 'other'));
  const open = gate<string>();
  const tools = { git: act(() => open.opened, { exclusive: true }), other: act(() => 'o') };
  const turn = await world.boot({ tools, limits: { parallelCalls: 2 } }).startTurn(hello);
  await until(() => world.runsOf('other').length === 2, 'the others ran beside the first');
  expect(world.runsOf('git')).toHaveLength(1);
  open.open('ok');
  await within(turn.outcome);
  expect(world.runsOf('git')).toHaveLength(3);
});

it('exclusive holds over a restart: those that run again do not overlap either', async () => {
  const world = createWorld();
  world.says(calls(['git', { n: 1 }], ['git', { n: 2 }]));
  const hold = gate<string>();
  const git = (execute: () => unknown) => act(execute as () => string, { exclusive: true, effect: 'idempotent' });
  await world.boot({ tools: { git: git(() => hold.opened) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'one runs');
  const again = gate<string>();
  const engine = await world.reboot({ tools: { git: git(() => again.opened) } });
  await engine.recover();
  await until(() => world.runs.length === 2, 'one runs again');
  await calm();
  expect(world.runs.map((run) => run.input)).toEqual([{ n: 1 }, { n: 1 }]);
  again.open('ok');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs).toHaveLength(3);
});

it('a call that a person allowed waits for the one it excludes, and then runs', async () => {
  const world = createWorld();
  world.says(calls(['edit', { file: 'a' }], ['drop', { file: 'a' }]));
  const open = gate<string>();
  const tools = {
    edit: act(() => open.opened, { exclusive: file }),
    drop: act(() => 'dropped', { exclusive: file, ...parking }),
  };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the first runs');
  expect(await engine.decideApproval((await approvalFor(engine, 'drop')).id, yes)).toBe('applied');
  await calm();
  expect(world.runsOf('drop')).toEqual([]);
  open.open('edited');
  await within(turn.outcome);
  expect(world.runsOf('drop')).toHaveLength(1);
});
