// What a strict review found about turns that ended: their doubts, their revival, what is told of them.
import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import { calm, gate, never, until, within } from './waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, only } from './world.js';

const hang = { hang: true } as const;

it('each of several calls of an answer is refused while an identical one of an older turn is in doubt', async () => {
  const world = createWorld();
  const to = (name: string) => ['send', { to: name }] as const;
  world.says(calls(to('x')), calls('other', to('x'), to('x'), to('y'), to('x')));
  let sent: () => Promise<string> = () => never();
  const engine = world.boot({ tools: { send: act(() => sent()), other: act(() => 'ok') } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await turn.cancel();
  sent = async () => 'sent';
  await within((await engine.startTurn(hello)).outcome);
  expect(world.runsOf('send').map(({ input }) => input)).toEqual([{ to: 'x' }, { to: 'y' }]);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'notStarted', by: 'ann' });
  world.says(calls(to('x')));
  await within((await engine.startTurn(hello)).outcome);
  expect(world.runsOf('send').at(-1)?.input).toEqual({ to: 'x' });
  expect(world.runsOf('send')).toHaveLength(3);
});

for (const [what, broken] of [
  ['its dependencies fail', { dependencies: () => Promise.reject(new Error('no database')) }],
  ['its tool is gone', { tools: {} }],
] as const) {
  it(`an abandoned turn that a person resumes in vain, since ${what}, stays abandoned`, async () => {
    const world = createWorld();
    world.says(calls('send'));
    const tools = { send: act(() => never(), { effect: 'idempotent' }) };
    const turn = await world.boot({ tools }).startTurn(hello);
    await until(() => world.runs.length === 1, 'it runs');
    const engine = await world.reboot({ tools, ...broken });
    await engine.abandonTurn(turn.turnId, 'enough');
    const before = await world.head();
    await expect(engine.resumeTurn(turn.turnId, { person: 'ann' })).rejects.toMatchObject({
      code: 'TURN_NOT_RESUMABLE',
    });
    const { inProgress, ended } = await world.head();
    expect({ inProgress, ended }).toEqual({ inProgress: false, ended: before.ended });
    const sent = await engine.sendMessage({ ...hello, input: 'new' });
    expect(sent.accepted).toBe('started');
    expect(sent.turn.turnId).not.toBe(turn.turnId);
    await within(sent.turn.outcome);
  });
}

/** A turn that was abandoned, and whose outcome the application is just being told: until `telling` opens. */
async function abandonedAndTelling() {
  const world = createWorld();
  world.says(hang);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await world.crash();
  const telling = gate();
  const told: string[] = [];
  const engine = world.boot({
    onOutcome: async ({ status }) => {
      told.push(status);
      if (told.length === 1) await telling.opened;
    },
  });
  await engine.abandonTurn(turn.turnId, 'enough');
  await until(() => told.length === 1, 'its end is told');
  return { world, engine, turn, telling, told };
}

it('a turn that was abandoned, revived and completed while its first end is told has both of its ends told', async () => {
  const { world, engine, turn, telling, told } = await abandonedAndTelling();
  await world.advance(1_000);
  const revived = await engine.resumeTurn(turn.turnId, { person: 'ann' });
  expect(await within(revived.outcome)).toMatchObject({ status: 'completed' });
  await calm();
  expect((await world.head()).outcomesDue).toEqual([turn.turnId]);
  telling.open();
  await until(async () => (await world.head()).outcomesDue.length === 0, 'all is taken');
  expect(told).toEqual(['abandoned', 'completed']);
  expect(await world.store.markers('agent')).toEqual([]);
});

it('both ends of a turn that was revived are told also when no time passed between them', async () => {
  const { world, engine, turn, telling, told } = await abandonedAndTelling();
  await within((await engine.resumeTurn(turn.turnId, { person: 'ann' })).outcome);
  telling.open();
  await until(async () => (await world.head()).outcomesDue.length === 0, 'all is taken');
  expect(told).toEqual(['abandoned', 'completed']);
});

it('many outcomes leave no listeners behind', async () => {
  const world = createWorld();
  const signals = new Set<AbortSignal>();
  const listen = vi.spyOn(AbortSignal.prototype, 'addEventListener').mockImplementation(function (
    this: AbortSignal,
    ...given: Parameters<EventTarget['addEventListener']>
  ) {
    signals.add(this);
    return EventTarget.prototype.addEventListener.apply(this, given);
  });
  let told = 0;
  const onOutcome = (): void => {
    told += 1;
  };
  const engine = world.boot({ dependencies: () => ({}), onOutcome });
  for (let n = 1; n <= 30; n += 1) {
    await within((await engine.startTurn({ ...hello, sessionId: `s${n}` })).outcome);
    await until(() => told === n, 'it is told');
  }
  await calm();
  listen.mockRestore();
  expect(signals.size).toBeGreaterThan(0);
  for (const signal of signals) expect(getEventListeners(signal, 'abort').length).toBeLessThan(5);
});

it('a session that was just imported is not pruned, and an old one is', async () => {
  const world = createWorld();
  const engine = world.boot();
  await engine.importSession('i', [{ role: 'assistant', content: [{ type: 'text', text: 'precious' }] }]);
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(0);
  expect(await world.messages('i')).toHaveLength(1);
  await world.advance(2 * HOUR_MS);
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(1);
  expect(await engine.session('i')).toBeUndefined();
});
