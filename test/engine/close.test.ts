// close() hands over: nothing new starts, nothing is lost, no attempt is spent.
import { expect, it } from 'vitest';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only } from './world.js';

const hang = { hang: true } as const;

it('a turn that is handed over rests, keeps its marker, and its outcome stays open', async () => {
  const world = createWorld();
  let signal: AbortSignal | undefined;
  world.says((_request, call) => {
    signal = call.signal;
    return hang;
  });
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => signal !== undefined, 'the model is asked');
  await within(engine.close());
  expect(await within(turn.rest)).toEqual({ status: 'handedOver' });
  expect(await isOpen(turn.outcome)).toBe(true);
  expect(signal?.aborted).toBe(true);
  expect(await world.head()).toMatchObject({ inProgress: true, handedOver: true, attempts: 0 });
  expect(await world.store.markers('agent')).toHaveLength(1);
});

it('ten hand-overs in a row spend no attempt, and the turn ends well', async () => {
  const world = createWorld();
  world.says(hang);
  let engine = world.boot();
  const turn = await engine.startTurn(hello);
  for (let deploy = 1; deploy <= 10; deploy += 1) {
    await until(() => world.requests.length === deploy, 'the model is asked');
    world.says(deploy < 10 ? hang : 'at last');
    await within(engine.close());
    engine = await world.reboot();
    const { resumed } = await engine.recover();
    expect(only(resumed).turnId).toBe(turn.turnId);
    expect(await world.head()).toMatchObject({ handedOver: false, attempts: 0, recoveries: 0 });
  }
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(await world.store.outcome(turn.turnId)).toMatchObject({ status: 'completed', text: 'at last' });
});

it('a crash behind a hand-over counts again', async () => {
  const world = createWorld();
  world.says(hang, hang, hang);
  const first = world.boot();
  await first.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await first.close();
  await (await world.reboot()).recover();
  await until(() => world.requests.length === 2, 'the model is asked');
  await (await world.reboot()).recover();
  expect(await world.head()).toMatchObject({ attempts: 1, recoveries: 1 });
});

it('tools may settle within the grace, and their results are kept', async () => {
  const world = createWorld();
  world.says(calls('write'), 'done');
  const writing = gate<string>();
  const tools = { write: act(() => writing.opened) };
  const engine = world.boot({ tools });
  await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const closing = engine.close({ graceMs: 10_000 });
  await world.advance(4_000);
  expect(await isOpen(closing)).toBe(true);
  expect(world.runs[0]?.call.signal.aborted).toBe(false);
  writing.open('written');
  await world.advance(1_000);
  await within(closing);
  expect(await world.calls()).toMatchObject([{ state: 'succeeded' }]);
  expect(world.requests).toHaveLength(1);
  const turn = only((await (await world.reboot({ tools })).recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(1);
});

it('a tool that outlasts the grace is aborted and in doubt (case C21)', async () => {
  const world = createWorld();
  world.says(calls('write', 'later'));
  const tools = { write: act(() => never()), later: act(() => 'later') };
  const engine = world.boot({ tools, limits: { parallelCalls: 1 } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const closing = engine.close({ graceMs: 3_000 });
  await world.advance(3_100);
  await within(closing);
  expect(world.runs[0]?.call.signal.aborted).toBe(true);
  expect(world.runsOf('later')).toEqual([]);
  const next = await world.reboot({ tools });
  expect((await next.recover()).parked).toEqual([turn.turnId]);
  await until(async () => (await next.reviews()).length === 1, 'the doubt is listed');
});

it('calls of an answer that comes while the process closes are kept, and run in the next one', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(calls('slow'), async () => {
    await answer.opened;
    return calls('write');
  });
  const slow = gate<string>();
  const tools = { slow: look(() => slow.opened), write: act(() => 'written') };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the first runs');
  slow.open('ok');
  await until(() => world.requests.length === 2, 'the model is asked');
  const closing = engine.close();
  answer.open('go');
  await world.advance(6_000);
  await within(closing);
  expect(world.runsOf('write')).toEqual([]);
  world.says(calls('write'));
  await (await world.reboot({ tools })).recover();
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(await world.store.outcome(turn.turnId)).toMatchObject({ status: 'completed' });
  expect(world.runsOf('write').length).toBeGreaterThan(0);
});

it('new input is refused with TURN_ENGINE_CLOSING from the moment close() is called', async () => {
  const world = createWorld();
  const engine = world.boot();
  const closing = engine.close();
  const closed = { code: 'TURN_ENGINE_CLOSING', retryable: true };
  await expect(engine.sendMessage(hello)).rejects.toMatchObject(closed);
  await expect(engine.startTurn(hello)).rejects.toMatchObject(closed);
  await expect(engine.recover()).rejects.toMatchObject(closed);
  await closing;
  await engine.close();
  expect(await world.store.head('s')).toBeUndefined();
});

it('a message sent just before close() is started or refused, never lost between the two (I11)', async () => {
  const world = createWorld();
  const engine = world.boot();
  const sending = Promise.allSettled([1, 2, 3].map((n) => engine.sendMessage({ ...hello, sessionId: `s${n}` })));
  await within(engine.close());
  for (const [index, sent] of (await sending).entries()) {
    const head = await world.store.head(`s${index + 1}`);
    if (sent.status === 'rejected') {
      expect(sent.reason).toMatchObject({ code: 'TURN_ENGINE_CLOSING' });
      expect(head).toBeUndefined();
    } else expect(head).toMatchObject({ turnId: sent.value.turn.turnId });
  }
});

it('queued and parked turns rest as handed over or parked, and wait for the next process', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  await engine.startTurn({ ...hello, sessionId: 'a', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'the model is asked');
  const queued = await engine.sendMessage({ ...hello, sessionId: 'b', routeKey: 'r' });
  await within(engine.close());
  expect(await within(queued.turn.rest)).toEqual({ status: 'handedOver' });
  expect(world.requests).toHaveLength(1);
  await (await world.reboot()).recover();
  await until(async () => (await world.head('b'))?.ended?.kind === 'completed', 'the queued turn has ended');
});

it('what is dirty is checkpointed: a debounced boundary is not lost by a hand-over', async () => {
  const world = createWorld();
  world.says(calls('read'), hang);
  const tools = { read: look(() => 'read once') };
  const engine = world.boot({ tools });
  await engine.startTurn(hello);
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect(await world.messages()).toHaveLength(1);
  await within(engine.close());
  expect((await world.messages()).map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
});

it('a deadline survives a hand-over', async () => {
  const world = createWorld();
  world.says({ fail: 'overloaded', retryAfterMs: 50_000 }, 'done');
  const engine = world.boot();
  await engine.startTurn(hello);
  await until(() => world.eventsOf('retry').length === 1, 'it backs off');
  await world.advance(20_000);
  await within(engine.close());
  const turn = only((await (await world.reboot()).recover()).resumed);
  await world.advance(29_999);
  expect(world.requests).toHaveLength(1);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('close() ends although the store fails for one session: the others are handed over, and every rest is told', async () => {
  const world = createWorld();
  world.says(hang, hang);
  const engine = world.boot();
  const turns = [
    await engine.startTurn({ ...hello, sessionId: 'a' }),
    await engine.startTurn({ ...hello, sessionId: 'b' }),
  ];
  await until(() => world.requests.length === 2, 'the model is asked');
  world.process.store.fate = (_nth, { head }) => (head.sessionId === 'a' ? 'failBefore' : 'pass');
  await within(engine.close().catch((thrown: unknown) => expect(thrown).toMatchObject({ code: 'TURN_STORE_FAILED' })));
  await calm();
  expect(await world.head('b')).toMatchObject({ handedOver: true });
  for (const turn of turns) expect(await within(turn.rest)).toEqual({ status: 'handedOver' });
  const report = await (await world.reboot()).recover();
  expect(report.resumed).toHaveLength(2);
});

it('a turn that waits for a failing store does not keep close() waiting', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  world.process.store.fate = () => 'failBefore';
  answer.open('done');
  await until(() => world.eventsOf('storeFailed').length === 1, 'the store fails');
  const closing = engine.close({ graceMs: 100 }).catch(() => undefined);
  await world.advance(MINUTE_MS);
  await within(closing, 'close()');
});

it('an onOutcome that hangs does not keep close() waiting for ever', async () => {
  const world = createWorld();
  const engine = world.boot({ onOutcome: () => never() });
  const turn = await engine.startTurn(hello);
  await within(turn.outcome);
  await calm();
  const closing = engine.close({ graceMs: 1_000 });
  await world.advance(5 * MINUTE_MS);
  await within(closing, 'close()');
  expect(await world.head()).toMatchObject({ outcomesDue: [turn.turnId] });
});
