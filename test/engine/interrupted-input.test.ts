// Input to a session whose turn was interrupted: it resumes that turn and joins, or abandons it and starts anew (I11).
import { expect, it } from 'vitest';
import type { Message } from '../../src/index.js';
import { calm, gate, isOpen, never, until, within } from './waiting.js';
import { type Answer, act, calls, createWorld, HOUR_MS, hello, look, only, type World } from './world.js';

const hang = { hang: true } as const;
const roles = (messages: readonly Message[]) => messages.map(({ role }) => role);

async function interrupted(world: World, answers: Answer = hang): Promise<string> {
  world.says(answers);
  const stuck = { send: act(() => never()), read: look(() => 'read') };
  const turn = await world.boot({ tools: stuck }).startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await calm();
  await world.crash();
  return turn.turnId;
}

it('input resumes an interrupted turn and joins it', async () => {
  const world = createWorld();
  const turnId = await interrupted(world);
  const first = gate<string>();
  world.says(() => first.opened, 'for both');
  const engine = world.boot();
  const sent = await engine.sendMessage({ ...hello, input: 'are you there?' });
  expect(sent).toMatchObject({ accepted: 'queued', turn: { turnId } });
  first.open('for the first');
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed', text: 'for both' });
  expect(await world.head()).toMatchObject({ turnId, recoveries: 1, waitingInput: 0 });
  expect((await world.messages()).filter(({ message }) => message.role === 'user')).toHaveLength(2);
});

it('the switch does not hold input back', async () => {
  const world = createWorld();
  const turnId = await interrupted(world);
  const engine = world.boot({ recovery: false });
  expect((await engine.recover()).held).toHaveLength(1);
  const sent = await engine.sendMessage({ ...hello, input: 'go on' });
  await within(sent.turn.outcome);
  await until(async () => !(await world.head()).inProgress, 'all is done');
  expect(await world.store.outcome(turnId)).toMatchObject({ status: 'completed' });
});

it('input to a turn that is too old abandons it and starts anew; its calls are paired and its doubts listed', async () => {
  const world = createWorld();
  const oldTurn = await interrupted(world, calls('read', ['send', { to: 'a' }]));
  await world.advance(5 * HOUR_MS);
  world.says(calls(['send', { to: 'a' }], ['send', { to: 'b' }]), calls(['send', { to: 'a' }]), 'done');
  const settled = gate();
  const engine = world.boot({
    tools: { send: act(() => 'sent'), read: look(() => 'read') },
    prepareModelCall: async ({ modelCalls }) => {
      if (modelCalls === 1) await settled.opened;
      return {};
    },
  });
  const sent = await engine.sendMessage({ ...hello, input: 'something else' });
  expect(sent.accepted).toBe('started');
  expect(sent.turn.turnId).not.toBe(oldTurn);
  await until(() => world.runs.filter(({ process }) => process === 2).length === 1, 'the other call runs');
  // One result for each call of the old turn, before the new input.
  expect(roles(world.requests[1]?.messages ?? [])).toEqual(['user', 'assistant', 'tool', 'user']);
  const results = world.requests[1]?.messages[2] as Message & { role: 'tool' };
  expect(results.content).toHaveLength(2);
  expect(JSON.stringify(results.content[0])).toContain('read');
  expect(JSON.stringify(results.content[1])).toContain('outcome is unknown');
  // The doubt is listed, and the identical call is refused until a person has settled it; the other one runs.
  const review = only(await engine.reviews());
  expect(review).toMatchObject({ turnId: oldTurn, toolName: 'send', input: { to: 'a' } });
  expect(world.runs.filter(({ process }) => process === 2).map(({ input }) => input)).toEqual([{ to: 'b' }]);
  await engine.settleCall(oldTurn, review.callId, { outcome: 'notStarted', by: 'ann' });
  settled.open();
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs.filter(({ process }) => process === 2).map(({ input }) => input)).toEqual([
    { to: 'b' },
    { to: 'a' },
  ]);
});

it('a settlement of a doubt of an earlier turn does not disturb the turn that runs now', async () => {
  const world = createWorld();
  const oldTurn = await interrupted(world, calls('send'));
  await world.advance(5 * HOUR_MS);
  const working = gate<string>();
  world.says(calls('read'), 'done');
  const engine = world.boot({ tools: { send: act(() => 'sent'), read: look(() => working.opened) } });
  const sent = await engine.sendMessage({ ...hello, input: 'go on' });
  await until(() => world.runsOf('read').length === 1, 'the new turn works');
  const review = only(await engine.reviews());
  await engine.settleCall(oldTurn, review.callId, { outcome: 'succeeded', output: 'it landed', by: 'ann' });
  expect(await engine.reviews()).toEqual([]);
  working.open('worked');
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed', text: 'done' });
  expect(await world.store.call(review.callId)).toMatchObject({ state: 'succeeded' });
});

it('input to a parked turn is queued, and joins it when a person has settled the call', async () => {
  const world = createWorld();
  const turnId = await interrupted(world, calls('send'));
  const tools = { send: act(() => 'sent'), read: look(() => 'read') };
  const engine = world.boot({ tools });
  await engine.recover();
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  const sent = await engine.sendMessage({ ...hello, input: 'hurry up' });
  expect(sent).toMatchObject({ accepted: 'queued', turn: { turnId } });
  expect(await isOpen(sent.turn.outcome)).toBe(true);
  expect(await world.head()).toMatchObject({ waitingInput: 1, phase: 'awaitingReview' });
  const review = only(await engine.reviews());
  await engine.settleCall(turnId, review.callId, { outcome: 'succeeded', output: 'ok', by: 'ann' });
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(roles(world.requests[1]?.messages.slice(0, 4) ?? [])).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(await world.head()).toMatchObject({ waitingInput: 0, turnId });
});

it('input that waited in a parked turn starts a turn of its own when the parked one is cancelled', async () => {
  const world = createWorld();
  const turnId = await interrupted(world, calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent'), read: look(() => 'read') } });
  await engine.recover();
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  await engine.sendMessage({ ...hello, input: 'never mind' });
  await engine.cancelTurn(turnId);
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the input had its turn');
  expect((await world.head()).turnId).not.toBe(turnId);
  expect(await world.store.outcome(turnId)).toMatchObject({ status: 'cancelled' });
});

it('input to a turn whose attempts are used up starts anew as well', async () => {
  const world = createWorld();
  const turnId = await interrupted(world);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    world.says(hang);
    await (await world.reboot()).recover();
    await until(() => world.requests.length === attempt + 2, 'the model is asked');
  }
  const engine = await world.reboot();
  const sent = await engine.sendMessage({ ...hello, input: 'again' });
  expect(sent.accepted).toBe('started');
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.store.outcome(turnId)).toMatchObject({ status: 'abandoned' });
});

it('an abandoned turn stays as it was until another starts: a person may resume it', async () => {
  const world = createWorld();
  const turnId = await interrupted(world);
  await world.advance(5 * HOUR_MS);
  const engine = world.boot();
  expect((await engine.recover()).abandoned).toHaveLength(1);
  const turn = await engine.resumeTurn(turnId, { person: 'ann' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  await expect(engine.resumeTurn(turnId, { person: 'ann' })).rejects.toMatchObject({ code: 'TURN_NOT_RESUMABLE' });
  await expect(engine.resumeTurn(turnId, {} as never)).rejects.toThrow(TypeError);
});

it('an abandoned turn is not resumable once another has started', async () => {
  const world = createWorld();
  const turnId = await interrupted(world);
  const engine = world.boot();
  await engine.abandonTurn(turnId, 'not wanted any more');
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: 'person' } });
  await within((await engine.startTurn(hello)).outcome);
  await expect(engine.resumeTurn(turnId, { person: 'ann' })).rejects.toMatchObject({ code: 'TURN_NOT_RESUMABLE' });
});

it('input that waited in a turn which a person abandons starts a turn of its own', async () => {
  const world = createWorld();
  const turnId = await interrupted(world, calls('send'));
  const engine = world.boot({ tools: { send: act(() => 'sent'), read: look(() => 'read') } });
  await engine.recover();
  await until(async () => (await world.head()).waiting !== null, 'the turn is parked');
  await engine.sendMessage({ ...hello, input: 'and now?' });
  await engine.abandonTurn(turnId, 'nobody knows');
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the input had its turn');
});
