// Cancel: durable before it is told, whatever the turn is doing, and it never comes back (I8).
import { expect, it } from 'vitest';
import { TurnError } from '../../src/index.js';
import { calm, gate, never, until, untilAborted, within } from './waiting.js';
import { act, calls, createWorld, hello, look, only, type World } from './world.js';

const hang = { hang: true } as const;

async function neverComesBack(world: World): Promise<void> {
  const asked = world.requests.length;
  const ran = world.runs.length;
  const engine = await world.reboot();
  expect(await engine.recover()).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  await calm();
  expect([world.requests.length, world.runs.length]).toEqual([asked, ran]);
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'cancelled' }, phase: 'cancelled' });
  expect(await world.store.markers('agent')).toEqual([]);
}

it('a running turn that is cancelled and then crashes never comes back (I8)', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  expect(await turn.cancel({ reason: 'enough' })).toMatchObject({ status: 'cancelled', reason: 'enough' });
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'cancelled', reason: 'enough' } });
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
  await neverComesBack(world);
});

it('cancel during a batch pairs every call, keeps what was done, and lists what may have happened (case C21)', async () => {
  const world = createWorld();
  world.says(calls('done', 'send', 'put', 'waits'));
  const tools = {
    done: act(() => 'finished'),
    send: act(() => never()),
    put: act(() => never(), { effect: 'idempotent' }),
    waits: act(() => 'no'),
  };
  const engine = world.boot({ tools, limits: { parallelCalls: 2 } });
  const turn = await engine.startTurn(hello);
  await until(async () => (await world.calls()).some(({ state }) => state === 'succeeded'), 'one is done');
  await until(() => world.runs.length === 3, 'the next one runs');
  await turn.cancel();
  const last = (await world.messages()).at(-1)?.message;
  const results = last?.role === 'tool' ? last.content.map((part) => ('output' in part ? part.output : null)) : [];
  expect(results).toHaveLength(4);
  expect(results[0]).toEqual({ type: 'text', value: 'finished' });
  expect(JSON.stringify(results[1])).toContain('outcome is unknown');
  expect(JSON.stringify(results[2])).toContain('outcome is unknown');
  expect(JSON.stringify(results[3])).toContain('did not run');
  expect(await world.calls()).toMatchObject([
    { state: 'succeeded' },
    { state: 'inDoubt', doubt: 'cancel' },
    { state: 'inDoubt', doubt: 'cancel' },
    { state: 'failed' },
  ]);
  expect(only(await engine.reviews())).toMatchObject({ toolName: 'send', turnId: turn.turnId });
  await neverComesBack(world);
});

it('an external call stays in doubt after a cancel although its tool rejects when its signal aborts (case C21)', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act((_input, { signal }) => untilAborted(signal)) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await turn.cancel();
  await calm();
  expect(await world.calls()).toMatchObject([{ state: 'inDoubt' }]);
  expect(await engine.reviews()).toHaveLength(1);
});

it('a tool of a cancelled turn that finishes late does not disturb the turn that runs now', async () => {
  const world = createWorld();
  world.says(calls('send'), calls('look'), 'second');
  const result = gate<string>();
  const looking = gate<string>();
  const engine = world.boot({ tools: { send: act(() => result.opened), look: look(() => looking.opened) } });
  const first = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await first.cancel();
  const second = await engine.startTurn({ ...hello, input: 'go on' });
  await until(() => world.runs.length === 2, 'the second turn runs');
  result.open('it landed');
  await until(async () => (await engine.reviews()).length === 0, 'the doubt is settled');
  looking.open('seen');
  expect(await within(second.outcome)).toMatchObject({ status: 'completed', text: 'second' });
});

it('a parked turn is cancelled: its route is free, its outcome told, and it is active no more', async () => {
  const world = createWorld();
  world.says(calls('ask'));
  const engine = world.boot({ tools: { ask: act(() => 'ok', { approval: 'required' }) } });
  const turn = await engine.startTurn({ ...hello, attended: true });
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingApproval' });
  expect(await turn.cancel()).toMatchObject({ status: 'cancelled' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
  expect(engine.activeTurn('s')).toBeUndefined();
  expect(world.runs).toEqual([]);
  expect(await engine.reviews()).toEqual([]);
  await neverComesBack(world);
});

it('an interrupted turn is cancelled without being resumed', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const turn = await world.boot({ tools: { send: act(() => never()) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools: { send: act(() => 'no') } });
  expect(await engine.cancelTurn(turn.turnId, { reason: 'stop it' })).toMatchObject({
    status: 'cancelled',
    reason: 'stop it',
  });
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
  expect(await engine.reviews()).toHaveLength(1);
  await neverComesBack(world);
});

it('a turn whose records cannot be read is cancelled all the same', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const engine = await world.reboot();
  world.process.store.load = () => Promise.reject(new TurnError('TURN_DAMAGED', 'a message is damaged'));
  expect(await engine.cancelTurn(turn.turnId)).toMatchObject({ status: 'cancelled' });
  await neverComesBack(world);
});

it('a turn that ended before keeps its outcome, and cancelling it twice says the same', async () => {
  const world = createWorld();
  world.says('done before', hang);
  const engine = world.boot();
  const first = await engine.startTurn(hello);
  await within(first.outcome);
  expect(await first.cancel()).toMatchObject({ status: 'completed', text: 'done before' });
  const second = await engine.startTurn(hello);
  await until(() => world.requests.length === 2, 'the model is asked');
  const both = await Promise.all([second.cancel({ reason: 'a' }), engine.cancelTurn(second.turnId, { reason: 'b' })]);
  expect(both).toMatchObject([
    { status: 'cancelled', reason: 'a' },
    { status: 'cancelled', reason: 'a' },
  ]);
  expect(await first.cancel()).toMatchObject({ status: 'completed' });
});

it('a cancelled turn does not take the one behind it along', async () => {
  const world = createWorld();
  world.says(hang, 'second');
  const engine = world.boot();
  const first = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await first.cancel();
  const second = await engine.startTurn(hello);
  expect(await within(second.outcome)).toMatchObject({ status: 'completed', text: 'second' });
});

it('cancel works in setup, during a back-off, and before anything was asked', async () => {
  for (const phase of ['setup', 'retryingLLM'] as const) {
    const world = createWorld();
    world.says({ fail: 'overloaded' });
    const engine = world.boot(phase === 'setup' ? { dependencies: () => never() } : {});
    const turn = await engine.startTurn(hello);
    await until(() => world.eventsOf('phase').at(-1)?.phase === phase, `the turn is in ${phase}`);
    expect(await turn.cancel()).toMatchObject({ status: 'cancelled' });
    await world.advance(3_600_000);
    expect(world.requests.length).toBe(phase === 'setup' ? 0 : 1);
    await neverComesBack(world);
  }
});

it('an unknown turn cannot be cancelled, and a text that is no turn id is named', async () => {
  const engine = createWorld().boot();
  await expect(engine.cancelTurn('s.nothing')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  await expect(engine.cancelTurn('nothing')).rejects.toThrow(/turnId "nothing" is no turn id/);
  await expect(engine.cancelTurn(7 as never)).rejects.toThrow(/^turnId 7 is no turn id/);
});

it('a cancel whose reason is no text is refused, and the turn goes on as if nothing had been said', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await expect(turn.cancel({ reason: 5 as never })).rejects.toThrow(TypeError);
  answer.open('still here');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'still here' });
});

it('a cancel that cannot be made durable aborts what runs anyway, and says TURN_STORE_FAILED', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => never()) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  world.process.store.fate = () => 'failBefore';
  await expect(within(turn.cancel())).rejects.toMatchObject({ code: 'TURN_STORE_FAILED', retryable: true });
  expect(only(world.runs).call.signal.aborted).toBe(true);
  expect(world.eventsOf('storeFailed').length).toBeGreaterThan(0);
  world.process.store.fate = () => 'pass';
  await world.advance(60_000);
  expect(await engine.cancelTurn(turn.turnId)).toMatchObject({ status: 'cancelled' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
  await neverComesBack(world);
});

it('a turn at rest whose cancel cannot be made durable stays as it was, and is cancelled when asked again', async () => {
  for (const fate of ['failBefore', 'failAfter'] as const) {
    const world = createWorld();
    const told: string[] = [];
    world.says(hang);
    const turn = await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'the model is asked');
    const engine = await world.reboot({ onOutcome: (outcome) => void told.push(outcome.status) });
    world.process.store.fate = (nth) => (nth === 1 ? fate : 'pass');
    await expect(engine.cancelTurn(turn.turnId)).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
    expect(await engine.cancelTurn(turn.turnId)).toMatchObject({ status: 'cancelled' });
    await engine.recover();
    await until(() => told.length === 1, 'the outcome is delivered');
    await until(async () => (await world.head()).outcomesDue.length === 0, 'the delivery is noted');
    await neverComesBack(world);
  }
});
