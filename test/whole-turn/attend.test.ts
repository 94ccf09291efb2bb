// Presence: given by a request that proves it, for one process and a time, and what follows where nobody is there.
import { expect, it } from 'vitest';
import { until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, needy, only, parking, there, yes } from './world.js';

const hang = { hang: true } as const;

it('attend() gives presence to a recovered turn: its calls are asked about instead of refused (case C15)', async () => {
  const world = createWorld();
  world.says(hang);
  const tools = { deploy: act(() => 'deployed', needy) };
  await world.boot({ tools }).startTurn(there);
  await until(() => world.requests.length === 1, 'the model is asked');
  world.says(calls('deploy'));
  const engine = await world.reboot({ tools });
  await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingApproval' });
  expect(await engine.decideApproval(only(await engine.approvals()).id, yes)).toBe('applied');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(1);
});

it('attend() counts while the turn runs already', async () => {
  const world = createWorld();
  world.says(hang);
  const tools = { deploy: act(() => 'deployed', needy) };
  await world.boot({ tools }).startTurn(there);
  await until(() => world.requests.length === 1, 'the model is asked');
  let answer!: (calls_: ReturnType<typeof calls>) => void;
  world.says(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const engine = await world.reboot({ tools });
  const turn = only((await engine.recover()).resumed);
  await until(() => world.requests.length === 2, 'the model is asked again');
  await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
  answer(calls('deploy'));
  expect(await within(turn.rest)).toMatchObject({ status: 'parked' });
});

it('presence runs out: what comes later is refused with a reason the model reads', async () => {
  const world = createWorld();
  world.says(hang);
  const tools = { deploy: act(() => 'deployed', needy) };
  await world.boot({ tools }).startTurn(there);
  await until(() => world.requests.length === 1, 'the model is asked');
  world.says(async () => {
    await world.clock.advance(MINUTE_MS);
    return calls('deploy');
  });
  const engine = await world.reboot({ tools });
  await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toMatchObject([{ reason: expect.stringContaining('nobody is there') }]);
});

it('presence dies with its process, is of one session only, and can be taken back', async () => {
  for (const how of ['restart', 'other session', 'taken back'] as const) {
    const world = createWorld();
    const tools = { deploy: act(() => 'deployed', needy) };
    let engine = world.boot({ tools });
    await engine.attend(how === 'other session' ? 'x' : 's', { person: 'ann', forMs: 60 * MINUTE_MS });
    if (how === 'restart') engine = await world.reboot({ tools });
    if (how === 'taken back') await engine.attend('s', { person: 'ann', forMs: 0 });
    world.says(calls('deploy'));
    expect(await within((await engine.startTurn(hello)).rest)).toMatchObject({ status: 'completed' });
    expect(await world.outputs()).toMatchObject([{ type: 'execution-denied' }]);
  }
});

it('tools and approval functions are told whether somebody is there at that moment', async () => {
  const world = createWorld();
  const seen: unknown[] = [];
  const deploy = act(
    (_input, call) => {
      seen.push(['runs', call.attended]);
      return 'ok';
    },
    {
      approval: (_input, call) => {
        seen.push(['asked', call.attended]);
        return 'never';
      },
    },
  );
  world.says(calls('deploy'), async () => {
    await world.clock.advance(MINUTE_MS);
    return calls('deploy');
  });
  const engine = world.boot({ tools: { deploy }, loopDetector: false });
  await engine.attend('s', { person: 'ann', forMs: MINUTE_MS });
  await within((await engine.startTurn(hello)).outcome);
  expect(seen).toEqual([
    ['asked', true],
    ['runs', true],
    ['asked', false],
    ['runs', false],
  ]);
});

it('a call parked because nobody was there has no deadline, unless the turn was given one', async () => {
  for (const approvalMs of [undefined, 10 * MINUTE_MS]) {
    const world = createWorld();
    world.says(calls('deploy'));
    const engine = world.boot({ tools: { deploy: act(() => 'ok', parking) } });
    const turn = await engine.startTurn({ ...hello, ...(approvalMs === undefined ? {} : { limits: { approvalMs } }) });
    await within(turn.rest);
    const { expiresAt } = only(await engine.approvals());
    expect(expiresAt).toBe(approvalMs === undefined ? null : world.clock.now() + approvalMs);
    await world.advance(10 * MINUTE_MS);
    await world.advance(0);
    expect(await world.head()).toMatchObject({ inProgress: approvalMs === undefined });
  }
});

it('unattended is a choice per tool: one is refused with a reason, the other parks and is told (case C15)', async () => {
  const world = createWorld();
  world.says(calls('drop', 'deploy'));
  const engine = world.boot({ tools: { drop: act(() => 'x', needy), deploy: act(() => 'ok', parking) } });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked' });
  expect(world.eventsOf('approvalRequested').map((event) => event.approval.toolName)).toEqual(['deploy']);
  await engine.decideApproval(only(await engine.approvals()).id, yes);
  await within(turn.outcome);
  expect((await world.outputs()).map((output) => output.type)).toEqual(['execution-denied', 'text']);
  expect(world.lastRead).toContain('nobody is there');
});

it('{ deny } never runs and never asks, whoever is there, and its reason reaches the model', async () => {
  for (const attended of [true, false]) {
    const world = createWorld();
    world.says(calls('drop'));
    const engine = world.boot({
      tools: { drop: act(() => 'x', { approval: { deny: 'Tables are not dropped here.' } }) },
    });
    expect(await within((await engine.startTurn({ ...hello, attended })).rest)).toMatchObject({ status: 'completed' });
    expect(await world.outputs()).toEqual([{ type: 'execution-denied', reason: 'Tables are not dropped here.' }]);
    expect(world.eventsOf('approvalRequested')).toEqual([]);
    expect(world.runs).toEqual([]);
  }
});

it('an approval function asks for some inputs and lets others run, in one batch', async () => {
  const world = createWorld();
  world.says(calls(['run', { c: 'ls' }], ['run', { c: 'rm' }], ['run', { c: 'format' }]));
  const run = act((input) => (input as { c: string }).c, {
    approval: async (input) => {
      const { c } = input as { c: string };
      return c === 'ls' ? 'never' : c === 'rm' ? 'required' : { deny: 'no' };
    },
  });
  const engine = world.boot({ tools: { run } });
  const turn = await engine.startTurn(there);
  await within(turn.rest);
  expect(only(await engine.approvals()).input).toEqual({ c: 'rm' });
  await engine.decideApproval(only(await engine.approvals()).id, yes);
  await within(turn.outcome);
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'ls' },
    { type: 'text', value: 'rm' },
    { type: 'execution-denied', reason: 'no' },
  ]);
});

it('attend() names what is wrong with what it is given', async () => {
  const engine = createWorld().boot();
  const by = (value: unknown) => engine.attend('s', value as { person: string; forMs: number });
  await expect(by(undefined)).rejects.toThrow(/person/);
  await expect(by({ person: '', forMs: 1 })).rejects.toThrow(/person/);
  for (const forMs of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1'])
    await expect(by({ person: 'ann', forMs })).rejects.toThrow(/forMs/);
  await expect(engine.attend('', { person: 'ann', forMs: 1 })).rejects.toThrow(/sessionId/);
});
