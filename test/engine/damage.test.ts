// Bytes that cannot be read: the service starts, one turn is given up with an event, the others go on (I12, case C19).
import { expect, it } from 'vitest';
import { TurnError } from '../../src/index.js';
import { until, within } from './waiting.js';
import { busyRoute, createWorld, hello, MINUTE_MS, only, type World } from './world.js';

const damaged = (what: string): Promise<never> => Promise.reject(new TurnError('TURN_DAMAGED', `${what} is damaged`));

/** Two interrupted turns; the records of session `a` are about to be found damaged. */
async function two(): Promise<World> {
  const world = createWorld();
  world.says({ hang: true }, { hang: true });
  const engine = world.boot();
  for (const sessionId of ['a', 'b']) await engine.startTurn({ ...hello, sessionId });
  await until(() => world.requests.length === 2, 'both are asked');
  await world.crash();
  return world;
}

it('a turn with damaged records is abandoned with an event, and the other one goes on (I12)', async () => {
  const world = await two();
  const engine = world.boot();
  const { store } = world.process;
  const { load } = store;
  store.load = (sessionId) => (sessionId === 'a' ? damaged('a message') : load(sessionId));
  const report = await engine.recover();
  expect(report.abandoned).toMatchObject([{ gate: 'checkpoint', reason: 'a message is damaged' }]);
  expect(await within(only(report.resumed).outcome)).toMatchObject({ status: 'completed' });
  expect(await world.head('a')).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: 'checkpoint' } });
});

it('a session whose head is damaged is taken out of the way with an event, and the other one goes on (I12)', async () => {
  const world = await two();
  const engine = world.boot();
  const { store } = world.process;
  const { head, quarantine } = store;
  const aside: string[] = [];
  store.head = (sessionId) => (sessionId === 'a' && aside.length === 0 ? damaged('the head') : head(sessionId));
  store.quarantine = (sessionId, reason) => {
    aside.push(sessionId);
    return quarantine(sessionId, reason);
  };
  const report = await engine.recover();
  expect(aside).toEqual(['a']);
  expect(world.eventsOf('interrupted_turn_abandoned')).toMatchObject([{ sessionId: 'a', gate: 'head' }]);
  expect(await within(only(report.resumed).outcome)).toMatchObject({ status: 'completed' });
});

it('a session whose head is damaged does not keep the others from being listed', async () => {
  const world = await two();
  const engine = world.boot();
  const { store } = world.process;
  const { head } = store;
  store.head = (sessionId) => (sessionId === 'a' ? damaged('the head') : head(sessionId));
  expect(await engine.interrupted()).toMatchObject([{ sessionId: 'b' }]);
});

it('input to a turn with damaged records starts anew, with what can be read or from the beginning', async () => {
  const world = await two();
  const engine = world.boot();
  const { store } = world.process;
  const { load } = store;
  let once = true;
  store.load = (sessionId) => {
    if (sessionId !== 'a' || !once) return load(sessionId);
    once = false;
    return damaged('the checkpoint');
  };
  const sent = await engine.sendMessage({ ...hello, sessionId: 'a', input: 'again' });
  expect(sent.accepted).toBe('started');
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
});

it('a session whose head is damaged can be deleted, and its id begins anew', async () => {
  const world = await two();
  const engine = world.boot();
  const { store } = world.process;
  const { head } = store;
  store.head = (sessionId) => (sessionId === 'a' ? damaged('the head') : head(sessionId));
  await engine.deleteSession('a');
  store.head = head;
  expect(await engine.session('a')).toBeUndefined();
  const turn = await engine.startTurn({ ...hello, sessionId: 'a' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await engine.session('b')).toMatchObject({ inProgress: true });
  checkMissed(world);
});

it('what a repair of the store found is told once, by event and report, and a note that stays is told again', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { store } = world.process;
  const left = [
    { sessionId: 'a', agent: 'agent', turnId: 't', reason: 'the transcript has a hole' },
    { sessionId: 'b', agent: null, turnId: '', reason: 'has lost its head' },
  ];
  store.damagedSessions = async () => [...left];
  store.damageTold = async (sessionId) => {
    if (sessionId === 'b') throw new TurnError('TURN_STORE_FAILED', 'the disk is full');
    left.shift();
  };
  expect((await engine.recover()).damaged).toEqual([
    { sessionId: 'a', reason: 'the transcript has a hole' },
    { sessionId: 'b', reason: 'has lost its head' },
  ]);
  expect((await engine.recover()).damaged).toEqual([{ sessionId: 'b', reason: 'has lost its head' }]);
  expect(world.eventsOf('sessionDamaged')).toMatchObject([
    { sessionId: 'a', turnId: 't', durable: true, reason: 'the transcript has a hole' },
    { sessionId: 'b', turnId: '', durable: true },
    { sessionId: 'b' },
  ]);
});

/** Input of session `s` waits for its route; a turn that begins with it was promised. */
async function waiting() {
  const world = createWorld();
  const { engine, turn: owner } = await busyRoute(world);
  const { turn } = await engine.sendMessage({ ...hello, routeKey: 'R' });
  return { world, engine, owner, turn };
}

/** The transcript of session `s` cannot be read any more, until the session is deleted. */
function spoil({ process: { store } }: World): void {
  const { load, remove } = store;
  store.load = (sessionId) => (sessionId === 's' ? damaged('a message') : load(sessionId));
  store.remove = async (sessionId) => {
    await remove(sessionId);
    Object.assign(store, { load, remove });
  };
}

async function deleteAndBeginAnew({ world, engine, turn }: Awaited<ReturnType<typeof waiting>>): Promise<void> {
  await engine.deleteSession('s');
  expect(await engine.session('s')).toBeUndefined();
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled', reason: 'deleted' });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  checkMissed(world);
}

/** What was deleted on purpose is what the witness misses. */
function checkMissed({ witness }: World): void {
  expect(witness.violations.splice(0).every((violation) => violation.startsWith('I11: input'))).toBe(true);
}

it('input that waits in a session that cannot be read keeps nobody from deleting it', async () => {
  const life = await waiting();
  await expect(life.engine.deleteSession('s')).rejects.toMatchObject({ code: 'TURN_BUSY' });
  spoil(life.world);
  await deleteAndBeginAnew(life);
});

it('an inbox that is not what its head says keeps nobody from deleting the session', async () => {
  const life = await waiting();
  const head = await life.world.head();
  const lost = { ...head, revision: head.revision + 1, waitingInput: 2 };
  await life.world.store.commit({ head: lost, base: head.revision, lease: null, savedAt: 0 });
  await expect(life.engine.follow('s').next()).rejects.toMatchObject({ code: 'TURN_DAMAGED' });
  await deleteAndBeginAnew(life);
});

it('input that waits in a session that cannot be read is told once, not at every round', async () => {
  const life = await waiting();
  const { world, engine, owner } = life;
  const told = () => world.eventsOf('sessionDamaged').map(({ sessionId, reason }) => `${sessionId}: ${reason}`);
  spoil(world);
  await owner.cancel();
  await engine.recover({ everyMs: MINUTE_MS });
  for (let round = 0; round < 3; round += 1) await world.advance(MINUTE_MS);
  expect(told()).toEqual(['s: a message is damaged']);
  await deleteAndBeginAnew(life);
  // Another session under the same id, in which the same happens.
  world.says({ hang: true });
  const next = await engine.startTurn({ ...hello, sessionId: 'x', routeKey: 'R' });
  await engine.sendMessage({ ...hello, routeKey: 'R' });
  spoil(world);
  await next.cancel();
  for (let round = 0; round < 3; round += 1) await world.advance(MINUTE_MS);
  expect(told()).toEqual(['s: a message is damaged', 's: a message is damaged']);
  expect(world.eventsOf('storeFailed')).toEqual([]);
  checkMissed(world);
});

it('an outcome that cannot be read is told once, and keeps nobody from deleting its session', async () => {
  const world = createWorld();
  const engine = world.boot({ onOutcome: () => Promise.reject(new Error('away')) });
  await within((await engine.startTurn(hello)).outcome);
  await until(() => world.eventsOf('outcomeUndelivered').length === 1, 'it was not taken');
  await expect(engine.deleteSession('s')).rejects.toMatchObject({ code: 'TURN_BUSY' });
  world.process.store.outcome = () => damaged('the outcome');
  await engine.recover({ everyMs: MINUTE_MS });
  for (let round = 0; round < 3; round += 1) await world.advance(MINUTE_MS);
  expect(only(world.eventsOf('sessionDamaged'))).toMatchObject({ sessionId: 's', reason: 'the outcome is damaged' });
  expect(world.eventsOf('storeFailed')).toEqual([]);
  await engine.deleteSession('s');
  expect(await engine.session('s')).toBeUndefined();
});
