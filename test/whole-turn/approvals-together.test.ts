// All calls of a batch that need a person are asked about together, durable before anybody is told.
import { expect, it } from 'vitest';
import { gate, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, needy, no, only, parking, there, yes } from './world.js';

it('every call of a batch that needs a person is asked about at once, in the order of the model, once', async () => {
  const world = createWorld();
  world.says(calls(['a', { n: 1 }], 'read', ['b', { n: 2 }], ['a', { n: 3 }]));
  const tools = { a: act(() => 'A', needy), b: act(() => 'B', needy), read: look(() => 'R') };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  const asked = world.eventsOf('approvalRequested').map((event) => event.approval);
  expect(asked.map(({ toolName, input }) => [toolName, input])).toEqual([
    ['a', { n: 1 }],
    ['b', { n: 2 }],
    ['a', { n: 3 }],
  ]);
  expect(await engine.approvals()).toEqual(asked);
  expect(asked[0]).toMatchObject({
    sessionId: 's',
    turnId: turn.turnId,
    effect: 'external',
    requestedAt: world.clock.now(),
    expiresAt: world.clock.now() + 5 * MINUTE_MS,
  });
  expect(world.runsOf('read')).toHaveLength(1);
});

it('an approval is on disk before it is announced (I9)', async () => {
  const world = createWorld();
  world.says(calls('a', 'b'));
  const onDisk: Promise<unknown>[] = [];
  const engine = world.boot({
    tools: { a: act(() => 'A', needy), b: act(() => 'B', needy) },
    onEvent: (event) => {
      if (event.type !== 'approvalRequested') return;
      expect(event.durable).toBe(true);
      onDisk.push(world.store.call(event.approval.callId));
    },
  });
  await within((await engine.startTurn(there)).rest);
  expect(await Promise.all(onDisk)).toMatchObject([{ approval: { state: 'asked' } }, { approval: { state: 'asked' } }]);
});

it('a kill at each commit around the question leaves no question that was told and is not there', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    for (const nth of [1, 2, 3]) {
      const world = createWorld();
      world.says(calls('a', 'b'));
      const tools = { a: act(() => 'A', parking), b: act(() => 'B', parking) };
      const engine = world.boot({ tools });
      world.process.store.fate = (n) => (n === nth ? fate : 'pass');
      const turn = await Promise.race([
        engine.startTurn(hello),
        until(() => world.process.store.dead, 'dead').then(() => undefined),
      ]);
      if (turn !== undefined) await Promise.race([turn.rest, until(() => world.process.store.dead, 'dead')]);
      const told = world.eventsOf('approvalRequested').map((event) => event.approval.id);
      world.says(calls('a', 'b'));
      const next = await world.reboot({ tools });
      await next.recover();
      const open = (await next.approvals()).map((approval) => approval.id);
      for (const id of told) expect(open).toContain(id);
    }
  }
});

it('calls that need nobody run while a person is asked, and what they gave is kept through pause and restart (case C4)', async () => {
  const world = createWorld();
  world.says(calls('read', 'deploy', 'send'));
  const slow = gate<string>();
  const tools = { read: look(() => 'R'), deploy: act(() => 'D', parking), send: act(() => slow.opened) };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  slow.open('sent');
  await within(turn.rest);
  const again = await world.reboot({ tools });
  await again.recover();
  const third = await world.reboot({ tools });
  await third.recover();
  const { id } = only(await third.approvals());
  expect(await third.decideApproval(id, yes)).toBe('applied');
  expect(await within((third.activeTurn('s') ?? turn).outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'R' },
    { type: 'text', value: 'D' },
    { type: 'text', value: 'sent' },
  ]);
  expect(world.runs.map((run) => run.tool).sort()).toEqual(['deploy', 'read', 'send']);
});

it('approvals() names the calls of running and parked turns of all sessions, and can be asked for one', async () => {
  const world = createWorld();
  const hold = gate<string>();
  world.says(calls('a'), calls('a', 'slow'));
  const tools = { a: act(() => 'A', parking), slow: look(() => hold.opened) };
  const engine = world.boot({ tools });
  await within((await engine.startTurn({ ...hello, sessionId: 'parked' })).rest);
  await engine.startTurn({ ...hello, sessionId: 'running' });
  await until(() => world.runs.length === 1, 'the sibling runs');
  const sessions = (await engine.approvals()).map((approval) => approval.sessionId).sort();
  expect(sessions).toEqual(['parked', 'running']);
  expect(await engine.approvals({ sessionId: 'running' })).toHaveLength(1);
  expect(await engine.approvals({ sessionId: 'nobody' })).toEqual([]);
  hold.open('x');
});

it('some allowed, some refused: those that may run do, in one batch, and the model reads all of it in its order', async () => {
  const world = createWorld();
  world.says(calls('a', 'b', 'c'));
  const tools = { a: act(() => 'A', needy), b: act(() => 'B', needy), c: act(() => 'C', needy) };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  const [a, b, c] = (await engine.approvals()).map((approval) => approval.id) as [string, string, string];
  expect(await engine.decideApproval(c, yes)).toBe('applied');
  expect(await engine.decideApproval(a, { ...no, reason: 'not today' })).toBe('applied');
  expect((await engine.approvals()).map((approval) => approval.id)).toEqual([b]);
  expect(await engine.decideApproval(b, yes)).toBe('applied');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([
    { type: 'execution-denied', reason: 'not today' },
    { type: 'text', value: 'B' },
    { type: 'text', value: 'C' },
  ]);
  expect(world.eventsOf('approvalDecided').map(({ approvalId, allow, by }) => [approvalId, allow, by])).toEqual([
    [c, true, 'ann'],
    [a, false, 'ann'],
    [b, true, 'ann'],
  ]);
});
