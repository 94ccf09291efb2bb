// The tests of the source texts: a turn that was cut off, and what the gates say about it.
import { expect, it } from 'vitest';
import { turnMachine } from '../../src/index.js';
import { calm, gate, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, look, MINUTE_MS, only, type World } from './world.js';

const hang = { hang: true } as const;

/** A turn in its second model call, with three messages on disk. */
async function interruptedWorld(): Promise<World> {
  const world = createWorld();
  world.says('welcome');
  const engine = world.boot({ tools: { write: act(() => 'written') } });
  await within((await engine.startTurn({ ...hello, input: 'first', messageId: 'm1' })).outcome);
  await world.advance(MINUTE_MS);
  world.says(calls('write'), hang);
  await engine.startTurn({ ...hello, input: 'second' });
  await until(() => world.requests.length === 3, 'the model is asked with the result');
  return world;
}

it('in progress survives a crash', async () => {
  const world = await interruptedWorld();
  const engine = await world.reboot();
  expect(await world.head()).toMatchObject({ inProgress: true });
  const [found] = await engine.interrupted();
  expect(found).toMatchObject({ sessionId: 's', turnId: (await world.head()).turnId, attempts: 0, waiting: null });
  expect(await engine.session('s')).toMatchObject({ inProgress: true, turnId: found?.turnId });
  expect(world.requests).toHaveLength(3);
});

it('the transcript has its messages and as many metadata records, and those from before the turn are intact (I3)', async () => {
  const world = await interruptedWorld();
  const before = await world.messages();
  expect(before.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
  expect(before.map(({ meta }) => meta.origin)).toEqual(['input', 'model', 'input', 'model', 'tool']);
  expect(before[0]?.meta).toMatchObject({ id: 'm1', at: 1_000_000_000_000 });
  expect(before[2]?.meta.at).toBe(1_000_000_000_000 + MINUTE_MS);
  const engine = await world.reboot();
  expect(await (await engine.session('s'))?.messages()).toEqual(before);
});

it('a resumed turn that ends well clears the flag and the marker', async () => {
  const world = await interruptedWorld();
  const before = await world.messages();
  const engine = await world.reboot({ tools: { write: act(() => 'again') } });
  const { resumed } = await engine.recover();
  expect(await within(only(resumed).outcome)).toMatchObject({ status: 'completed' });
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'completed' } });
  expect(await world.store.markers('agent')).toEqual([]);
  expect((await world.messages()).slice(0, 5)).toEqual(before);
  expect(world.runsOf('write')).toHaveLength(1);
});

it('the notice to the model is in the request once and never in the transcript (case C17)', async () => {
  const world = await interruptedWorld();
  for (let round = 0; round < 2; round += 1) {
    world.says(hang);
    const engine = await world.reboot({ tools: { write: act(() => null) } });
    await engine.recover();
    await until(() => world.requests.length === 4 + round, 'the model is asked again');
  }
  world.says({ fail: 'overloaded' }, calls('write'));
  const engine = await world.reboot({ tools: { write: act(() => null) } });
  const turn = only((await engine.recover()).resumed);
  await world.advance(2_000);
  await within(turn.outcome);
  const notices = world.requests.map(
    ({ messages }) => messages.filter((message) => JSON.stringify(message).includes('interrupted')).length,
  );
  // Two recoveries that were killed, one whose first call fails, and the first call after an answer.
  expect(notices).toEqual([0, 0, 0, 1, 1, 1, 1, 0]);
  expect(JSON.stringify(await world.messages())).not.toContain('interrupted');
});

it('the first message after a resume says so, and only that one', async () => {
  const world = await interruptedWorld();
  await world.advance(MINUTE_MS);
  world.says(calls('write'), 'done');
  const engine = await world.reboot({ tools: { write: act(() => null) } });
  await within(only((await engine.recover()).resumed).outcome);
  const resumed = (await world.messages()).map(({ meta }) => meta.resumed);
  expect(resumed).toEqual([...Array(5).fill(undefined), { attempt: 1, at: world.clock.now() }, undefined, undefined]);
});

it('what was streamed before the crash is taken back: the turn goes on behind its last message', async () => {
  const world = await interruptedWorld();
  const last = (await world.messages()).at(-1)?.meta.id;
  await (await world.reboot()).recover();
  expect(world.eventsOf('deltasDiscarded')).toMatchObject([{ afterMessageId: last, durable: false }]);
});

it('a turn killed in its first run and in each of three recoveries is abandoned at the fourth start (case C17)', async () => {
  const world = createWorld();
  const seen: number[] = [];
  const killed = async () => {
    seen.push((await world.head()).attempts);
    return hang;
  };
  world.says(killed, killed, killed, killed);
  const turn = await world.boot().startTurn(hello);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await until(() => seen.length === attempt, 'the model is asked');
    const report = await (await world.reboot()).recover();
    expect(report.resumed.map(({ turnId }) => turnId)).toEqual([turn.turnId]);
  }
  await until(() => seen.length === 4, 'the model is asked');
  // Each attempt was durable before the model was asked (I4).
  expect(seen).toEqual([0, 1, 2, 3]);
  expect(world.requests.map(({ call }) => call.attempt)).toEqual([0, 1, 2, 3]);
  const engine = await world.reboot();
  expect(await engine.recover()).toMatchObject({
    resumed: [],
    abandoned: [{ turnId: turn.turnId, gate: 'attempts', reason: '3 attempts without progress' }],
  });
  expect(world.requests).toHaveLength(4);
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: 'attempts' } });
  expect(world.eventsOf('interrupted_turn_abandoned')).toMatchObject([{ gate: 'attempts', durable: true }]);
  expect(await engine.interrupted()).toEqual([]);
});

it('progress gives a turn its attempts back, and twenty recoveries are enough all the same', async () => {
  const world = createWorld();
  const tools = { write: act(() => 'ok') };
  world.says(hang);
  // The same call twenty times over is no loop here: each belongs to another life of the turn.
  const options = { tools, loopDetector: false } as const;
  await world.boot(options).startTurn(hello);
  for (let recovery = 1; recovery <= 20; recovery += 1) {
    world.says(calls('write'), hang);
    const asked = world.requests.length;
    expect((await (await world.reboot(options)).recover()).resumed).toHaveLength(1);
    await until(() => world.requests.length === asked + 2, 'a batch is done');
    expect(await world.head()).toMatchObject({ attempts: 0, recoveries: recovery });
  }
  expect((await (await world.reboot(options)).recover()).abandoned).toMatchObject([
    { gate: 'attempts', reason: '20 recoveries of one turn' },
  ]);
});

it('a turn four hours and one minute old is abandoned with an event, and the model is never called (case C18)', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  await world.advance(4 * HOUR_MS + MINUTE_MS);
  const report = await world.boot().recover();
  expect(report.abandoned).toMatchObject([{ turnId: turn.turnId, gate: 'staleness' }]);
  expect(world.eventsOf('interrupted_turn_abandoned')[0]?.reason).toContain('4.02 hours');
  expect(world.requests).toHaveLength(1);
});

it('a turn just inside the staleness window goes on', async () => {
  const world = createWorld();
  world.says(hang);
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  await world.advance(4 * HOUR_MS);
  const { resumed } = await world.boot().recover();
  expect(await within(only(resumed).outcome)).toMatchObject({ status: 'completed' });
});

it('the switch leaves markers: interrupted turns are found and held, and go on when it is on again', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const off = await world.reboot({ recovery: false });
  expect(await off.recover()).toMatchObject({ resumed: [], held: [{ turnId: turn.turnId, gate: 'switch' }] });
  expect(world.eventsOf('interrupted_turn_held')).toMatchObject([{ gate: 'switch' }]);
  expect(await world.store.markers('agent')).toHaveLength(1);
  expect(await world.head()).toMatchObject({ inProgress: true, attempts: 0 });
  const { resumed } = await (await world.reboot()).recover();
  expect(await within(only(resumed).outcome)).toMatchObject({ status: 'completed' });
});

it('a checkpoint of an unknown machine version is abandoned with an event, and others go on (case C8)', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  const session = await world.store.load('s');
  const checkpoint = { ...(session?.checkpoint as object), machineVersion: '0' } as never;
  const revision = (await world.head()).revision + 1;
  const head = { ...(await world.head()), revision, checkpointAt: revision };
  await world.store.commit({ head, base: head.revision - 1, lease: null, savedAt: world.clock.now(), checkpoint });
  const report = await world.boot().recover();
  expect(report.abandoned).toMatchObject([{ turnId: turn.turnId, gate: 'checkpoint' }]);
  expect(world.eventsOf('interrupted_turn_abandoned')[0]?.reason).toContain('turn@0');
});

it('the migration hook brings an old checkpoint over', async () => {
  const world = createWorld();
  world.says(hang);
  const old = Object.assign(Object.create(Object.getPrototypeOf(turnMachine)), turnMachine, { version: '0' });
  await world.boot({ machine: old }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const engine = await world.reboot({ migrate: (checkpoint, to) => ({ ...checkpoint, ...to }) });
  const { resumed } = await engine.recover();
  expect(await within(only(resumed).outcome)).toMatchObject({ status: 'completed' });
});

it('every gate’s word is an event, and a resumed turn says that it is resuming first', async () => {
  const world = await interruptedWorld();
  await (await world.reboot({ tools: { write: act(() => null) } })).recover();
  await calm();
  const told = world.events.filter(({ type }) => type.startsWith('interrupted_turn'));
  expect(told).toMatchObject([
    { type: 'interrupted_turn_resuming', gate: 'attempt', reason: 'attempt 1', durable: true },
    { type: 'interrupted_turn_resumed', gate: 'resumed', durable: true },
  ]);
});

it('callbacks and tools of a recovered turn know that it is one, and have its durable context', async () => {
  const world = createWorld();
  world.says(hang);
  await world.boot().startTurn({ ...hello, attended: true, context: { tenant: 't1' } });
  await until(() => world.requests.length === 1, 'the model is asked');
  const infos: unknown[] = [];
  world.says(calls('read'));
  const engine = await world.reboot({
    tools: (turn) => {
      infos.push(turn);
      return { read: look(() => null) };
    },
  });
  await within(only((await engine.recover()).resumed).outcome);
  const recovered = { recovered: true, attended: false, attempt: 1, context: { tenant: 't1' } };
  expect(infos[0]).toMatchObject(recovered);
  expect(world.runs[0]?.call).toMatchObject({ recovered: true, attended: false });
});

it('recover() gives each of many turns its verdict, newest first and a bounded number at a time', async () => {
  const world = createWorld();
  const first = world.boot();
  for (let n = 0; n < 6; n += 1) {
    world.says(hang);
    await first.startTurn({ ...hello, sessionId: `s${n}` });
    await until(() => world.requests.length === n + 1, 'the model is asked');
    await world.advance(1_000);
  }
  const building: string[] = [];
  const built = gate();
  const engine = await world.reboot({
    dependencies: async (turn) => {
      building.push(turn.sessionId);
      await built.opened;
    },
  });
  const recovering = engine.recover({ concurrency: 2 });
  await calm();
  expect(building).toEqual(['s5', 's4']);
  built.open();
  const { resumed } = await within(recovering);
  expect(resumed).toHaveLength(6);
  expect(building).toEqual(['s5', 's4', 's3', 's2', 's1', 's0']);
});

it('every handle of the report gives its outcome, also of a turn that ended before the report was there', async () => {
  const world = createWorld();
  const first = world.boot();
  world.says(hang, hang);
  for (const sessionId of ['a', 'b']) await first.startTurn({ ...hello, sessionId });
  await until(() => world.requests.length === 2, 'the model is asked');
  const slow = gate();
  const engine = await world.reboot({
    dependencies: async (turn) => {
      if (turn.sessionId === 'a') await slow.opened;
    },
  });
  const recovering = engine.recover();
  await until(async () => !(await world.head('b')).inProgress, 'one turn has ended');
  slow.open();
  const { resumed } = await within(recovering);
  expect(resumed).toHaveLength(2);
  for (const turn of resumed) {
    expect(await within(turn.outcome, `outcome of ${turn.turnId}`)).toMatchObject({ status: 'completed' });
  }
});
