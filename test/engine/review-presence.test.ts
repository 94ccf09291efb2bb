// What a strict review found about presence: it belongs to the input it came with, and reaches nobody else (I6).
import { expect, it } from 'vitest';
import { calm, gate, until, within } from './waiting.js';
import { act, busyRoute, calls, createWorld, hello, only, World } from './world.js';

const hang = { hang: true } as const;

it('whoever was there for a message of one session is not there for the same message id of another', async () => {
  const world = createWorld();
  const tools = { send: act(() => 'sent', { approval: 'required' }) };
  const { engine, turn } = await busyRoute(world, { tools });
  world.says(hang, calls('send'));
  await engine.startTurn({ ...hello, sessionId: 'a' });
  await until(() => world.requests.length === 2, 'the model is asked');
  await engine.sendMessage({ sessionId: 'a', input: 'hi', attended: true, messageId: 'm1' });
  const queued = await engine.sendMessage({
    sessionId: 'b',
    input: 'hi',
    attended: false,
    messageId: 'm1',
    routeKey: 'R',
  });
  expect(queued.accepted).toBe('queued');
  await turn.cancel();
  expect(await within(queued.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(only(await world.calls('b'))).toMatchObject({ toolName: 'send' });
  expect(world.eventsOf('approvalRequested')).toEqual([]);
  expect(world.runs).toEqual([]);
});

for (const how of ['took it and the session was deleted', 'did not take it, since it was withdrawn'] as const) {
  it(`whoever was there for input is not there for the same id in the next turn: the first ${how}`, async () => {
    // The witness knows no input that is taken away.
    const world = new World();
    const deleted = how.includes('deleted');
    const { engine, turn } = await busyRoute(world, { tools: { send: act(() => 'sent') } });
    const answering = gate<string>();
    world.says(() => answering.opened);
    const first = await engine.startTurn(hello);
    await until(() => world.requests.length === 2, 'the model is asked');
    await engine.sendMessage({ ...hello, attended: true, messageId: 'm1' });
    if (!deleted) expect(await engine.withdrawMessage('s', 'm1')).toBe('withdrawn');
    answering.open('done');
    await within(first.outcome);
    await calm();
    if (deleted) await engine.deleteSession('s');
    world.says(calls('send'), 'done');
    const next = await engine.sendMessage({ ...hello, messageId: 'm1', routeKey: 'R' });
    expect(next.accepted).toBe('queued');
    await turn.cancel();
    await within(next.turn.outcome);
    expect(world.runs.map(({ call }) => call.attended)).toEqual([false]);
  });
}

it('input of a person that waited and was withdrawn makes no later turn of the session an attended one', async () => {
  // The witness knows no input that is taken away.
  const world = new World();
  const { engine, turn } = await busyRoute(world, { tools: { send: act(() => 'sent') } });
  const message = { ...hello, messageId: 'm1', routeKey: 'R' };
  await engine.sendMessage({ ...message, attended: true });
  expect(await engine.withdrawMessage('s', 'm1')).toBe('withdrawn');
  world.says(calls('send'), 'done');
  const next = await engine.sendMessage(message);
  expect(next.accepted).toBe('queued');
  await turn.cancel();
  await within(next.turn.outcome);
  expect(world.runs.map(({ call }) => call.attended)).toEqual([false]);
});
