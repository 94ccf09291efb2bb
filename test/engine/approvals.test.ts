// Calls that need a person: asked where somebody is there, refused where nobody is, and privileges only shrink (I6, C14, C27).
import { expect, it } from 'vitest';
import { gate, isOpen, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only } from './world.js';

const needy = { approval: 'required' } as const;

it('a turn from an attended session, recovered, is refused a call that needs approval, with a reason the model reads (I6, case C14)', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const tools = { deploy: act(() => 'deployed', needy) };
  await world.boot({ tools }).startTurn({ ...hello, attended: true });
  await until(() => world.requests.length === 1, 'the model is asked');
  world.says(calls('deploy'), 'I may not');
  const engine = await world.reboot({ tools });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'I may not' });
  expect(world.runs).toEqual([]);
  expect(await world.outputs()).toEqual([
    { type: 'execution-denied', reason: expect.stringContaining('nobody is there') },
  ]);
  expect(JSON.stringify(world.requests.at(-1)?.messages)).toContain('nobody is there');
});

it('an unattended turn is refused a call that needs approval, and its siblings run', async () => {
  const world = createWorld();
  world.says(calls('deploy', 'read'));
  const tools = { deploy: act(() => 'deployed', needy), read: look(() => 'ok') };
  await within((await world.boot({ tools }).startTurn(hello)).outcome);
  expect((await world.outputs()).map((output) => output?.type)).toEqual(['execution-denied', 'text']);
  expect(world.runsOf('deploy')).toEqual([]);
});

it('an attended turn asks, runs what needs nobody meanwhile, and parks once only decisions are open (case C4)', async () => {
  const world = createWorld();
  world.says(calls('deploy', 'slow'));
  const slow = gate<string>();
  const engine = world.boot({ tools: { deploy: act(() => 'deployed', needy), slow: act(() => slow.opened) } });
  const turn = await engine.startTurn({ ...hello, attended: true });
  await until(() => world.runs.length === 1, 'the sibling runs');
  const { approval } = only(world.eventsOf('approvalRequested')) as { approval: { callId: string } };
  expect(approval).toMatchObject({ toolName: 'deploy', sessionId: 's', turnId: turn.turnId });
  expect(await isOpen(turn.rest)).toBe(true);
  slow.open('done meanwhile');
  expect(await within(turn.rest)).toEqual({ status: 'parked', phase: 'awaitingApproval', ids: [approval.callId] });
  expect(await world.calls()).toMatchObject([{ state: 'prepared' }, { state: 'succeeded' }]);
  expect(await world.head()).toMatchObject({
    inProgress: true,
    waiting: { approvals: [approval.callId], until: world.clock.now() + 5 * MINUTE_MS },
  });
  expect(engine.activeTurn('s')?.turnId).toBe(turn.turnId);
});

it('the approvals of one session are read from it alone, and those of another agent are not told', async () => {
  const world = createWorld();
  const tools = { deploy: act(() => 'deployed', { ...needy, unattended: 'park' }) };
  const engine = world.boot({ tools });
  for (const sessionId of ['a', 'b', 'c']) {
    world.says(calls('deploy'));
    await within((await engine.startTurn({ ...hello, sessionId })).rest);
  }
  const { store } = world.process;
  const read: string[] = [];
  const head = store.head.bind(store);
  store.head = (sessionId) => {
    read.push(sessionId);
    return head(sessionId);
  };
  store.markers = () => Promise.reject(new Error('all sessions were looked at'));
  expect(await engine.approvals({ sessionId: 'b' })).toMatchObject([{ sessionId: 'b', toolName: 'deploy' }]);
  expect(await engine.approvals({ sessionId: 'nobody' })).toEqual([]);
  expect(read).toEqual(['b', 'nobody']);
  expect(await world.boot({ agent: 'other' }).approvals({ sessionId: 'b' })).toEqual([]);
});

it('an approval whose deadline passes is refused, and the turn goes on by itself', async () => {
  const world = createWorld();
  world.says(calls('deploy', 'read'), 'then not');
  const engine = world.boot({ tools: { deploy: act(() => 'deployed', needy), read: look(() => 'kept') } });
  const turn = await engine.startTurn({ ...hello, attended: true });
  await within(turn.rest);
  await world.advance(5 * MINUTE_MS - 1);
  expect(await isOpen(turn.outcome)).toBe(true);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'then not' });
  expect(await world.outputs()).toEqual([
    { type: 'execution-denied', reason: expect.stringContaining('Nobody decided in time') },
    { type: 'text', value: 'kept' },
  ]);
  expect(world.runsOf('read')).toHaveLength(1);
});

it('the deadline of an approval survives a restart, and spends no attempt before it passes (I13, cases C16, C27)', async () => {
  const world = createWorld();
  world.says(calls('deploy'), 'then not');
  const tools = { deploy: act(() => 'deployed', needy) };
  const turn = await world.boot({ tools }).startTurn({ ...hello, attended: true });
  await within(turn.rest);
  await world.advance(2 * MINUTE_MS);
  for (let restart = 0; restart < 5; restart += 1) {
    const engine = await world.reboot({ tools });
    expect((await engine.recover()).parked).toEqual([turn.turnId]);
  }
  expect(await world.head()).toMatchObject({ attempts: 0, recoveries: 0 });
  await world.advance(3 * MINUTE_MS);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect((await world.outputs())[0]).toMatchObject({ type: 'execution-denied' });
  expect(world.runs).toEqual([]);
});

it('a deadline that passed while nothing ran ends the wait at the next start, however long ago the turn began', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', needy) };
  await within((await world.boot({ tools }).startTurn({ ...hello, attended: true })).rest);
  await world.crash();
  await world.advance(4 * 60 * MINUTE_MS + MINUTE_MS);
  const turn = only((await world.boot({ tools }).recover()).resumed);
  await world.advance(0);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('no commit of the start behind a passed deadline says that the wait has no end, so a crash there keeps it (I13)', async () => {
  for (let nth = 1, died = true; died; nth += 1) {
    const world = createWorld();
    world.says(calls('deploy'), 'over');
    const tools = { deploy: act(() => 'deployed', needy) };
    const turn = await world.boot({ tools }).startTurn({ ...hello, attended: true });
    await within(turn.rest);
    await world.crash();
    await world.clock.advance(6 * MINUTE_MS);
    const engine = world.boot({ tools });
    world.process.store.fate = (commit) => (commit === nth ? 'dieAfter' : 'pass');
    void engine.recover();
    await world.advance(1);
    died = world.process.store.dead;
    expect((await world.head()).waiting, `commit ${nth}`).not.toMatchObject({ until: null });
    await world.reboot({ tools }).then((next) => next.recover());
    await world.advance(1);
    expect((await world.head()).ended, `commit ${nth}`).toMatchObject({ kind: 'completed' });
  }
});

it('a tool that parks waits without a deadline when nobody is there, over restarts', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const tools = { deploy: act(() => 'deployed', { ...needy, unattended: 'park' }) };
  const turn = await world.boot({ tools }).startTurn(hello);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingApproval' });
  expect(await world.head()).toMatchObject({ waiting: { until: null } });
  await world.advance(100 * 60 * MINUTE_MS);
  const engine = await world.reboot({ tools });
  expect((await engine.recover()).parked).toEqual([turn.turnId]);
  expect(world.runs).toEqual([]);
});

it('an approval that was asked before a crash stays pending whatever `unattended` says', async () => {
  const world = createWorld();
  world.says(calls('deploy', 'put'));
  const put = (execute: () => Promise<string>) => act(execute, { effect: 'idempotent' });
  const deploy = act(() => 'deployed', needy);
  await world.boot({ tools: { deploy, put: put(() => never()) } }).startTurn({ ...hello, attended: true });
  await until(() => world.runs.length === 1, 'the sibling runs');
  const engine = await world.reboot({ tools: { deploy, put: put(async () => 'ok') } });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingApproval' });
  expect(await world.calls()).toMatchObject([
    { state: 'prepared', approval: { state: 'asked' } },
    { state: 'succeeded', dispatch: 2 },
  ]);
});

it('a doubt beside an open approval is listed and parks: a person can settle it at once', async () => {
  const world = createWorld();
  world.says(calls('send', 'deploy'));
  const result = gate<string>();
  const tools = {
    send: act(() => result.opened, { timeoutMs: 1_000 }),
    deploy: act(() => 'deployed', { ...needy, unattended: 'park' }),
  };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the sibling runs');
  await world.advance(1_000);
  expect(await within(turn.rest, 'the rest')).toMatchObject({ status: 'parked' });
  expect(await engine.reviews()).toMatchObject([{ toolName: 'send' }]);
  const head = await world.head();
  expect(head.waiting?.reviews).toHaveLength(1);
  expect(head.waiting?.approvals).toHaveLength(1);
});

it('a doubt beside an open approval is listed and parks after a crash as well', async () => {
  const world = createWorld();
  world.says(calls('send', 'deploy'));
  const deploy = act(() => 'deployed', { ...needy, unattended: 'park' });
  await world.boot({ tools: { send: act(() => never()), deploy } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'the sibling runs');
  const engine = await world.reboot({ tools: { send: act(() => 'x'), deploy } });
  expect(await engine.recover()).toMatchObject({ parked: [(await world.head()).turnId] });
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  expect(await engine.reviews()).toMatchObject([{ toolName: 'send' }]);
  expect(world.runsOf('send')).toHaveLength(1);
});

it('an approval function decides by input and presence, and its deny reason reaches the model', async () => {
  const world = createWorld();
  world.says(calls(['run', { c: 'ls' }], ['run', { c: 'rm' }], ['run', { c: 'boom' }]));
  const seen: unknown[] = [];
  const run = act(() => 'ok', {
    approval: async (input, { attended, sessionId }) => {
      const { c } = input as { c: string };
      seen.push([c, attended, sessionId]);
      if (c === 'boom') throw new Error('policy server is away');
      return c === 'ls' ? 'never' : { deny: 'not on this host \ud800' };
    },
  });
  await within((await world.boot({ tools: { run } }).startTurn(hello)).outcome);
  expect(seen).toEqual([
    ['ls', false, 's'],
    ['rm', false, 's'],
    ['boom', false, 's'],
  ]);
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'ok' },
    { type: 'execution-denied', reason: 'not on this host \ufffd' },
    { type: 'execution-denied', reason: expect.stringContaining('policy server is away') },
  ]);
});

it('input with a person behind it gives a recovered turn presence anew, and input without one does not', async () => {
  for (const attended of [true, false]) {
    const world = createWorld();
    world.says({ hang: true });
    const tools = { deploy: act(() => 'deployed', needy) };
    await world.boot({ tools }).startTurn({ ...hello, attended: true });
    await until(() => world.requests.length === 1, 'the model is asked');
    world.says(calls('deploy'));
    const engine = await world.reboot({ tools });
    const sent = await engine.sendMessage({ ...hello, input: 'go on', attended });
    const rest = await within(sent.turn.rest);
    expect(rest.status).toBe(attended ? 'parked' : 'completed');
    expect(world.runs).toEqual([]);
  }
});

it('input to a turn that waits for a decision is queued and joins when the wait is over', async () => {
  const world = createWorld();
  world.says(calls('deploy'), 'then not');
  const engine = world.boot({ tools: { deploy: act(() => 'deployed', needy) } });
  const turn = await engine.startTurn({ ...hello, attended: true });
  await within(turn.rest);
  const sent = await engine.sendMessage({ ...hello, input: 'do you hear me?' });
  expect(sent).toMatchObject({ accepted: 'queued', turn: { turnId: turn.turnId } });
  expect(await world.head()).toMatchObject({ phase: 'awaitingApproval', waitingInput: 1 });
  await world.advance(5 * MINUTE_MS);
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
});

it('input that waited for its route with a person behind it starts an attended turn in this process, and in no other', async () => {
  for (const restart of [false, true]) {
    const world = createWorld();
    const answer = gate<string>();
    world.says(() => answer.opened);
    const tools = { deploy: act(() => 'deployed', needy) };
    const engine = world.boot({ tools });
    await engine.startTurn({ ...hello, sessionId: 'a', routeKey: 'r' });
    await until(() => world.requests.length === 1, 'the route is busy');
    await engine.sendMessage({ ...hello, routeKey: 'r', attended: true });
    world.says(...(restart ? ['goes on'] : []), calls('deploy'));
    if (restart) await (await world.reboot({ tools })).recover();
    else answer.open('free');
    await until(async () => (await world.calls()).length === 1, 'the call is made');
    await until(async () => (await world.head()).waiting !== null || !(await world.head()).inProgress, 'it rests');
    expect((await world.head()).waiting === null).toBe(restart);
    expect(world.runs).toEqual([]);
  }
});
