// One owner per route (I7): live traffic, recovery and several engines on one store never run one session at once.
import { expect, it } from 'vitest';
import { calm, gate, until, within } from './waiting.js';
import { act, calls, createWorld, hello, only } from './world.js';

const hang = { hang: true } as const;

it('recovery leaves a live turn alone, without an event (I7)', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  expect(await engine.recover()).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  expect(world.events.filter(({ type }) => type.startsWith('interrupted'))).toEqual([]);
  answer.open('hi');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'hi' });
  expect(world.requests).toHaveLength(1);
});

it('a second engine on the same store does not take over a live turn (I7)', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const other = world.boot();
  expect(await other.recover()).toMatchObject({ resumed: [], abandoned: [] });
  expect(world.requests).toHaveLength(1);
  answer.open('hi');
  expect(await within(turn.outcome)).toMatchObject({ text: 'hi' });
});

it('of two recover() at once one wins, in one engine (case C20)', async () => {
  const world = createWorld();
  world.says(calls('write'), hang);
  const tools = { write: act(() => 'ok') };
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 2, 'the model is asked again');
  const engine = await world.reboot({ tools });
  const reports = await Promise.all([engine.recover(), engine.recover()]);
  const resumed = only(reports.flatMap((report) => report.resumed));
  expect(await within(resumed.outcome)).toMatchObject({ status: 'completed' });
  expect(world.requests).toHaveLength(3);
  expect(world.runs).toHaveLength(1);
});

it('of two engines that recover at once one wins (case C20)', async () => {
  const world = createWorld();
  world.says(hang);
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const one = await world.reboot();
  const other = world.boot();
  const reports = await Promise.all([one.recover(), other.recover()]);
  const resumed = only(reports.flatMap((report) => report.resumed));
  await within(resumed.outcome);
  expect(world.requests).toHaveLength(2);
  expect(await world.head()).toMatchObject({ inProgress: false, recoveries: 1 });
});

it('of two people who resume a turn at once one wins, and the other gets the turn or a typed answer (case C20)', async () => {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const engine = await world.reboot({ recovery: false });
  const both = await Promise.allSettled(['a', 'b'].map((person) => engine.resumeTurn(turn.turnId, { person })));
  expect(both.map(({ status }) => status)).toContain('fulfilled');
  for (const answer of both) {
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'TURN_NOT_RESUMABLE' });
    else expect(await within(answer.value.outcome)).toMatchObject({ status: 'completed' });
  }
  expect(world.requests).toHaveLength(2);
  expect(await world.head()).toMatchObject({ recoveries: 1 });
});

it('live traffic and recovery that come at once run an interrupted session once', async () => {
  const world = createWorld();
  world.says(hang);
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  world.says('for the first', 'for both');
  const engine = await world.reboot();
  const [report, sent] = await Promise.all([engine.recover(), engine.sendMessage({ ...hello, input: 'more' })]);
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
  await calm();
  expect(report.resumed.length).toBeLessThanOrEqual(1);
  expect((await world.messages()).filter(({ message }) => message.role === 'user')).toHaveLength(2);
  expect(await world.head()).toMatchObject({ inProgress: false, waitingInput: 0 });
});

it('sessions that share a route run one after the other, and none is forgotten', async () => {
  const world = createWorld();
  const running = new Set<string>();
  let most = 0;
  const engine = world.boot({
    model: {
      id: 'busy',
      async call(_request, { sessionId }) {
        running.add(sessionId);
        most = Math.max(most, running.size);
        await calm(5);
        running.delete(sessionId);
        return {
          content: [{ type: 'text', text: sessionId }],
          finish: { reason: 'stop' },
          usage: { input: {}, output: {} },
        };
      },
    },
  });
  const sent = await Promise.all(
    ['a', 'b', 'c', 'd'].map((sessionId) => engine.sendMessage({ ...hello, sessionId, routeKey: 'shared' })),
  );
  expect(sent.map(({ accepted }) => accepted)).toEqual(['started', 'queued', 'queued', 'queued']);
  for (const { turn } of sent) expect(await within(turn.outcome)).toMatchObject({ text: turn.sessionId });
  expect(most).toBe(1);
});

it('a session that queued two messages on a route does not make the next session wait for ever', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const shared = { ...hello, routeKey: 'shared' };
  const first = await engine.sendMessage({ ...shared, sessionId: 'a' });
  const twice = [
    await engine.sendMessage({ ...shared, sessionId: 'b', input: 'one' }),
    await engine.sendMessage({ ...shared, sessionId: 'b', input: 'two' }),
  ];
  const last = await engine.sendMessage({ ...shared, sessionId: 'c' });
  expect(twice[1]?.turn.turnId).toBe(twice[0]?.turn.turnId);
  answer.open('a is done');
  await within(first.turn.outcome);
  await within(twice[0]?.turn.outcome as Promise<unknown>);
  expect(await within(last.turn.outcome, 'the turn of the third session')).toMatchObject({ status: 'completed' });
});

it('an interrupted turn whose route is busy is taken up when the route is free', async () => {
  const world = createWorld();
  world.says(hang);
  await world.boot().startTurn({ ...hello, sessionId: 'a', routeKey: 'shared' });
  await until(() => world.requests.length === 1, 'the model is asked');
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = await world.reboot();
  const live = await engine.startTurn({ ...hello, sessionId: 'b', routeKey: 'shared' });
  await until(() => world.requests.length === 2, 'the live turn runs');
  expect(await engine.recover()).toMatchObject({ resumed: [], held: [{ gate: 'owner' }] });
  expect(await world.head('a')).toMatchObject({ inProgress: true, attempts: 0 });
  answer.open('hi');
  await within(live.outcome);
  await until(async () => !(await world.head('a')).inProgress, 'the interrupted turn has ended');
  expect(await world.head('a')).toMatchObject({ ended: { kind: 'completed' } });
});
