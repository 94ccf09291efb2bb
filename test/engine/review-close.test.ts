// What a strict review found about close() and recovery: nothing is taken up by a process that goes, and nothing that
// the application does keeps it.
import { expect, it } from 'vitest';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, only, type World } from './world.js';

const hang = { hang: true } as const;

/** A process that died while it asked the model for each of these sessions. */
async function interrupted(...sessionIds: readonly string[]): Promise<World> {
  const world = createWorld();
  world.says(...sessionIds.map(() => hang));
  const engine = world.boot();
  for (const sessionId of sessionIds) await engine.startTurn({ ...hello, sessionId });
  await until(() => world.requests.length === sessionIds.length, 'the model is asked');
  await world.crash();
  return world;
}

/** A process that died while an idempotent call ran. */
async function interruptedCall(): Promise<World> {
  const world = createWorld();
  world.says(calls('send'));
  await world.boot({ tools: { send: act(() => never(), { effect: 'idempotent' }) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.crash();
  return world;
}

it('close() during recover() takes up no further turn, and every one of them is there for the next process', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
  const world = await interrupted(...names);
  world.says(...names.map(() => hang));
  let closing: Promise<void> | undefined;
  const engine = world.boot({
    onEvent: ({ type }) => {
      if (type === 'interrupted_turn_resumed') closing ??= engine.close();
    },
  });
  const recovering = engine.recover({ concurrency: 1 });
  await until(() => closing !== undefined, 'the first is taken up');
  await within(closing as Promise<void>, 'close()');
  const resumed = world.eventsOf('interrupted_turn_resumed').length;
  const asked = world.requests.length;
  expect(resumed).toBeLessThan(names.length);
  await within(recovering, 'recover()');
  await calm(300);
  expect(world.eventsOf('interrupted_turn_resumed')).toHaveLength(resumed);
  expect(world.requests).toHaveLength(asked);
  for (const name of names) {
    expect(engine.activeTurn(name)).toBeUndefined();
    expect((await world.head(name)).inProgress).toBe(true);
  }
  world.says(...names.map(() => hang));
  const report = await world.boot().recover();
  expect(report.resumed).toHaveLength(names.length);
});

it('close() waits for the turn that recover() is taking up at that moment, and hands it over', async () => {
  const world = await interrupted('a', 'b');
  const building = gate();
  let built = 0;
  const engine = world.boot({
    dependencies: () => {
      built += 1;
      return building.opened;
    },
  });
  const recovering = engine.recover({ concurrency: 1 });
  await until(() => built === 1, 'the first turn is taken up');
  const closing = engine.close({ graceMs: 10_000 });
  expect(await isOpen(closing)).toBe(true);
  building.open();
  await within(closing, 'close()');
  await within(recovering, 'recover()');
  await calm();
  expect(built).toBe(1);
  expect(engine.activeTurn('a')).toBeUndefined();
  expect(engine.activeTurn('b')).toBeUndefined();
  expect(await world.store.acquire('session a')).toBeDefined();
  expect(await world.store.acquire('session b')).toBeDefined();
});

it('an approval function that never answers in a recovery is given up: held, and the attempt is spent', async () => {
  const world = await interruptedCall();
  const tools = { send: act(() => 'sent', { effect: 'idempotent', approval: () => never() }) };
  const recovering = world.boot({ tools }).recover();
  expect(await isOpen(recovering)).toBe(true);
  await world.advance(MINUTE_MS);
  const { held, resumed } = await within(recovering, 'recover()');
  expect(resumed).toEqual([]);
  expect(only(held)).toMatchObject({ gate: 'dependencies', reason: expect.stringContaining('approval') });
  expect(await world.head()).toMatchObject({ inProgress: true, attempts: 1, recoveries: 1 });
  expect(world.runs).toHaveLength(1);
});

it('an approval function that never answers in a recovery does not keep close() longer than its grace', async () => {
  const world = await interruptedCall();
  const tools = { send: act(() => 'sent', { effect: 'idempotent', approval: () => never() }) };
  const engine = world.boot({ tools });
  const recovering = engine.recover();
  await calm();
  const closing = engine.close({ graceMs: 10 });
  await world.advance(10);
  await within(closing, 'close()');
  await within(recovering, 'recover()');
  // Nothing failed: a hand-over spends no attempt.
  expect(await world.head()).toMatchObject({ inProgress: true, attempts: 0, recoveries: 0 });
});

it('one turn that cannot be handed over takes no grace from the others, and close() rejects when they are through', async () => {
  const world = createWorld();
  world.says(hang, calls('write'), hang);
  const writing = gate<string>();
  const engine = world.boot({ tools: { write: act(() => writing.opened) } });
  await engine.startTurn({ ...hello, sessionId: 'a' });
  await until(() => world.requests.length === 1, 'the model is asked');
  await engine.startTurn({ ...hello, sessionId: 'b' });
  await until(() => world.runs.length === 1, 'it runs');
  world.process.store.fate = (_nth, { head }) => (head.sessionId === 'a' ? 'failBefore' : 'pass');
  const closing = engine.close({ graceMs: 10_000 });
  closing.catch(() => undefined);
  expect(await isOpen(closing)).toBe(true);
  expect(world.runs[0]?.call.signal.aborted).toBe(false);
  writing.open('written');
  await calm();
  await world.advance(10_000);
  await expect(within(closing, 'close()')).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
  expect(only(await world.calls('b'))).toMatchObject({ state: 'succeeded' });
  expect(await world.head('b')).toMatchObject({ handedOver: true });
});

for (const graceMs of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, '5' as never]) {
  it(`close() refuses ${String(graceMs)} as its grace, and the engine goes on`, async () => {
    const world = createWorld();
    const engine = world.boot();
    await expect(engine.close({ graceMs })).rejects.toThrow(/^graceMs/);
    expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  });
}
