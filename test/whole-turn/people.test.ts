// What a person does with a turn that stands still: resume it, give it up, settle what it left behind.
import { expect, it } from 'vitest';
import { gate, never, until, within } from '../engine/waiting.js';
import { act, brief, calls, createWorld, HOUR_MS, hello, look, MINUTE_MS, only, type WholeWorld } from './world.js';

const hang = { hang: true } as const;

/** An abandoned turn with a call of `send { n: 1 }` in doubt. */
async function abandonedWithDoubt(world: WholeWorld) {
  world.says(calls(['send', { n: 1 }]));
  const turn = await world.boot({ tools: { send: act(() => never()) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.crash();
  await world.advance(5 * HOUR_MS);
  const engine = world.boot({ tools: { send: act(() => 'sent') } });
  expect((await engine.recover()).abandoned).toHaveLength(1);
  return { engine, turnId: turn.turnId };
}

it('resumeTurn by a person takes up a turn that recovery held, found stale, or gave up after its attempts', async () => {
  for (const why of ['switch', 'staleness', 'attempts'] as const) {
    const world = createWorld();
    world.says(hang);
    const turn = await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'the model is asked');
    await world.crash();
    if (why === 'staleness') await world.advance(5 * HOUR_MS);
    const engine = world.boot({
      recovery: why === 'switch' ? false : why === 'attempts' ? { attemptsWithoutProgress: 0 } : true,
    });
    const report = await engine.recover();
    expect([...report.held, ...report.abandoned]).toMatchObject([{ turnId: turn.turnId, gate: why }]);
    const resumed = await engine.resumeTurn(turn.turnId, { person: 'ann' });
    expect(await within(resumed.outcome)).toMatchObject({ status: 'completed', text: 'done' });
    expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'completed' } });
  }
});

it('an abandoned turn can be resumed until another starts, also after restarts', async () => {
  for (const another of [false, true]) {
    const world = createWorld();
    world.says(hang);
    const turn = await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'the model is asked');
    await world.crash();
    await world.advance(5 * HOUR_MS);
    await world.boot().recover();
    const engine = await world.reboot();
    await engine.recover();
    if (another) await within((await engine.startTurn({ ...hello, input: 'next' })).outcome);
    const resumed = engine.resumeTurn(turn.turnId, { person: 'ann' });
    if (another) await expect(resumed).rejects.toMatchObject({ code: 'TURN_NOT_RESUMABLE' });
    else expect(await within((await resumed).outcome)).toMatchObject({ status: 'completed' });
  }
});

it('resumeTurn of a turn that runs gives that turn, of one that ended says that it cannot', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  expect((await engine.resumeTurn(turn.turnId, { person: 'ann' })).turnId).toBe(turn.turnId);
  answer.open('x');
  await within(turn.outcome);
  const ended = engine.resumeTurn(turn.turnId, { person: 'ann' });
  await expect(ended).rejects.toMatchObject({ code: 'TURN_NOT_RESUMABLE' });
  await expect(engine.resumeTurn(turn.turnId, undefined as never)).rejects.toThrow(/person/);
  await expect(engine.resumeTurn('nonsense', { person: 'ann' })).rejects.toThrow(TypeError);
});

it('a turn in review that a person resumes still waits for the settlement (I5)', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const tools = { send: act(() => never()) };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools });
  await engine.recover();
  const resumed = await engine.resumeTurn(turn.turnId, { person: 'ann' });
  expect(await within(resumed.rest)).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
  expect(await engine.reviews()).toHaveLength(1);
  expect(world.runs).toHaveLength(1);
});

it('abandonTurn ends a parked turn with the reason, frees its session, and its doubts stay listed', async () => {
  const world = createWorld();
  world.says(calls('send', 'read'));
  const tools = { send: act(() => never()), read: look(() => 'R') };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  const engine = await world.reboot({ tools });
  await engine.recover();
  const handle = engine.activeTurn('s');
  await engine.abandonTurn(turn.turnId, 'nobody needs it any more');
  expect(await within((handle as typeof turn).outcome)).toMatchObject({
    status: 'abandoned',
    reason: 'nobody needs it any more',
  });
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: 'person' } });
  expect(await engine.reviews()).toMatchObject([{ toolName: 'send' }]);
  expect(await within((await engine.startTurn({ ...hello, input: 'next' })).outcome)).toMatchObject({ text: 'done' });
  expect(await engine.reviews()).toHaveLength(1);
});

it('abandonTurn refuses a running turn, an ended one, an unknown one, and a reason that is none', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await expect(engine.abandonTurn(turn.turnId, 'x')).rejects.toMatchObject({ code: 'TURN_BUSY' });
  await expect(engine.abandonTurn(turn.turnId, undefined as never)).rejects.toThrow(/reason/);
  await turn.cancel();
  await expect(engine.abandonTurn(turn.turnId, 'x')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  await expect(engine.abandonTurn('s.unknown', 'x')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
});

it('the doubts of an abandoned turn stay listed over restarts, and are settled there without running anything', async () => {
  for (const outcome of ['succeeded', 'failed', 'notStarted'] as const) {
    const world = createWorld();
    const { turnId } = await abandonedWithDoubt(world);
    const engine = await world.reboot({ tools: { send: act(() => 'sent') } });
    await engine.recover();
    const { callId } = only(await engine.reviews());
    const said = { succeeded: { outcome, output: 'seen' }, failed: { outcome, error: 'no' }, notStarted: { outcome } };
    await engine.settleCall(turnId, callId, { ...said[outcome], by: 'ann' } as never);
    expect(await engine.reviews()).toEqual([]);
    expect((await world.store.call(callId))?.state).toBe(outcome === 'succeeded' ? 'succeeded' : 'failed');
    expect(world.runs).toHaveLength(1);
    expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned' } });
  }
});

it('an identical call of a later turn is refused until the doubt is settled, with a reason the model reads', async () => {
  const world = createWorld();
  const { engine, turnId } = await abandonedWithDoubt(world);
  const { callId } = only(await engine.reviews());
  world.says(calls(['send', { n: 1 }], ['send', { n: 2 }]));
  await within((await engine.startTurn({ ...hello, input: 'again' })).outcome);
  expect(world.runs.slice(1).map((run) => run.input)).toEqual([{ n: 2 }]);
  expect((await world.outputs()).at(-2)).toMatchObject({ reason: expect.stringContaining('A person has to settle') });
  expect(await engine.reviews()).toHaveLength(1);
  await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
  world.says(calls(['send', { n: 1 }]));
  await within((await engine.startTurn({ ...hello, input: 'once more' })).outcome);
  expect(world.runs.slice(1).map((run) => run.input)).toEqual([{ n: 2 }, { n: 1 }]);
});

it('a doubt of an older turn is settled while another turn of the session runs, and disturbs nobody', async () => {
  const world = createWorld();
  const { engine, turnId } = await abandonedWithDoubt(world);
  const answer = gate<string>();
  world.says(() => answer.opened);
  const next = await engine.startTurn({ ...hello, input: 'next' });
  await until(() => world.requests.length === 2, 'the model is asked');
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'succeeded', output: 'seen', by: 'ann' });
  expect(await engine.reviews()).toEqual([]);
  answer.open('fine');
  expect(await within(next.outcome)).toMatchObject({ status: 'completed', text: 'fine' });
});

it('the list of an abandoned turn is paired when the next one begins, and says that the outcome is unknown (I10)', async () => {
  const world = createWorld();
  const { engine } = await abandonedWithDoubt(world);
  await within((await engine.startTurn({ ...hello, input: 'next' })).outcome);
  expect(brief(await world.messages())).toEqual([
    'input: hello',
    'model: calls send',
    'tool: send gave error-text',
    'input: next',
    'model: done',
  ]);
  expect(world.lastRead).toContain('outcome is unknown');
});

it('cancel keeps the doubts of a running turn listed, and they can be settled', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({ tools: { send: act(() => never()) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(MINUTE_MS);
  await turn.cancel();
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'failed', error: 'no', by: 'ann' });
  expect(await engine.reviews()).toEqual([]);
});
