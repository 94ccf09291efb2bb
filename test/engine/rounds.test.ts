// recover({ everyMs }): what was held, or not taken, gets another chance while the process lives.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { Rounds } from '../../src/engine/rounds.js';
import { simulatedClock } from '../../src/testing/index.js';
import { storeFailed } from './process-store.js';
import { armedTimers, calm, type Gate, gate, isOpen, never, until, within } from './waiting.js';
import { createWorld, HOUR_MS, hello, MINUTE_MS, only } from './world.js';

const hang = { hang: true } as const;

/** A world with one turn that a crash interrupted. */
async function interrupted() {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  return { world, turnId: turn.turnId };
}

it('dependencies that are away for longer than there are attempts cost the turn nothing but time', async () => {
  const { world, turnId } = await interrupted();
  let away = true;
  const dependencies = () => {
    if (away) throw new Error('the database is away');
  };
  const engine = world.boot({ dependencies });
  expect(only((await engine.recover({ everyMs: MINUTE_MS })).held)).toMatchObject({ turnId, gate: 'dependencies' });
  for (let round = 0; round < 10; round += 1) await world.advance(MINUTE_MS);
  // The start itself counts, as ever: a process that dies there dies at every start.
  expect(await world.head()).toMatchObject({ inProgress: true, attempts: 1, recoveries: 1 });
  away = false;
  await world.advance(MINUTE_MS);
  await until(async () => !(await world.head()).inProgress, 'the turn ends');
  expect(await world.store.outcome(turnId)).toMatchObject({ status: 'completed' });
});

it('a hold is told once, and again when something about it has changed', async () => {
  const { world } = await interrupted();
  let why = 'the database is away';
  const dependencies = () => {
    if (why !== '') throw new Error(why);
  };
  const engine = world.boot({ dependencies });
  const told = () =>
    world.events.flatMap(({ type, ...event }) => ('gate' in event ? [`${type}: ${event.reason}`] : []));
  const hold = (reason: string) => ['interrupted_turn_resuming: attempt 1', `interrupted_turn_held: ${reason}`];
  await engine.recover({ everyMs: MINUTE_MS });
  for (let round = 0; round < 3; round += 1) await world.advance(MINUTE_MS);
  expect(told()).toEqual(hold('the database is away'));
  world.events.length = 0;
  why = 'the password is wrong';
  for (let round = 0; round < 3; round += 1) await world.advance(MINUTE_MS);
  expect(told().slice(1)).toEqual(['interrupted_turn_held: the password is wrong']);
  // Whoever asks for themselves gets an answer, changed or not.
  world.events.length = 0;
  expect((await engine.recover()).held).toHaveLength(1);
  expect(told().slice(1)).toEqual(['interrupted_turn_held: the password is wrong']);
  world.events.length = 0;
  why = '';
  await world.advance(MINUTE_MS);
  expect(told().map((event) => event.split(':')[0])).toEqual(['interrupted_turn_resuming', 'interrupted_turn_resumed']);
});

it('a hold is told once where turns wait for one route as well', async () => {
  const world = createWorld();
  const sessions = ['a', 'b', 'c'];
  for (const [nth, sessionId] of sessions.entries()) {
    world.says(hang);
    await world.boot().startTurn({ ...hello, sessionId, routeKey: 'r' });
    await until(() => world.requests.length === nth + 1, 'the model is asked');
    await world.crash();
  }
  const dependencies = () => {
    throw new Error('the database is away');
  };
  await world.boot({ dependencies }).recover({ everyMs: MINUTE_MS });
  for (let round = 0; round < 5; round += 1) await world.advance(MINUTE_MS);
  const told = world.eventsOf('interrupted_turn_held').map(({ sessionId }) => sessionId);
  expect(told.sort()).toEqual(sessions);
});

it('an outcome that was not taken is handed over again at the next round', async () => {
  const world = createWorld();
  let taken = 0;
  const onOutcome = async () => {
    taken += 1;
    if (taken < 3) throw new Error('not now');
  };
  const engine = world.boot({ onOutcome });
  await engine.recover({ everyMs: MINUTE_MS });
  await within((await engine.startTurn(hello)).outcome);
  await calm();
  expect(taken).toBe(1);
  await world.advance(MINUTE_MS);
  await world.advance(MINUTE_MS);
  expect(taken).toBe(3);
  expect(await world.head()).toMatchObject({ outcomesDue: [] });
  await world.advance(HOUR_MS);
  expect(taken).toBe(3);
});

it('rounds never overlap, and the pause counts from the end of one', async () => {
  const { world } = await interrupted();
  const builds: Gate[] = [];
  const dependencies = async () => {
    const build = gate();
    builds.push(build);
    await build.opened;
    throw new Error('no');
  };
  const engine = world.boot({ dependencies });
  const first = engine.recover({ everyMs: 1_000 });
  await until(() => builds.length === 1, 'it builds');
  await world.advance(10_000);
  expect(builds).toHaveLength(1);
  builds[0]?.open();
  await within(first);
  await world.advance(999);
  expect(builds).toHaveLength(1);
  await world.advance(1);
  expect(builds).toHaveLength(2);
  // Asked for again while a round is under way: the pause is another one, and nothing overlaps.
  await world.advance(30_000);
  expect(builds).toHaveLength(2);
  builds[1]?.open();
  await calm();
  await world.advance(1_000);
  expect(builds).toHaveLength(3);
  builds[2]?.open();
});

it('another pause, asked for in the middle of a round, counts from its end', async () => {
  const clock = simulatedClock();
  const rounds: Gate[] = [];
  const repeated = new Rounds(clock, async () => {
    const round = gate();
    rounds.push(round);
    await round.opened;
  });
  repeated.start(1_000);
  await clock.advance(1_000);
  repeated.start(100);
  await clock.advance(10_000);
  expect(rounds).toHaveLength(1);
  rounds[0]?.open();
  await clock.advance(100);
  expect(rounds).toHaveLength(2);
});

it('a round that fails is told, and the next one comes all the same', async () => {
  const { world, turnId } = await interrupted();
  const engine = world.boot({ recovery: { stalenessMs: HOUR_MS } });
  const { store } = world.process;
  const markers = store.markers;
  store.markers = () => Promise.reject(storeFailed());
  await expect(engine.recover({ everyMs: MINUTE_MS })).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
  await world.advance(MINUTE_MS);
  expect(only(world.eventsOf('storeFailed'))).toMatchObject({ durable: false });
  store.markers = markers;
  await world.advance(MINUTE_MS);
  await until(async () => !(await world.head()).inProgress, 'the turn ends');
  expect(await world.store.outcome(turnId)).toMatchObject({ status: 'completed' });
});

it('close() ends the rounds', async () => {
  const { world } = await interrupted();
  const engine = world.boot({ recovery: false });
  const timers = armedTimers(world.clock);
  await engine.recover({ everyMs: MINUTE_MS });
  expect(timers.size).toBe(1);
  await within(engine.close());
  expect(timers.size).toBe(0);
  await world.advance(HOUR_MS);
  expect(world.eventsOf('interrupted_turn_held')).toHaveLength(1);
});

it('close() in the middle of a round waits no longer than its grace, and spends nothing', async () => {
  const { world } = await interrupted();
  let builds = 0;
  const dependencies = () => {
    builds += 1;
    if (builds === 1) throw new Error('no');
    return never();
  };
  const engine = world.boot({ dependencies });
  await engine.recover({ everyMs: MINUTE_MS });
  await world.advance(MINUTE_MS);
  expect(builds).toBe(2);
  const closing = engine.close({ graceMs: 1_000 });
  expect(await isOpen(closing)).toBe(true);
  await world.advance(1_000);
  await within(closing);
  expect(await world.head()).toMatchObject({ inProgress: true, attempts: 1, recoveries: 1 });
});

it('bad pauses are errors that name the field', async () => {
  const engine = createWorld().boot();
  for (const everyMs of [0, -1, 0.5, Number.NaN, 2 ** 31, '5' as never]) {
    await expect(engine.recover({ everyMs }), String(everyMs)).rejects.toThrow(/everyMs must be whole ms/);
  }
  await expect(engine.recover({ every: 5 } as never)).rejects.toThrow(/every is unknown/);
});

it('rounds and kept feeds keep no process alive', () => {
  const program = `
    import { createTurnEngine } from 'durable-turn';
    import { memoryStore } from 'durable-turn/level';
    const model = { id: 'none', call: () => Promise.reject(new Error('none')) };
    const engine = createTurnEngine({ agent: 'a', store: memoryStore(), model });
    await engine.recover({ everyMs: 3_600_000 });
    const events = engine.follow('s');
    await events.next();
    await events.return();
    console.log('done');`;
  const node = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 120_000 });
  expect({ out: `${node.stdout}`, signal: node.signal, status: node.status }).toEqual({
    out: 'done\n',
    signal: null,
    status: 0,
  });
});
