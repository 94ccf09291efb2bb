// A person said "no more asking": for a turn or a session, and only while somebody is there (I6).
import { expect, it } from 'vitest';
import { gate, never, until, within } from '../engine/waiting.js';
import {
  act,
  approvalFor,
  calls,
  createWorld,
  hello,
  MINUTE_MS,
  needy,
  no,
  only,
  parking,
  there,
  yes,
} from './world.js';

it('a grant for the turn: later calls of the tool are not asked about in it, and are in the next', async () => {
  const world = createWorld();
  world.says(calls(['deploy', { n: 1 }]), calls(['deploy', { n: 2 }]), 'first', calls(['deploy', { n: 3 }]));
  const engine = world.boot({ tools: { deploy: act(() => 'ok', needy) } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  await engine.decideApproval(only(await engine.approvals()).id, { ...yes, grant: 'turn' });
  expect(await within(turn.outcome)).toMatchObject({ text: 'first' });
  expect(world.runs).toHaveLength(2);
  const next = await engine.startTurn({ ...there, input: 'again' });
  expect(await within(next.rest)).toMatchObject({ status: 'parked' });
  expect(world.runs).toHaveLength(2);
});

it('a grant for the session holds in later turns, for this tool and no other', async () => {
  const world = createWorld();
  world.says(calls('deploy'), 'first', calls('deploy', 'drop'));
  const engine = world.boot({ tools: { deploy: act(() => 'ok', needy), drop: act(() => 'ok', needy) } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  await engine.decideApproval(only(await engine.approvals()).id, { ...yes, grant: 'session' });
  await within(turn.outcome);
  const next = await engine.startTurn({ ...there, input: 'again' });
  await within(next.rest);
  expect((await engine.approvals()).map((approval) => approval.toolName)).toEqual(['drop']);
  expect(world.runsOf('deploy')).toHaveLength(2);
});

it('a grant of one session is no grant of another', async () => {
  const world = createWorld();
  world.says(calls('deploy'), 'first', calls('deploy'));
  const engine = world.boot({ tools: { deploy: act(() => 'ok', needy) } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  await engine.decideApproval(only(await engine.approvals()).id, { ...yes, grant: 'session' });
  await within(turn.outcome);
  const other = await engine.startTurn({ ...there, sessionId: 'other' });
  expect(await within(other.rest)).toMatchObject({ status: 'parked' });
});

it('a grant covers the open siblings of the same tool, and leaves those of others open', async () => {
  const world = createWorld();
  world.says(calls(['deploy', { n: 1 }], ['deploy', { n: 2 }], 'drop'));
  const engine = world.boot({ tools: { deploy: act(() => 'ok', needy), drop: act(() => 'ok', needy) } });
  await within((await engine.startTurn(there)).rest);
  const first = (await engine.approvals())[0];
  await engine.decideApproval(first?.id as string, { ...yes, grant: 'turn' });
  await until(() => world.runsOf('deploy').length === 2, 'both run');
  expect((await engine.approvals()).map((approval) => approval.toolName)).toEqual(['drop']);
});

it('a refusal grants nothing, whatever it says', async () => {
  const world = createWorld();
  world.says(calls(['deploy', { n: 1 }], ['deploy', { n: 2 }]));
  const engine = world.boot({ tools: { deploy: act(() => 'ok', needy) } });
  await within((await engine.startTurn(there)).rest);
  const first = (await engine.approvals())[0];
  await engine.decideApproval(first?.id as string, { ...no, grant: 'session' });
  expect(await engine.approvals()).toHaveLength(1);
  expect(await world.head()).toMatchObject({ grants: [] });
});

it('a grant does not hold in an unattended turn: the call is refused with a reason, or parks (I6, case C15)', async () => {
  for (const unattended of ['refuse', 'park'] as const) {
    const world = createWorld();
    world.says(calls('deploy'), 'first', calls('deploy'));
    const engine = world.boot({ tools: { deploy: act(() => 'ok', { ...needy, unattended }) } });
    const turn = await engine.startTurn(there);
    await within(turn.rest);
    await engine.decideApproval(only(await engine.approvals()).id, { ...yes, grant: 'session' });
    await within(turn.outcome);
    const next = await engine.startTurn({ ...hello, input: 'at night' });
    expect((await within(next.rest)).status).toBe(unattended === 'park' ? 'parked' : 'completed');
    expect(world.runs).toHaveLength(1);
  }
});

it('a grant does not hold in a recovered turn until somebody is there, and then it does again (I6, case C14)', async () => {
  for (const attends of [false, true]) {
    const world = createWorld();
    world.says(calls(['deploy', { n: 1 }]), { hang: true });
    const tools = { deploy: act(() => 'ok', needy) };
    const first = world.boot({ tools });
    await within((await first.startTurn(there)).rest);
    await first.decideApproval(only(await first.approvals()).id, { ...yes, grant: 'session' });
    await until(() => world.requests.length === 2, 'the model is asked again');
    world.says(calls(['deploy', { n: 2 }]));
    const engine = await world.reboot({ tools });
    if (attends) await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
    await within(only((await engine.recover()).resumed).outcome);
    expect(world.runs).toHaveLength(attends ? 2 : 1);
    expect((await world.outputs()).at(-1)?.type).toBe(attends ? 'text' : 'execution-denied');
    expect(world.eventsOf('approvalRequested')).toHaveLength(1);
  }
});

it('presence is asked at the dispatch as well: a granted call that waited until everybody had left does not run', async () => {
  const world = createWorld();
  world.says(calls('deploy'), 'first', calls('slow', 'deploy'));
  const hold = gate<string>();
  const tools = { deploy: act(() => 'ok', needy), slow: act(() => hold.opened, { timeoutMs: 60 * MINUTE_MS }) };
  const engine = world.boot({ tools, limits: { parallelCalls: 1 } });
  await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  await engine.decideApproval(only(await engine.approvals()).id, { ...yes, grant: 'session' });
  await within(turn.outcome);
  const next = await engine.startTurn({ ...hello, input: 'again' });
  await until(() => world.runsOf('slow').length === 1, 'the first call runs');
  await world.advance(MINUTE_MS);
  hold.open('done');
  await within(next.outcome);
  expect(world.runsOf('deploy')).toHaveLength(1);
  expect((await world.outputs()).at(-1)).toMatchObject({
    type: 'execution-denied',
    reason: expect.stringContaining('nobody is there'),
  });
});

it('a grant that was given from afar, to a parked turn with nobody there, decides its siblings and nothing later', async () => {
  const world = createWorld();
  world.says(calls(['deploy', { n: 1 }], ['deploy', { n: 2 }]), calls(['deploy', { n: 3 }]));
  const tools = { deploy: act(() => 'ok', parking) };
  await within((await world.boot({ tools }).startTurn(hello)).rest);
  const engine = await world.reboot({ tools });
  const first = (await engine.approvals())[0];
  await engine.decideApproval(first?.id as string, { ...yes, grant: 'session' });
  await until(
    async () => world.runs.length === 2 && (await engine.approvals()).length === 1,
    'the third is asked about',
  );
  expect((await approvalFor(engine, 'deploy')).input).toEqual({ n: 3 });
});

it('a grant is durable with its decision, and dies with a decision that was never durable', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = createWorld();
    world.says(calls('deploy'));
    const tools = { deploy: act(() => never(), parking) };
    const engine = world.boot({ tools });
    await within((await engine.startTurn(hello)).rest);
    const { id } = only(await engine.approvals());
    const { store } = world.process;
    const before = store.commits;
    store.fate = (n) => (n > before ? fate : 'pass');
    void engine.decideApproval(id, { ...yes, grant: 'session' });
    await world.death();
    const { approval } = (await world.store.call(id)) ?? {};
    const granted = (await world.head()).grants.length;
    expect(granted).toBe(approval?.state === 'asked' ? 0 : 1);
  }
});
