// A question to a person outlives processes: it is listed, decidable and expires after any number of restarts.
import { expect, it } from 'vitest';
import { turnMachine } from '../../src/index.js';
import { never, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, MINUTE_MS, needy, only, parking, there, yes } from './world.js';

it('an approval is decided by its id after five restarts, and the turn goes on from there (cases C9, C13)', async () => {
  const world = createWorld();
  world.says(calls(['deploy', { to: 'prod' }]));
  const tools = { deploy: act(() => 'deployed', parking) };
  const turn = await world.boot({ tools }).startTurn(hello);
  await within(turn.rest);
  const before = only(await world.process.engine.approvals());
  for (let restart = 0; restart < 5; restart += 1) {
    const engine = await world.reboot({ tools });
    expect((await engine.recover()).parked).toEqual([turn.turnId]);
    expect(await engine.approvals()).toEqual([before]);
  }
  const { engine } = world.process;
  expect(await engine.decideApproval(before.id, yes)).toBe('applied');
  expect(await within((engine.activeTurn('s') as typeof turn).outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toMatchObject([{ tool: 'deploy', input: { to: 'prod' }, process: 6 }]);
});

it('an approval is decided right after a restart, before anybody called recover()', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', parking) };
  await within((await world.boot({ tools }).startTurn(hello)).rest);
  const engine = await world.reboot({ tools });
  const { id } = only(await engine.approvals());
  expect(await engine.decideApproval(id, yes)).toBe('applied');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs).toHaveLength(1);
});

it('an approval of a turn that was killed while a sibling ran is decided by its id, before and after recover()', async () => {
  for (const recovers of [false, true]) {
    const world = createWorld();
    world.says(calls('deploy', 'put'));
    const deploy = act(() => 'deployed', needy);
    const put = (execute: () => unknown) => act(execute as () => string, { effect: 'idempotent' });
    await world.boot({ tools: { deploy, put: put(() => never()) } }).startTurn(there);
    await until(() => world.runs.length === 1, 'the sibling runs');
    const { id } = only(await world.process.engine.approvals());
    const engine = await world.reboot({ tools: { deploy, put: put(() => 'ok') } });
    if (recovers) await engine.recover();
    expect(await engine.decideApproval(id, yes)).toBe('applied');
    await until(async () => !(await world.head()).inProgress, 'the turn has ended');
    expect(world.runs.map((run) => run.tool).sort()).toEqual(['deploy', 'put', 'put']);
  }
});

it('waiting for a person spends no attempt and never gets stale, however long and over how many restarts (case C27)', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', parking) };
  await within((await world.boot({ tools }).startTurn(hello)).rest);
  const { id } = only(await world.process.engine.approvals());
  for (let restart = 0; restart < 25; restart += 1) {
    await world.advance(24 * HOUR_MS);
    const engine = await world.reboot({ tools });
    expect((await engine.recover()).abandoned).toEqual([]);
  }
  expect(await world.head()).toMatchObject({ attempts: 0, recoveries: 0, inProgress: true });
  expect(await world.process.engine.decideApproval(id, yes)).toBe('applied');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect((await world.head()).ended?.kind).toBe('completed');
});

it('a deadline is absolute: it passes while nothing runs, and what is decided then has expired (case C13)', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', needy) };
  await within((await world.boot({ tools }).startTurn({ ...there, limits: { approvalMs: 10 * MINUTE_MS } })).rest);
  const { id, expiresAt } = only(await world.process.engine.approvals());
  expect(expiresAt).toBe(world.clock.now() + 10 * MINUTE_MS);
  await world.crash();
  await world.advance(10 * MINUTE_MS);
  const engine = world.boot({ tools });
  expect(await engine.decideApproval(id, yes)).toBe('expired');
  await engine.recover();
  await world.advance(0);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(await engine.decideApproval(id, yes)).toBe('expired');
  expect(world.runs).toEqual([]);
  expect(await world.outputs()).toMatchObject([{ type: 'execution-denied' }]);
});

it('one millisecond before its deadline a decision still counts', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', needy) };
  await within((await world.boot({ tools }).startTurn(there)).rest);
  const { id } = only(await world.process.engine.approvals());
  await world.crash();
  await world.advance(5 * MINUTE_MS - 1);
  const engine = world.boot({ tools });
  await engine.recover();
  expect(await engine.decideApproval(id, yes)).toBe('applied');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs).toHaveLength(1);
});

it('a hand-over keeps a question as well: the next process lists and decides it', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', parking) };
  const first = world.boot({ tools });
  await within((await first.startTurn(hello)).rest);
  await within(first.close());
  const engine = await world.reboot({ tools });
  await engine.recover();
  expect(await engine.decideApproval(only(await engine.approvals()).id, yes)).toBe('applied');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
});

it('a question of an unknown version is abandoned with an event when it is decided, and its session is free again (case C8)', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', parking) };
  const old = Object.assign(Object.create(Object.getPrototypeOf(turnMachine)), turnMachine, { version: '0' });
  await within((await world.boot({ tools, machine: old }).startTurn(hello)).rest);
  const engine = await world.reboot({ tools });
  await engine.recover();
  const { id } = only(await engine.approvals());
  const said = await engine.decideApproval(id, yes).catch((error) => error.code);
  expect(['applied', 'TURN_NOT_RESUMABLE']).toContain(said);
  // The decision is durable at once; that the turn cannot go on with it shows behind it.
  await until(() => world.eventsOf('interrupted_turn_abandoned').length > 0, 'the turn is abandoned');
  expect(only(world.eventsOf('interrupted_turn_abandoned'))).toMatchObject({ gate: 'checkpoint' });
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned' } });
  expect(await engine.approvals()).toEqual([]);
  expect(await within((await engine.startTurn({ ...hello, input: 'next' })).outcome)).toMatchObject({ text: 'done' });
  expect(world.runs).toEqual([]);
});

it('a question of an old version is decided once the migration hook brings it over (case C8)', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', parking) };
  const old = Object.assign(Object.create(Object.getPrototypeOf(turnMachine)), turnMachine, { version: '0' });
  await within((await world.boot({ tools, machine: old }).startTurn(hello)).rest);
  const engine = await world.reboot({ tools, migrate: (checkpoint, to) => ({ ...checkpoint, ...to }) });
  expect(await engine.decideApproval(only(await engine.approvals()).id, yes)).toBe('applied');
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs).toHaveLength(1);
});
