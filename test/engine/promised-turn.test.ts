// A turn that was promised to waiting input and has not begun: cancelled, it never does (I8).
import { expect, it } from 'vitest';
import { calm, until, within } from './waiting.js';
import { busyRoute, createWorld, hello } from './world.js';

it('a turn that waits for its route is cancelled before it begins: its input goes with it, and starts no other turn', async () => {
  const world = createWorld();
  const told: unknown[] = [];
  const { engine, turn: owner } = await busyRoute(world, {
    onOutcome: ({ status }, { sessionId, turnId, context }) => void told.push([sessionId, turnId, context, status]),
  });
  const m = { ...hello, messageId: 'm', routeKey: 'R', context: { user: 7 } };
  const { turn } = await engine.sendMessage(m);
  expect((await engine.sendMessage({ ...m, messageId: 'n' })).turn.turnId).toBe(turn.turnId);
  const cancelled = { status: 'cancelled', reason: 'not now', text: '' };
  expect(await within(turn.cancel({ reason: 'not now' }))).toMatchObject(cancelled);
  expect(await within(turn.outcome)).toMatchObject(cancelled);
  expect(await within(turn.rest)).toMatchObject(cancelled);
  await until(() => told.length === 1, 'the outcome is delivered');
  expect(told).toEqual([['s', turn.turnId, { user: 7 }, 'cancelled']]);
  await until(async () => (await world.head()).outcomesDue.length === 0, 'the delivery is noted');
  expect(await world.head()).toMatchObject({ waitingInput: 0, nextTurnId: null, inProgress: false, turnId: null });
  expect(await world.store.inbox('s')).toEqual([]);
  // Whoever asks again, or sends again what was cancelled, gets the same end.
  expect(await engine.cancelTurn(turn.turnId)).toMatchObject(cancelled);
  for (const messageId of ['m', 'n']) {
    const again = await engine.sendMessage({ ...m, messageId });
    expect(again).toMatchObject({ accepted: 'duplicate', turn: { turnId: turn.turnId } });
    expect(await within(again.turn.outcome)).toMatchObject(cancelled);
  }
  await owner.cancel();
  await calm();
  const next = await world.reboot();
  expect(await next.recover()).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  await calm();
  expect([world.requests.length, await world.messages()]).toEqual([1, []]);
  expect(await within((await next.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
});

it('whoever follows the session of a turn that never began sees its end, and a view that promises none', async () => {
  const world = createWorld();
  const { engine } = await busyRoute(world);
  const { turn } = await engine.sendMessage({ ...hello, routeKey: 'R' });
  const events = engine.follow('s');
  expect((await within(events.next())).value).toMatchObject({ type: 'snapshot', nextTurnId: turn.turnId });
  await turn.cancel();
  const outcome = { status: 'cancelled' };
  expect((await within(events.next())).value).toMatchObject({ type: 'outcome', turnId: turn.turnId, outcome });
  expect((await within(events.next())).value).toMatchObject({ type: 'snapshot', nextTurnId: null, inProgress: false });
  await events.return?.();
});

it('killed at the commit of its cancel, a turn that has not begun is cancelled or begins with all of its input', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = createWorld();
    const told: string[] = [];
    const onOutcome = (_outcome: unknown, { turnId }: { readonly turnId: string }) => void told.push(turnId);
    const { turn } = await (await busyRoute(world, { onOutcome })).engine.sendMessage({ ...hello, routeKey: 'R' });
    world.process.store.fate = () => fate;
    void turn.cancel();
    await world.death();
    const engine = world.boot({ onOutcome });
    await engine.recover();
    await until(() => told.includes(turn.turnId), 'the outcome is delivered');
    const status = fate === 'dieAfter' ? 'cancelled' : 'completed';
    expect(await engine.cancelTurn(turn.turnId)).toMatchObject({ status });
    expect((await world.messages()).length).toBe(fate === 'dieAfter' ? 0 : 2);
  }
});

it('a cancel before the beginning that is told as failed holds when it is asked for again, for the handle as well', async () => {
  for (const fate of ['failBefore', 'failAfter'] as const) {
    const world = createWorld();
    const { turn } = await (await busyRoute(world)).engine.sendMessage({ ...hello, routeKey: 'R' });
    const { store } = world.process;
    const last = store.commits;
    store.fate = (nth) => (nth === last + 1 ? fate : 'pass');
    await expect(turn.cancel()).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
    expect(await turn.cancel()).toMatchObject({ status: 'cancelled' });
    expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
  }
});
