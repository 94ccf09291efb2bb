// A store that fails: nothing starts without its commit, nothing is doubled, and the turn goes on when the store works (I1).
import { expect, it } from 'vitest';
import { EFFECTS, mixedScript, mixedTools, Receiver, toRest } from './mixed-turn.js';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only } from './world.js';

const COMMITS = 7;
const storeFailed = { code: 'TURN_STORE_FAILED', retryable: true };

for (const fate of ['failBefore', 'failAfter'] as const) {
  it(`a turn completes although any one commit fails (${fate}), and no effect is doubled`, async () => {
    for (let failing = 2; failing <= COMMITS; failing += 1) {
      const world = createWorld();
      world.says(...Array.from({ length: 20 }, () => mixedScript));
      const receiver = new Receiver();
      const engine = world.boot({ tools: mixedTools(receiver) });
      world.process.store.fate = (nth) => (nth === failing ? fate : 'pass');
      const turn = await engine.startTurn(hello);
      await toRest(world);
      // The last commit may be there while nobody knows it yet.
      await world.advance(1_000);
      expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
      expect([...receiver.landed].sort()).toEqual(EFFECTS);
      expect(world.runs.filter(({ tool }) => tool !== 'read')).toHaveLength(EFFECTS.length);
      expect(world.eventsOf('storeFailed')).toMatchObject([{ reason: 'the disk is full', durable: false }]);
    }
  });
}

it('while a commit fails nothing starts and nothing is asked; then the turn goes on (I1)', async () => {
  const world = createWorld();
  world.says(calls('send'), 'done');
  const engine = world.boot({ tools: { send: act(() => 'sent') } });
  const turn = await engine.startTurn(hello);
  world.process.store.fate = () => 'failBefore';
  await until(() => world.eventsOf('storeFailed').length === 1, 'the commit of the calls fails');
  await world.advance(10 * MINUTE_MS);
  expect(world.runs).toEqual([]);
  expect(world.requests).toHaveLength(1);
  expect(world.eventsOf('storeFailed').length).toBeGreaterThan(5);
  expect(await isOpen(turn.outcome)).toBe(true);
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'done' });
  expect(world.runs).toHaveLength(1);
});

it('tools that run while a commit fails go on, and their results are kept', async () => {
  const world = createWorld();
  world.says(calls('quick', 'slow'));
  const quick = gate<string>();
  const slow = gate<string>();
  const engine = world.boot({ tools: { quick: act(() => quick.opened), slow: act(() => slow.opened) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  world.process.store.fate = () => 'failBefore';
  quick.open('one');
  await until(() => world.eventsOf('storeFailed').length === 1, 'the store fails');
  slow.open('two');
  await calm();
  expect(world.runs.every(({ call }) => !call.signal.aborted)).toBe(true);
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(2);
});

it('a first commit that fails is the caller’s to know, and nothing was written', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.process.store.fate = () => 'failBefore';
  await expect(engine.startTurn(hello)).rejects.toMatchObject(storeFailed);
  await expect(engine.sendMessage(hello)).rejects.toMatchObject(storeFailed);
  expect(await world.store.head('s')).toBeUndefined();
  world.process.store.fate = () => 'pass';
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
});

for (const way of ['sendMessage', 'startTurn'] as const) {
  it(`a first commit that was reported as failed and is durable: the same message again runs the turn (${way})`, async () => {
    const world = createWorld();
    world.says('answered');
    const engine = world.boot();
    world.process.store.fate = (nth) => (nth === 1 ? 'failAfter' : 'pass');
    const message = { ...hello, messageId: 'm1' };
    await expect(engine[way](message)).rejects.toMatchObject(storeFailed);
    const again = await engine.sendMessage(message);
    expect(await within(again.turn.outcome, 'the outcome')).toMatchObject({ status: 'completed', text: 'answered' });
    expect(await world.messages()).toHaveLength(2);
  });
}

it('a message sent again while the store fails joins the running turn once (I11)', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, 'for both');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  world.process.store.fate = () => 'failBefore';
  const message = { ...hello, input: 'more', messageId: 'm2' };
  for (let n = 0; n < 3; n += 1) {
    const sent = engine.sendMessage(message);
    sent.catch(() => undefined);
    await world.advance(20_000);
    await expect(within(sent)).rejects.toMatchObject(storeFailed);
  }
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  expect(await engine.sendMessage(message)).toMatchObject({ accepted: 'duplicate', turn: { turnId: turn.turnId } });
  answer.open('for one');
  await within(turn.outcome);
  expect((await world.messages()).filter(({ meta }) => meta.id === 'm2')).toHaveLength(1);
});

it('a message sent again while the store fails, and joined by the turn that ends meanwhile, starts no second one (I11)', async () => {
  const world = createWorld();
  world.says(calls('send'), 'done');
  const sent = gate<string>();
  const engine = world.boot({ tools: { send: act(() => sent.opened) } });
  const first = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the tool runs');
  const again = { ...hello, messageId: 'm2' };
  world.process.store.fate = () => 'failBefore';
  await expect(within(engine.sendMessage(again))).rejects.toMatchObject(storeFailed);
  // What failed is kept by the turn and tried again. The second try looks for it before it is durable, and is slow.
  const { store } = world.process;
  const { seen } = store;
  const looked = gate();
  store.seen = async (...asked) => {
    const found = await seen(...asked);
    await looked.opened;
    return found;
  };
  const retried = engine.sendMessage(again);
  await calm();
  store.seen = seen;
  store.fate = () => 'pass';
  sent.open('sent');
  await world.advance(1_000);
  await within(first.outcome);
  looked.open();
  expect(await within(retried)).toMatchObject({ accepted: 'duplicate', turn: { turnId: first.turnId } });
  await world.advance(1_000);
  expect((await world.messages()).filter(({ meta }) => meta.id === 'm2')).toHaveLength(1);
});

it('input whose queueing was reported as failed and is durable still starts when its route is free (case C11)', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, 'queued');
  const engine = world.boot();
  const first = await engine.startTurn({ ...hello, sessionId: 'a', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'the route is busy');
  world.process.store.fate = (_nth, { head }) => (head.sessionId === 'b' && head.revision === 1 ? 'failAfter' : 'pass');
  const message = { ...hello, sessionId: 'b', routeKey: 'r', messageId: 'm1' };
  await expect(engine.sendMessage(message)).rejects.toMatchObject(storeFailed);
  expect(await engine.sendMessage(message)).toMatchObject({ accepted: 'duplicate' });
  answer.open('free');
  await within(first.outcome);
  await until(async () => (await world.head('b')).ended !== null, 'the queued input has its turn');
});

it('waiting input starts although the store fails when its turn should begin (case C11)', async () => {
  const world = createWorld();
  const answer = gate();
  world.says(async () => {
    await answer.opened;
    return { fail: 'auth' };
  }, 'for the input');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await engine.sendMessage({ ...hello, input: 'more' });
  let failed = 0;
  world.process.store.fate = (_nth, { head }) =>
    head.inProgress && head.turnId !== turn.turnId && failed++ < 2 ? 'failBefore' : 'pass';
  answer.open();
  await within(turn.outcome);
  await world.advance(MINUTE_MS);
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the input had its turn');
});

it('an attempt that cannot be made durable is not made: held, and the next recover() goes on (I4)', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  let built = 0;
  const engine = await world.reboot({ dependencies: () => void built++ });
  world.process.store.fate = () => 'failBefore';
  expect(await engine.recover()).toMatchObject({ resumed: [], held: [{ turnId: turn.turnId, gate: 'store' }] });
  expect([built, world.requests.length]).toEqual([0, 1]);
  expect(world.eventsOf('interrupted_turn_held')).toMatchObject([{ gate: 'store' }]);
  world.process.store.fate = () => 'pass';
  expect(await within(only((await engine.recover()).resumed).outcome)).toMatchObject({ status: 'completed' });
});

it('a resume whose first commit fails keeps its route, and the turn goes on when the store works (I7)', async () => {
  const world = createWorld();
  world.says(calls('put'), 'done');
  const put = (execute: () => Promise<string>) => act(execute, { effect: 'idempotent' });
  await world.boot({ tools: { put: put(() => never()) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools: { put: put(async () => 'ok') } });
  world.process.store.fate = (nth) => (nth >= 2 ? 'failBefore' : 'pass');
  const recovering = engine.recover();
  await until(() => world.eventsOf('storeFailed').length > 0, 'the store fails');
  const taken = await world.store.acquire('session s');
  expect(taken).toBeUndefined();
  expect(world.runs).toHaveLength(1);
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  await within(recovering);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(await world.head()).toMatchObject({ ended: { kind: 'completed' } });
  expect(world.runs).toHaveLength(2);
});

it('a settlement that cannot be made durable says so, and can be given again', async () => {
  const world = createWorld();
  world.says(calls('send'), 'done');
  const engine = world.boot({ tools: { send: act(() => never(), { timeoutMs: 1_000 }), read: look(() => 1) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  await within(turn.rest);
  const { callId } = only(await engine.reviews());
  const settlement = { outcome: 'succeeded', output: 'ok', by: 'ann' } as const;
  world.process.store.fate = () => 'failBefore';
  await expect(within(engine.settleCall(turn.turnId, callId, settlement))).rejects.toMatchObject(storeFailed);
  // Durable itself, although nothing behind it is: the turn goes on when the store works again.
  const before = world.process.store.commits;
  world.process.store.fate = (nth) => (nth > before + 1 ? 'failBefore' : 'pass');
  await within(engine.settleCall(turn.turnId, callId, settlement));
  await world.advance(1_000);
  expect(await world.head()).toMatchObject({ inProgress: true });
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('a failing store is no reason to forget an outcome that was told', async () => {
  const world = createWorld();
  const told: unknown[] = [];
  const engine = world.boot({ onOutcome: (outcome) => void told.push(outcome) });
  world.process.store.fate = (_nth, { head }) =>
    head.inProgress || head.outcomesDue.length > 0 ? 'pass' : 'failBefore';
  await within((await engine.startTurn(hello)).outcome);
  await until(() => told.length === 1, 'it is delivered');
  await calm();
  expect(await world.store.markers('agent')).toHaveLength(1);
  world.process.store.fate = () => 'pass';
  await engine.recover();
  await until(async () => (await world.store.markers('agent')).length === 0, 'the marker is gone');
});
