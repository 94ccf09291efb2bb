// What a strict review found about decisions: what they count, when they are listed, who is told of them.
import { expect, it } from 'vitest';
import { type Schema, TurnError, type TurnEvent } from '../../src/index.js';
import { calm, never, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, MINUTE_MS, only, type World } from './world.js';

const there = { ...hello, attended: true };
const needy = { approval: 'required' } as const;
const yes = { allow: true, by: 'ann' } as const;

/** What was announced since then as durable, by type. */
const since = <K extends TurnEvent['type']>(world: World, from: number, type: K) =>
  world.events.slice(from).filter((event): event is TurnEvent & { type: K } => event.type === type && event.durable);

it('decisions and deadlines in the process that asked are no recoveries, however many there are', async () => {
  const world = createWorld();
  world.says(...[1, 2, 3].map((n) => calls(['send', { n }])));
  const tools = { send: act(() => 'sent', needy) };
  const engine = world.boot({ recovery: { recoveries: 2 }, tools });
  const turn = await engine.startTurn(there);
  for (let n = 1; n <= 2; n += 1) {
    await until(async () => (await world.head()).waiting !== null, 'it waits');
    await engine.decideApproval(only(await engine.approvals()).id, yes);
    await until(() => world.runs.length === n, 'it goes on');
  }
  await until(async () => (await world.head()).waiting !== null, 'it waits');
  expect(await world.head()).toMatchObject({ attempts: 0, recoveries: 0 });
  await world.advance(HOUR_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.head()).toMatchObject({ attempts: 0, recoveries: 0 });
  expect(world.eventsOf('interrupted_turn_abandoned')).toEqual([]);
});

it('a question is listed once it is durable, and not before', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent', needy) } });
  const turn = await engine.startTurn(there);
  world.process.store.fate = () => 'failBefore';
  await until(() => world.eventsOf('storeFailed').length > 0, 'the store fails');
  await calm();
  expect(await engine.approvals()).toEqual([]);
  world.process.store.fate = () => 'pass';
  await world.advance(MINUTE_MS);
  await within(turn.rest);
  expect(only(await engine.approvals())).toMatchObject({ toolName: 'send' });
});

it('approvals() lists what waits in other sessions although one head is damaged (I12)', async () => {
  const world = createWorld();
  world.says(calls('send'), calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent', needy) } });
  for (const sessionId of ['a', 'b']) await within((await engine.startTurn({ ...there, sessionId })).rest);
  const { store } = world.process;
  const { head } = store;
  store.head = (sessionId) =>
    sessionId === 'a' ? Promise.reject(new TurnError('TURN_DAMAGED', 'the head is damaged')) : head(sessionId);
  expect(await engine.approvals()).toMatchObject([{ sessionId: 'b' }]);
});

for (const grant of ['turn', 'session'] as const) {
  for (const running of [false, true]) {
    const where = running ? 'runs' : 'is parked';
    it(`a grant for the ${grant} in a turn that ${where} tells the decision of each call it allows`, async () => {
      const world = createWorld();
      world.says(calls(...[1, 2, 3].map((n) => ['send', { n }] as const), ...(running ? ['slow'] : [])));
      const tools = { send: act(() => 'sent', needy), slow: act(() => never()) };
      const engine = world.boot({ tools });
      const turn = await engine.startTurn(there);
      if (running) await until(() => world.runsOf('slow').length === 1, 'the sibling runs');
      else await within(turn.rest);
      await until(() => world.eventsOf('approvalRequested').length === 3, 'all are asked');
      const ids = (await engine.approvals()).map(({ id }) => id);
      expect(await engine.decideApproval(ids[0] as string, { ...yes, grant })).toBe('applied');
      await until(() => world.runsOf('send').length === 3, 'all run');
      const decided = world.eventsOf('approvalDecided');
      expect(decided.map(({ approvalId }) => approvalId).sort()).toEqual([...ids].sort());
      for (const event of decided) expect(event).toMatchObject({ allow: true, by: 'ann', durable: true });
    });
  }
}

it('a schema that hangs on an edited input is given up after a minute, and keeps no cancel', async () => {
  const world = createWorld();
  world.says(calls('send', 'slow'));
  let asked = 0;
  const hangsLater = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        asked += 1;
        return asked > 1 ? never() : { value };
      },
      jsonSchema: { input: () => ({}) },
    },
  } as unknown as Schema;
  const tools = { send: act(() => 'sent', { ...needy, input: hangsLater as never }), slow: act(() => never()) };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(there);
  await until(() => world.runsOf('slow').length === 1, 'the sibling runs');
  await until(() => world.eventsOf('approvalRequested').length === 1, 'it is asked');
  const { id } = only(await engine.approvals());
  const decided = engine.decideApproval(id, { ...yes, input: { n: 2 } }).catch((thrown: unknown) => thrown);
  await until(() => asked === 2, 'the edited input is checked');
  const cancelled = turn.cancel();
  await world.advance(MINUTE_MS);
  expect(await within(cancelled, 'cancel()')).toMatchObject({ status: 'cancelled' });
  expect(await within(decided, 'decideApproval()')).toBeInstanceOf(Error);
  expect(world.runsOf('send')).toEqual([]);
});

it('a parked turn that is cancelled tells its closed calls and its last message', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent', needy) } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  const from = world.events.length;
  await turn.cancel();
  const { callId, state } = only(await world.calls());
  expect(only(since(world, from, 'call'))).toMatchObject({ callId, state });
  expect(only(since(world, from, 'message'))).toMatchObject({ message: { role: 'tool' } });
  expect(world.events.at(-1)).toMatchObject({ type: 'outcome' });
});

it('a parked turn that is cancelled has its outputs cut as they would have been, and whole in the journal', async () => {
  const world = createWorld();
  const long = 'x'.repeat(10_000);
  world.says(calls('send', 'big'));
  const tools = { send: act(() => 'sent', needy), big: act(() => long) };
  const engine = world.boot({ tools, limits: { outputBytes: 1_000 } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  await turn.cancel();
  const last = JSON.stringify((await world.messages()).at(-1)?.message);
  expect(last).toContain('[cut: 10000 bytes');
  expect(last.length).toBeLessThan(2_500);
  const big = (await world.calls()).find(({ toolName }) => toolName === 'big');
  expect(await (await engine.session('s'))?.output(big?.callId as string)).toEqual({ type: 'text', value: long });
});

it('the outputs of a parked turn have their usual limit when it is cancelled and none was set', async () => {
  const world = createWorld();
  world.says(calls('send', 'big'));
  const tools = { send: act(() => 'sent', needy), big: act(() => 'x'.repeat(300_000)) };
  const turn = await world.boot({ tools }).startTurn(there);
  await within(turn.rest);
  await turn.cancel();
  expect(JSON.stringify((await world.messages()).at(-1)).length).toBeLessThan(200_000);
});

it('a call that is settled without a driver is told', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ limits: { toolMs: 100 }, tools: { send: act(() => never()) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  await within(turn.rest);
  await engine.abandonTurn(turn.turnId, 'enough');
  const from = world.events.length;
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: 'ok', by: 'ann' });
  expect(only(since(world, from, 'call'))).toMatchObject({ callId, state: 'succeeded' });
});

it('a call that is in doubt because its turn is abandoned is told', async () => {
  const world = createWorld();
  world.says(calls('send'));
  await world.boot({ tools: { send: act(() => never()) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools: { send: act(() => never()) } });
  const from = world.events.length;
  await engine.abandonTurn((await world.head()).turnId as string, 'enough');
  expect(only(since(world, from, 'call'))).toMatchObject({ toolName: 'send', state: 'inDoubt' });
});
