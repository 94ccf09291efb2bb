// What a strict review found about input that waits: its route, and a store that fails once.
import { expect, it } from 'vitest';
import { OUTCOMES_DUE } from '../../machines/index.js';
import { TurnError } from '../../src/index.js';
import { storeFailed } from './process-store.js';
import { calm, until, within } from './waiting.js';
import { act, busyRoute, calls, createWorld, HOUR_MS, hello, only } from './world.js';

const hang = { hang: true } as const;
const damaged = (): Promise<never> => Promise.reject(new TurnError('TURN_DAMAGED', 'a message is damaged'));

it('a decision while the route is busy goes on when it is free, although recovery is off', async () => {
  const world = createWorld();
  world.says(calls('send'), hang);
  const engine = world.boot({ recovery: false, tools: { send: act(() => 'sent', { approval: 'required' }) } });
  const parked = await engine.startTurn({ ...hello, sessionId: 'a', attended: true, routeKey: 'R' });
  await within(parked.rest);
  const other = await engine.startTurn({ ...hello, sessionId: 'b', routeKey: 'R' });
  await until(() => world.requests.length === 2, 'the model is asked');
  const { id } = only(await engine.approvals());
  expect(await engine.decideApproval(id, { allow: true, by: 'ann' })).toBe('applied');
  await calm();
  expect(world.runs).toEqual([]);
  await other.cancel();
  expect(await within(parked.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(1);
  expect(world.eventsOf('interrupted_turn_held')).toEqual([]);
});

it('waiting input begins under its own route, whatever route comes after it (I7)', async () => {
  const world = createWorld();
  const { engine, turn } = await busyRoute(world);
  const first = await engine.sendMessage({ ...hello, input: 'one', routeKey: 'R' });
  const second = await engine.sendMessage({ ...hello, input: 'two' });
  expect([first.accepted, second.accepted]).toEqual(['queued', 'queued']);
  await calm();
  expect(await world.head()).toMatchObject({ inProgress: false, waitingInput: 2 });
  await turn.cancel();
  await within(first.turn.outcome);
  expect(second.turn.turnId).toBe(first.turn.turnId);
  expect(await world.head()).toMatchObject({ routeKey: 'R', waitingInput: 0 });
  expect(JSON.stringify(world.requests.at(-1)?.messages)).toMatch(/one.*two/);
});

it('one failure of the store when a route is free loses nobody who waits for it', async () => {
  const world = createWorld();
  const { engine, turn } = await busyRoute(world);
  const waiting = [
    await engine.sendMessage({ ...hello, sessionId: 'b', routeKey: 'R' }),
    await engine.sendMessage({ ...hello, sessionId: 'c', routeKey: 'R' }),
  ];
  const { store } = world.process;
  const { head } = store;
  let failures = 0;
  store.head = (sessionId) => {
    if (sessionId !== 'b' || failures > 0) return head(sessionId);
    failures += 1;
    return Promise.reject(storeFailed());
  };
  await turn.cancel();
  await calm();
  await world.advance(HOUR_MS);
  expect(failures).toBe(1);
  for (const { turn: queued } of waiting) {
    expect(await within(queued.outcome)).toMatchObject({ status: 'completed' });
  }
});

it('one failure of the store when a deadline passes does not lose the deadline of a parked turn', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent', { approval: 'required' }) } });
  const turn = await engine.startTurn({ ...hello, attended: true });
  await within(turn.rest);
  const { store } = world.process;
  const { head } = store;
  let failures = 0;
  store.head = (sessionId) => {
    if (failures > 0) return head(sessionId);
    failures += 1;
    return Promise.reject(storeFailed());
  };
  await world.advance(HOUR_MS);
  await world.advance(HOUR_MS);
  expect(failures).toBe(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toEqual([]);
});

for (const bad of ['a', 'b']) {
  const good = bad === 'a' ? 'b' : 'a';
  it(`recover() starts the waiting input of ${good} and reports, although that of ${bad} cannot be read (I12)`, async () => {
    const world = createWorld();
    const { engine, turn } = await busyRoute(world);
    world.says(hang);
    const going = await engine.startTurn({ ...hello, sessionId: 'y' });
    for (const sessionId of ['a', 'b']) await engine.sendMessage({ ...hello, sessionId, routeKey: 'R' });
    await until(() => world.requests.length === 2, 'the model is asked');
    const next = await world.reboot();
    await next.cancelTurn(turn.turnId);
    const { store } = world.process;
    const { load } = store;
    store.load = (sessionId) => (sessionId === bad ? damaged() : load(sessionId));
    const { resumed } = await within(next.recover(), 'recover()');
    expect(resumed.map(({ turnId }) => turnId)).toEqual([going.turnId]);
    await until(async () => (await world.head(good)).waitingInput === 0, 'the other one starts');
    expect(await world.head(bad)).toMatchObject({ inProgress: false, waitingInput: 1 });
  });
}

it('a message sent again that waited for its route when the process died starts its turn', async () => {
  const world = createWorld();
  const { engine } = await busyRoute(world);
  const message = { ...hello, messageId: 'm1', routeKey: 'R' };
  const queued = await engine.sendMessage(message);
  const next = await world.reboot();
  const again = await next.sendMessage(message);
  expect(again).toMatchObject({ accepted: 'duplicate', turn: { turnId: queued.turn.turnId } });
  expect(await within(again.turn.outcome)).toMatchObject({ status: 'completed' });
});

it('a message sent again that waited in a running turn when the process died takes that turn up', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const message = { ...hello, input: 'two', messageId: 'm2' };
  await engine.sendMessage(message);
  const next = await world.reboot();
  const again = await next.sendMessage(message);
  expect(again).toMatchObject({ accepted: 'duplicate', turn: { turnId: turn.turnId } });
  expect(await within(again.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(world.requests.at(-1)?.messages)).toContain('two');
});

it('queued input starts no turn either while too many outcomes are due, keeps its place and leaves the route', async () => {
  const world = createWorld();
  let broken = true;
  const onOutcome = (): void => {
    if (broken) throw new Error('broken');
  };
  world.says('first');
  const engine = world.boot({ onOutcome });
  await within((await engine.startTurn(hello)).outcome);
  await until(() => world.eventsOf('outcomeUndelivered').length === 1, 'the outcome is refused');
  world.says(hang);
  const busy = await engine.startTurn({ ...hello, sessionId: 'x', routeKey: 'R' });
  await until(() => world.requests.length === 2, 'the model is asked');
  const queued = await engine.sendMessage({ ...hello, routeKey: 'R' });
  const before = await world.head();
  const outcomesDue = Array.from({ length: OUTCOMES_DUE }, (_, n) => `s.earlier${n}`);
  await world.store.commit({
    head: { ...before, outcomesDue, revision: before.revision + 1 },
    base: before.revision,
    lease: null,
    savedAt: world.clock.now(),
  });
  await busy.cancel();
  await calm();
  expect(await world.head()).toMatchObject({ inProgress: false, waitingInput: 1, outcomesDue });
  const lease = await world.store.acquire('R');
  expect(lease).toBeDefined();
  if (lease !== undefined) await world.store.release(lease);
  broken = false;
  await engine.recover();
  await until(async () => (await world.head()).outcomesDue.length === 0, 'the outcomes are taken');
  await engine.recover();
  expect(await within(queued.turn.outcome)).toMatchObject({ status: 'completed' });
});
