// onOutcome hears of every turn at least once across crashes: the marker stays until it has taken the outcome (I2).
import { expect, it } from 'vitest';
import { OUTCOMES_DUE } from '../../machines/index.js';
import type { TurnOutcome } from '../../src/index.js';
import { calm, gate, never, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello } from './world.js';

const delivered = (told: readonly unknown[], n: number) =>
  until(() => told.length === n, `${n} outcomes are delivered`);
const clean = async (world: ReturnType<typeof createWorld>) =>
  until(async () => (await world.store.markers('agent')).length === 0, 'the marker is gone');

it('an outcome is delivered once, with what the turn was, and then the marker goes', async () => {
  const world = createWorld();
  const told: unknown[] = [];
  world.says('hi');
  const turn = await world
    .boot({
      dependencies: () => ({ db: 'open' }),
      onOutcome: (...heard) => {
        told.push(heard);
      },
    })
    .startTurn({ ...hello, context: { user: 7 } });
  await within(turn.outcome);
  await clean(world);
  expect(told).toEqual([
    [
      expect.objectContaining({ status: 'completed', text: 'hi' }),
      expect.objectContaining({
        sessionId: 's',
        turnId: turn.turnId,
        context: { user: 7 },
        attended: false,
        modelCalls: 1,
      }),
      { db: 'open' },
    ],
  ]);
  expect(await world.head()).toMatchObject({ outcomesDue: [] });
});

it('a crash before the delivery: it is delivered at the next start, and no turn is run for it', async () => {
  const world = createWorld();
  const engine = world.boot({ onOutcome: () => never() });
  const turn = await engine.startTurn(hello);
  await within(turn.outcome);
  const told: TurnOutcome[] = [];
  const next = await world.reboot({ onOutcome: (outcome) => void told.push(outcome) });
  const report = await next.recover();
  expect(report).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  await delivered(told, 1);
  await clean(world);
  expect(world.requests).toHaveLength(1);
  expect(await world.head()).toMatchObject({ attempts: 0, recoveries: 0 });
});

it('a crash behind the delivery and before it is noted: it is delivered again, at least once', async () => {
  const world = createWorld();
  const told: TurnOutcome[] = [];
  const onOutcome = (outcome: TurnOutcome) => void told.push(outcome);
  const engine = world.boot({ onOutcome });
  world.process.store.fate = (_nth, { head }) =>
    !head.inProgress && head.outcomesDue.length === 0 ? 'dieBefore' : 'pass';
  await engine.startTurn(hello);
  await world.death();
  expect(told).toHaveLength(1);
  await world.boot({ onOutcome }).recover();
  await delivered(told, 2);
  await clean(world);
  expect(told[1]).toEqual(told[0]);
});

it('a crash right behind the commit that ends the turn: its outcome is delivered however old it is', async () => {
  const world = createWorld();
  const told: TurnOutcome[] = [];
  const engine = world.boot({ onOutcome: () => undefined });
  world.process.store.fate = (_nth, { head }) => (head.inProgress ? 'pass' : 'dieAfter');
  await engine.startTurn(hello);
  await world.death();
  await world.advance(100 * HOUR_MS);
  await world.boot({ onOutcome: (outcome) => void told.push(outcome) }).recover();
  await delivered(told, 1);
  await clean(world);
});

it('a rejection is an event, and the next recover() tries again', async () => {
  const world = createWorld();
  let tries = 0;
  const engine = world.boot({
    onOutcome: () => {
      tries += 1;
      if (tries < 3) throw new Error('the queue is full');
    },
  });
  await within((await engine.startTurn(hello)).outcome);
  for (let n = 1; n <= 2; n += 1) {
    await until(() => world.eventsOf('outcomeUndelivered').length === n, 'the rejection is announced');
    expect(world.eventsOf('outcomeUndelivered').at(-1)).toMatchObject({ reason: 'the queue is full', durable: false });
    expect(await world.store.markers('agent')).toHaveLength(1);
    await engine.recover();
  }
  await clean(world);
  expect(tries).toBe(3);
});

it('a new turn may start while an outcome waits, and a second recover() does not deliver twice at once', async () => {
  const world = createWorld();
  const slow = gate();
  const told: string[] = [];
  world.says('one', calls('work'), 'two');
  const working = gate<string>();
  const engine = world.boot({
    tools: { work: act(() => working.opened) },
    onOutcome: async (outcome) => {
      told.push(outcome.text);
      if (outcome.text === 'one') await slow.opened;
    },
  });
  await within((await engine.startTurn(hello)).outcome);
  await delivered(told, 1);
  const second = await engine.startTurn({ ...hello, input: 'next' });
  await until(() => world.runs.length === 1, 'the second turn works');
  await engine.recover();
  await calm();
  expect(told).toEqual(['one']);
  slow.open();
  await until(async () => (await world.head()).outcomesDue.length === 0, 'the first outcome is taken');
  working.open('ok');
  expect(await within(second.outcome)).toMatchObject({ text: 'two' });
  await delivered(told, 2);
  await clean(world);
});

it('cancelled and failed turns are delivered too', async () => {
  const world = createWorld();
  const told: TurnOutcome[] = [];
  world.says({ hang: true }, { fail: 'auth' });
  const engine = world.boot({ onOutcome: (outcome) => void told.push(outcome) });
  const first = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await first.cancel();
  await delivered(told, 1);
  await within((await engine.startTurn(hello)).outcome);
  await delivered(told, 2);
  expect(told).toMatchObject([{ status: 'cancelled' }, { status: 'failed', reason: 'auth: scripted: auth' }]);
});

it('the outcome of an abandoned turn is delivered without another restart', async () => {
  const world = createWorld();
  world.says({ hang: true });
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  await world.advance(5 * HOUR_MS);
  const told: TurnOutcome[] = [];
  const engine = world.boot({ onOutcome: (outcome) => void told.push(outcome) });
  expect((await engine.recover()).abandoned).toHaveLength(1);
  await delivered(told, 1);
  expect(told).toMatchObject([{ status: 'abandoned' }]);
  await clean(world);
});

it('a turn that a person resumes after it was abandoned has its real end as its last word', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  await world.advance(5 * HOUR_MS);
  const told: TurnOutcome[] = [];
  let reject = true;
  const engine = world.boot({
    onOutcome: (outcome) => {
      if (reject) throw new Error('not now');
      told.push(outcome);
    },
  });
  await engine.recover();
  await calm();
  reject = false;
  world.says('done after all');
  const resumed = await engine.resumeTurn(turn.turnId, { person: 'ann' });
  expect(await within(resumed.outcome)).toMatchObject({ status: 'completed' });
  await clean(world);
  expect(told.at(-1)).toMatchObject({ status: 'completed', text: 'done after all' });
});

it('the event of an abandoned turn is repeated rather than lost by a crash behind its commit', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  await world.advance(5 * HOUR_MS);
  const engine = world.boot({ onOutcome: () => undefined });
  world.process.store.fate = (_nth, { head }) => (head.ended?.kind === 'abandoned' ? 'dieAfter' : 'pass');
  void engine.recover();
  await world.death();
  expect(world.eventsOf('interrupted_turn_abandoned')).toEqual([]);
  await world.boot({ onOutcome: () => undefined }).recover();
  await clean(world);
  expect(world.eventsOf('interrupted_turn_abandoned')).toMatchObject([{ turnId: turn.turnId, gate: 'staleness' }]);
});

it('an application that takes no outcomes is stopped before the head grows without end', async () => {
  const world = createWorld();
  const engine = world.boot({ onOutcome: () => Promise.reject(new Error('broken')) });
  await within((await engine.startTurn(hello)).outcome);
  await until(() => world.eventsOf('outcomeUndelivered').length === 1, 'the outcome is refused');
  const before = await world.head();
  const outcomesDue = Array.from({ length: OUTCOMES_DUE }, (_, n) => `s.earlier${n}`);
  await world.store.commit({
    head: { ...before, outcomesDue, revision: before.revision + 1 },
    base: before.revision,
    lease: null,
    savedAt: world.clock.now(),
  });
  await expect(engine.startTurn(hello)).rejects.toMatchObject({ code: 'TURN_OUTCOMES_DUE', retryable: true });
  await expect(engine.sendMessage(hello)).rejects.toMatchObject({ code: 'TURN_OUTCOMES_DUE' });
  expect(await world.head()).toMatchObject({ inProgress: false, waitingInput: 0 });
  // The route was given back: another session on it is not blocked.
  expect(await world.store.acquire('session s')).toBeDefined();
});
