// A crash while a call with an effect is under way: what became of it is asked, or a person settles it (I5, cases C5, C7, C12).
import { expect, it } from 'vitest';
import type { CallInDoubt, Json, Settlement, Tool } from '../../src/index.js';
import { reportToModel } from '../../src/index.js';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, only, type World } from './world.js';

type Reconcile = (call: CallInDoubt<Json>) => Promise<Settlement | { outcome: 'unknown' }>;

/** A turn whose process died while `send` was under way, its siblings done. */
async function crashed(world: World, more: Partial<Tool<Json>> = {}, first = 'send'): Promise<void> {
  world.says(calls(['read', {}], [first, { to: 'a' }], ['put', {}]));
  const tools = {
    read: look(() => 'read'),
    send: act(() => never(), more),
    put: act(() => 'put', { effect: 'idempotent' }),
  };
  await world.boot({ tools }).startTurn(hello);
  await until(
    async () => (await world.calls()).filter(({ state }) => state === 'succeeded').length === 2,
    'the siblings are done',
  );
  await world.crash();
}

const toolsWith = (send: Partial<Tool<Json>>) => ({
  read: look(() => 'again'),
  send: act(() => 'sent again', send),
  put: act(() => 'again', { effect: 'idempotent' }),
});

const settlements: readonly { readonly settlement: Settlement; readonly runs: number; readonly output: unknown }[] = [
  { settlement: { outcome: 'succeeded', output: 'it landed' }, runs: 1, output: { type: 'text', value: 'it landed' } },
  { settlement: { outcome: 'failed', error: 'bounced' }, runs: 1, output: { type: 'error-text', value: 'bounced' } },
  { settlement: { outcome: 'notStarted' }, runs: 2, output: { type: 'text', value: 'sent again' } },
];

for (const { settlement, runs, output } of settlements) {
  it(`a call in doubt is asked about: reconcile says ${settlement.outcome} (I5)`, async () => {
    const world = createWorld();
    await crashed(world);
    const asked: unknown[] = [];
    const reconcile: Reconcile = async (call) => {
      asked.push(call);
      return settlement;
    };
    const engine = world.boot({ tools: toolsWith({ reconcile }) });
    const turn = only((await engine.recover()).resumed);
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
    const first = world.runsOf('send')[0];
    expect(asked).toEqual([
      { input: { to: 'a' }, idempotencyKey: first?.key, dispatchedAt: world.clock.now(), cause: 'crash', notes: [] },
    ]);
    expect(world.runsOf('send')).toHaveLength(runs);
    expect(world.runsOf('send').every(({ key }) => key === first?.key)).toBe(true);
    // The siblings keep the results they had before the crash (case C3), and none of them runs again (case C5).
    expect(await world.outputs()).toEqual([{ type: 'text', value: 'read' }, output, { type: 'text', value: 'put' }]);
    expect(world.runsOf('put')).toHaveLength(1);
    expect(await engine.reviews()).toEqual([]);
  });
}

for (const [how, reconcile] of [
  ['says unknown', async () => ({ outcome: 'unknown' })],
  ['throws', async () => Promise.reject(new Error('no connection'))],
] as const) {
  it(`a call in doubt parks its turn for a person when reconcile ${how}`, async () => {
    const world = createWorld();
    await crashed(world);
    const engine = world.boot({ tools: toolsWith({ reconcile: reconcile as Reconcile }) });
    const turn = only((await engine.recover()).resumed);
    expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
    const review = only(await engine.reviews());
    expect(review).toMatchObject({ turnId: turn.turnId, toolName: 'send', input: { to: 'a' } });
    await engine.settleCall(turn.turnId, review.callId, { outcome: 'succeeded', output: 'seen', by: 'ann' });
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
    expect(world.runsOf('send')).toHaveLength(1);
  });
}

it('a reconcile that hangs is given the time of its tool, and then a person is asked', async () => {
  const world = createWorld();
  await crashed(world);
  let aborted = false;
  const reconcile: Tool<Json>['reconcile'] = (_call, { signal }) => {
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    return never();
  };
  const engine = world.boot({ tools: toolsWith({ reconcile, timeoutMs: 5_000 }) as never });
  const turn = only((await engine.recover()).resumed);
  expect(await isOpen(turn.rest)).toBe(true);
  await world.advance(5_000);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked' });
  expect(aborted).toBe(true);
});

it('without reconcile the turn is parked, its review is listed, and no attempt is lost by waiting (case C12)', async () => {
  const world = createWorld();
  await crashed(world);
  const engine = world.boot({ tools: toolsWith({}) });
  const report = await engine.recover();
  expect(report).toMatchObject({ resumed: [], held: [], abandoned: [] });
  const turnId = only(report.parked);
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const review = only(await engine.reviews());
  expect(review).toMatchObject({
    sessionId: 's',
    turnId,
    toolName: 'send',
    idempotencyKey: world.runsOf('send')[0]?.key,
  });
  expect(await world.head()).toMatchObject({
    phase: 'awaitingReview',
    waiting: { reviews: [review.callId], until: null },
  });
  expect(world.eventsOf('interrupted_turn_review_required')).toMatchObject([{ gate: 'doubts' }]);
  expect(world.eventsOf('reviewRequested')).toMatchObject([{ review, durable: true }]);
  // The route is free again: nothing is in progress without an owner that keeps others out.
  const lease = await world.store.acquire('session s');
  expect(lease).toBeDefined();
});

it('a parked turn survives any number of restarts without an attempt, and goes on when it is settled (case C7, C12)', async () => {
  const world = createWorld();
  await crashed(world);
  const tools = toolsWith({});
  const turnId = only((await world.boot({ tools }).recover()).parked);
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const { attempts, recoveries } = await world.head();
  for (let restart = 0; restart < 5; restart += 1) {
    await world.advance(24 * 3_600_000);
    const engine = await world.reboot({ tools });
    expect((await engine.recover()).parked).toEqual([turnId]);
    expect(await engine.interrupted()).toMatchObject([{ turnId, waiting: { until: null } }]);
  }
  expect(await world.head()).toMatchObject({ attempts, recoveries });
  const engine = await world.reboot({ tools });
  await engine.recover();
  const review = only(await engine.reviews({ sessionId: 's' }));
  const turn = engine.activeTurn('s');
  expect(turn?.turnId).toBe(turnId);
  await engine.settleCall(turnId, review.callId, { outcome: 'failed', error: 'it bounced', by: 'ann' });
  expect(await within(turn?.outcome ?? never())).toMatchObject({ status: 'completed' });
  expect((await world.outputs())[1]).toEqual({ type: 'error-text', value: 'it bounced' });
  expect(world.runsOf('send')).toHaveLength(1);
  expect(await engine.reviews()).toEqual([]);
});

it('a person who says that a call never started lets it run, with the same key', async () => {
  const world = createWorld();
  await crashed(world);
  const engine = world.boot({ tools: toolsWith({}) });
  const turnId = only((await engine.recover()).parked);
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  const [before, after] = world.runsOf('send');
  expect(after?.key).toBe(before?.key);
  expect((await world.outputs())[1]).toEqual({ type: 'text', value: 'sent again' });
});

it('a settlement is durable when it resolves, and can be given once', async () => {
  const world = createWorld();
  await crashed(world);
  const engine = world.boot({ tools: toolsWith({}) });
  const turnId = only((await engine.recover()).parked);
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const { callId } = only(await engine.reviews());
  const answers = await Promise.allSettled([
    engine.settleCall(turnId, callId, { outcome: 'succeeded', output: 1, by: 'ann' }),
    engine.settleCall(turnId, callId, { outcome: 'failed', error: 'no', by: 'bob' }),
  ]);
  expect(answers).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'TURN_CALL_NOT_IN_DOUBT' } }]);
  expect(await world.store.call(callId)).toMatchObject({ state: 'succeeded', output: { type: 'json', value: 1 } });
  await expect(
    engine.settleCall(turnId, `${turnId}.00009.0000`, { outcome: 'notStarted', by: 'x' }),
  ).rejects.toMatchObject({
    code: 'TURN_NOT_FOUND',
  });
});

it('reportToModel never parks: the model is told to look', async () => {
  const world = createWorld();
  await crashed(world);
  const engine = world.boot({ tools: toolsWith({ reconcile: reportToModel }) });
  expect(await within(only((await engine.recover()).resumed).outcome)).toMatchObject({ status: 'completed' });
  expect(JSON.stringify((await world.outputs())[1])).toContain('check before you repeat it');
  expect(world.runsOf('send')).toHaveLength(1);
});

it('a call that may be repeated runs again by itself, with the same key and the next dispatch', async () => {
  const world = createWorld();
  world.says(calls(['put', { n: 1 }], ['read', {}]));
  const stuck = { put: act(() => never(), { effect: 'idempotent' }), read: look(() => never()) };
  await world.boot({ tools: stuck }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  const engine = await world.reboot({
    tools: { put: act(() => 'ok', { effect: 'idempotent' }), read: look(() => 'ok') },
  });
  await within(only((await engine.recover()).resumed).outcome);
  const puts = world.runsOf('put');
  expect(puts).toHaveLength(2);
  expect(puts[1]?.key).toBe(puts[0]?.key);
  expect(await world.calls()).toMatchObject([{ dispatch: 2 }, { dispatch: 2 }]);
});

it('what an earlier dispatch says late does not settle the dispatch that took its place', async () => {
  const world = createWorld();
  const runs = [gate<string>(), gate<string>()];
  let started = 0;
  const send = act(() => runs[started++]?.opened, {
    timeoutMs: 1_000,
    reconcile: async () => ({ outcome: 'notStarted' }) as const,
  });
  world.says(calls('send'));
  const { outcome } = await world.boot({ tools: { send } }).startTurn(hello);
  await until(() => started === 1, 'it runs');
  await world.advance(1_000);
  await until(() => started === 2, 'it runs again');
  runs[0]?.open('the first, late');
  await calm();
  expect(only(await world.calls())).toMatchObject({ state: 'dispatched', dispatch: 2 });
  runs[1]?.open('the second');
  await within(outcome);
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'the second' }]);
});

it('siblings of a call in doubt that have not started wait until it is settled', async () => {
  const world = createWorld();
  world.says(calls('send', 'later'));
  const limits = { parallelCalls: 1 };
  await world.boot({ limits, tools: { send: act(() => never()), later: act(() => 'no') } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'the first runs');
  const answer = gate<Settlement>();
  const tools = { send: act(() => null, { reconcile: () => answer.opened }), later: act(() => 'now') };
  const engine = await world.reboot({ limits, tools });
  const turn = only((await engine.recover()).resumed);
  await calm();
  expect(world.runsOf('later')).toHaveLength(0);
  answer.open({ outcome: 'succeeded', output: 'landed' });
  await within(turn.outcome);
  expect(world.runsOf('later')).toHaveLength(1);
});

it('a settlement names turn and call: a call of another turn or session is not settled by it', async () => {
  const world = createWorld();
  await crashed(world);
  const engine = world.boot({ tools: toolsWith({}) });
  const turnId = only((await engine.recover()).parked);
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const { callId } = only(await engine.reviews());
  const other = await engine.startTurn({ ...hello, sessionId: 't' });
  await within(other.outcome);
  await expect(
    engine.settleCall(other.turnId, callId, { outcome: 'succeeded', output: 1, by: 'mallory' }),
  ).rejects.toThrow(/call/);
  expect(await world.store.call(callId)).toMatchObject({ state: 'inDoubt', turnId });
  expect(await engine.reviews()).toHaveLength(1);
});

it('a settlement while the route of the turn is busy is not lost', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => never(), { timeoutMs: 1_000 }) } });
  const turn = await engine.startTurn({ ...hello, routeKey: 'shared' });
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  await within(turn.rest);
  const answer = gate<string>();
  world.says(() => answer.opened);
  await engine.startTurn({ ...hello, sessionId: 't', routeKey: 'shared' });
  await until(() => world.requests.length === 2, 'the route is busy');
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: 'ok', by: 'ann' });
  expect(await world.store.call(callId)).toMatchObject({ state: 'succeeded' });
  answer.open('free');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});
