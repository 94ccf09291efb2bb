// Calls whose outcome only a person can tell: what they see of them, and what they may say.
import { expect, it } from 'vitest';
import { calm, gate, isOpen, never, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only, parking, type WholeWorld, yes } from './world.js';

/** A turn that waits for a person to settle `send { to: "ann" }`, after a kill. */
async function inReview(world: WholeWorld) {
  world.says(calls(['send', { to: 'ann' }], 'read'));
  const noted = gate();
  const hangs = act(async (_input, { note }) => {
    await note({ message: 7 });
    noted.open();
    return never();
  });
  const read = look(() => 'R');
  const turn = await world.boot({ tools: { send: hangs, read } }).startTurn(hello);
  await within(noted.opened);
  await until(() => world.runs.length === 2, 'both run');
  const sentAt = world.clock.now();
  await world.advance(MINUTE_MS);
  const engine = await world.reboot({ tools: { send: act(() => 'sent again'), read } });
  expect((await engine.recover()).parked).toEqual([turn.turnId]);
  return { engine, turnId: turn.turnId, sentAt, tools: { send: act(() => 'sent again'), read } };
}

const ended = (world: WholeWorld) => until(async () => !(await world.head()).inProgress, 'the turn has ended');

it('reviews() shows what was called, with which input and key, when, and what the tool noted', async () => {
  const world = createWorld();
  const { engine, turnId, sentAt } = await inReview(world);
  const review = only(await engine.reviews());
  expect(review).toEqual({
    sessionId: 's',
    turnId,
    callId: expect.stringContaining(turnId),
    toolName: 'send',
    input: { to: 'ann' },
    idempotencyKey: world.runsOf('send')[0]?.key,
    dispatchedAt: sentAt,
    notes: [{ message: 7 }],
  });
  expect(world.eventsOf('reviewRequested').map((event) => event.review)).toEqual([review]);
  expect(await engine.reviews({ sessionId: 's' })).toHaveLength(1);
  expect(await engine.reviews({ sessionId: 'other' })).toEqual([]);
  // The store looks at that session only; its own suite says what it gives.
  const { store } = world.process;
  const asked: unknown[] = [];
  const reviews = store.reviews.bind(store);
  store.reviews = (...given) => {
    asked.push(given);
    return reviews(...given);
  };
  await engine.reviews({ sessionId: 's' });
  expect(asked).toEqual([['agent', 's']]);
});

it('a review waits over any number of restarts, spends no attempt and never gets stale (case C27)', async () => {
  const world = createWorld();
  const { turnId, tools } = await inReview(world);
  const before = await world.head();
  for (let restart = 0; restart < 5; restart += 1) {
    await world.advance(24 * 60 * MINUTE_MS);
    const engine = await world.reboot({ tools });
    expect(await engine.recover()).toMatchObject({ parked: [turnId], abandoned: [] });
    expect(await engine.reviews()).toHaveLength(1);
  }
  const { attempts, recoveries } = await world.head();
  expect({ attempts, recoveries }).toEqual({ attempts: before.attempts, recoveries: before.recoveries });
});

it('settled as succeeded: the model reads what the person says, and the call never runs again', async () => {
  const world = createWorld();
  const { engine, turnId } = await inReview(world);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'succeeded', output: { id: 7 }, by: 'ann' });
  await ended(world);
  expect(await world.outputs()).toMatchObject([{ type: 'json', value: { id: 7 } }, { value: 'R' }]);
  expect(world.runsOf('send')).toHaveLength(1);
  expect(await engine.reviews()).toEqual([]);
});

it('settled as failed: the model reads the error the person gave', async () => {
  const world = createWorld();
  const { engine, turnId } = await inReview(world);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'failed', error: 'the server was down', by: 'ann' });
  await ended(world);
  expect(await world.outputs()).toMatchObject([{ type: 'error-text', value: 'the server was down' }, {}]);
  expect(world.runsOf('send')).toHaveLength(1);
});

it('settled as not started: it runs, once, with the key it had', async () => {
  const world = createWorld();
  const { engine, turnId } = await inReview(world);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
  await ended(world);
  expect(await world.outputs()).toMatchObject([{ type: 'text', value: 'sent again' }, {}]);
  expect(world.runsOf('send')).toHaveLength(2);
  expect(new Set(world.runsOf('send').map((run) => run.key)).size).toBe(1);
  expect(await engine.reviews()).toEqual([]);
});

it('a call that never started and runs now is no review, and is a new one when it is lost again', async () => {
  const world = createWorld();
  const { turnId, tools } = await inReview(world);
  const engine = await world.reboot({ tools: { ...tools, send: act(() => never()) } });
  const { callId, dispatchedAt } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
  await until(() => world.runsOf('send').length === 2, 'it runs again');
  expect(await engine.reviews()).toEqual([]);
  const ranAt = world.clock.now();
  await world.advance(MINUTE_MS);
  const next = await world.reboot({ tools });
  await next.recover();
  expect(ranAt).toBeGreaterThan(dispatchedAt);
  expect(only(await next.reviews())).toMatchObject({ callId, dispatchedAt: ranAt });
});

it('a settlement is durable when it resolves, and is on disk or not when the process is killed at its commits', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    for (const nth of [1, 2]) {
      const world = createWorld();
      const { engine, turnId, tools } = await inReview(world);
      const { callId } = only(await engine.reviews());
      const { store } = world.process;
      const before = store.commits;
      store.fate = (n) => (n === before + nth ? fate : 'pass');
      const settled = engine.settleCall(turnId, callId, { outcome: 'succeeded', output: 'seen', by: 'ann' });
      await Promise.race([settled, until(() => store.dead, 'dead')]);
      const told = !(await isOpen(settled));
      await until(() => store.dead, 'dead');
      if (told) expect((await world.store.call(callId))?.state).toBe('succeeded');
      const next = await world.reboot({ tools });
      await next.recover();
      const again = (await next.reviews())[0];
      if (again !== undefined)
        await next.settleCall(turnId, callId, { outcome: 'succeeded', output: 'seen', by: 'ann' });
      await ended(world);
      expect((await world.outputs())[0]).toEqual({ type: 'text', value: 'seen' });
      expect(world.runsOf('send')).toHaveLength(1);
    }
  }
});

it('a call is settled once: the second person is told that it is in doubt no more', async () => {
  const world = createWorld();
  const { engine, turnId } = await inReview(world);
  const { callId } = only(await engine.reviews());
  const settle = (output: string) => engine.settleCall(turnId, callId, { outcome: 'succeeded', output, by: 'ann' });
  const answers = await Promise.allSettled([settle('first'), settle('second')]);
  expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected']);
  expect(answers[1]).toMatchObject({ reason: { code: 'TURN_CALL_NOT_IN_DOUBT' } });
  await ended(world);
  expect((await world.outputs())[0]).toEqual({ type: 'text', value: 'first' });
});

it('several doubts of a batch: the turn goes on when the last one is settled, and not before', async () => {
  const world = createWorld();
  world.says(calls('a', 'b'));
  const lost = { a: act(() => never()), b: act(() => never()) };
  const first = await world.boot({ tools: lost }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  const engine = await world.reboot({ tools: lost });
  await engine.recover();
  const [a, b] = await engine.reviews();
  await engine.settleCall(first.turnId, a?.callId as string, { outcome: 'succeeded', output: 'A', by: 'ann' });
  await calm();
  expect(await engine.reviews()).toHaveLength(1);
  expect(await world.head()).toMatchObject({ inProgress: true, phase: 'awaitingReview' });
  expect(world.requests).toHaveLength(1);
  await engine.settleCall(first.turnId, b?.callId as string, { outcome: 'failed', error: 'no', by: 'ann' });
  await ended(world);
  expect(await world.outputs()).toMatchObject([{ value: 'A' }, { value: 'no' }]);
});

it('a doubt and an approval of one batch, decided and settled in either order and over restarts, end the same', async () => {
  for (const order of ['settle first', 'decide first'] as const) {
    const world = createWorld();
    world.says(calls('send', 'deploy'));
    const tools = { send: act(() => never()), deploy: act(() => 'deployed', parking) };
    const turn = await world.boot({ tools }).startTurn(hello);
    await until(() => world.runs.length === 1, 'it runs');
    const settle = async () => {
      const engine = await world.reboot({ tools });
      await engine.recover();
      const { callId } = only(await engine.reviews());
      await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: 'sent', by: 'ann' });
    };
    const decide = async () => {
      const engine = await world.reboot({ tools });
      await engine.recover();
      await until(async () => (await engine.approvals()).length === 1, 'listed');
      expect(await engine.decideApproval(only(await engine.approvals()).id, yes)).toBe('applied');
    };
    for (const say of order === 'settle first' ? [settle, decide] : [decide, settle]) await say();
    await ended(world);
    expect(await world.outputs()).toEqual([
      { type: 'text', value: 'sent' },
      { type: 'text', value: 'deployed' },
    ]);
    expect(world.runs.map((run) => run.tool)).toEqual(['send', 'deploy']);
  }
});
