// Going back in a conversation: the list goes on behind an earlier message.
import { expect, it } from 'vitest';
import type { ToolSet, Turn } from '../../src/index.js';
import { gate, until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { act, brief, calls, createWorld, hello, look, only, parking, type WholeWorld } from './world.js';

/** Three turns of text; gives the ids of their messages in order. */
async function conversation(world: WholeWorld): Promise<readonly string[]> {
  world.says('one', 'two', 'three');
  const engine = world.boot();
  for (const input of ['a', 'b', 'c']) await within((await engine.startTurn({ ...hello, input })).outcome);
  const list = await world.messages();
  for (const { meta } of list.slice(2)) world.takenOut.add(meta.id);
  return list.map(({ meta }) => meta.id);
}

it('input with `after` goes on behind that message; what stood there is gone from the list', async () => {
  const world = createWorld();
  const ids = await conversation(world);
  const { engine } = world.process;
  world.says('another two');
  const sent = await engine.sendMessage({ ...hello, input: 'B', after: ids[1] as string });
  expect(sent.accepted).toBe('started');
  expect(await within(sent.turn.outcome)).toMatchObject({ text: 'another two' });
  expect(brief(await world.messages())).toEqual(['input: a', 'model: one', 'input: B', 'model: another two']);
  expect(world.lastRead).not.toContain('"b"');
  expect(await world.head()).toMatchObject({ count: 4 });
});

it('a rewound list is the same after a restart, and its messages keep their metadata', async () => {
  const world = createWorld();
  const ids = await conversation(world);
  const before = (await world.messages()).slice(0, 2);
  await within((await world.process.engine.startTurn({ ...hello, input: 'B', after: ids[1] as string })).outcome);
  const engine = await world.reboot();
  await engine.recover();
  expect((await world.messages()).slice(0, 2)).toEqual(before);
  await within((await engine.startTurn({ ...hello, input: 'C' })).outcome);
  expect(brief(await world.messages())).toHaveLength(6);
});

it('behind the last message nothing is taken away', async () => {
  const world = createWorld();
  const ids = await conversation(world);
  world.takenOut.clear();
  await within((await world.process.engine.startTurn({ ...hello, input: 'd', after: ids.at(-1) as string })).outcome);
  expect(await world.messages()).toHaveLength(8);
});

it('a cut between calls and their results is repaired: the model sees every call with a result (I10)', async () => {
  const world = createWorld();
  world.says(calls('read'), 'one');
  const engine = world.boot({ tools: { read: look(() => 'R') } });
  await within((await engine.startTurn({ ...hello, input: 'a' })).outcome);
  const answer = (await world.messages())[1]?.meta.id as string;
  await within((await engine.startTurn({ ...hello, input: 'b', after: answer })).outcome);
  expect(brief(await world.messages())).toEqual([
    'input: a',
    'model: calls read',
    expect.stringMatching(/^tool: read gave/),
    'input: b',
    'model: done',
  ]);
});

it('an unknown message is refused, nothing changes, and the session is free', async () => {
  const world = createWorld();
  await conversation(world);
  world.takenOut.clear();
  const { engine } = world.process;
  const before = await world.head();
  for (const send of ['startTurn', 'sendMessage'] as const) {
    const refused = engine[send]({ ...hello, input: 'x', after: 'nobody' });
    await expect(refused).rejects.toMatchObject({ code: 'TURN_NOT_FOUND', message: expect.stringContaining('nobody') });
  }
  await expect(engine.startTurn({ ...hello, sessionId: 'new', after: 'x' })).rejects.toMatchObject({
    code: 'TURN_NOT_FOUND',
  });
  await expect(engine.sendMessage({ ...hello, after: '' })).rejects.toThrow(/after/);
  expect(await world.head()).toEqual(before);
  expect(await within((await engine.startTurn({ ...hello, input: 'd' })).outcome)).toMatchObject({
    status: 'completed',
  });
});

it('a session that is busy is not rewound: running, parked, interrupted, or with input waiting', async () => {
  for (const how of ['running', 'parked', 'interrupted', 'waiting'] as const) {
    const world = createWorld();
    world.says('one');
    const tools = { deploy: act(() => 'x', parking) };
    let engine = world.boot({ tools });
    await within((await engine.startTurn({ ...hello, input: 'a' })).outcome);
    const after = (await world.messages())[0]?.meta.id as string;
    if (how === 'waiting') {
      world.says({ hang: true });
      await engine.startTurn({ ...hello, sessionId: 'other', routeKey: 'r' });
      await engine.sendMessage({ ...hello, input: 'b', routeKey: 'r' });
    } else {
      world.says(how === 'parked' ? calls('deploy') : { hang: true });
      const turn = await engine.startTurn({ ...hello, input: 'b' });
      if (how === 'parked') await within(turn.rest);
      else await until(() => world.requests.length === 2, 'asked');
      if (how === 'interrupted') engine = await world.reboot({ tools });
    }
    const before = await world.messages();
    for (const send of ['startTurn', 'sendMessage'] as const)
      await expect(engine[send]({ ...hello, input: 'x', after })).rejects.toMatchObject({ code: 'TURN_BUSY' });
    expect(await world.messages()).toEqual(before);
  }
});

it('input that was rewound is still a duplicate when it is sent again, with the outcome it had', async () => {
  const world = createWorld();
  const ids = await conversation(world);
  const { engine } = world.process;
  await within((await engine.startTurn({ ...hello, input: 'B', after: ids[1] as string })).outcome);
  const again = await engine.sendMessage({ ...hello, input: 'b', messageId: ids[2] as string });
  expect(again.accepted).toBe('duplicate');
  expect(await within(again.turn.outcome)).toMatchObject({ text: 'two' });
});

/** A turn with a call, then another one; gives the message between them and the journals. */
async function twoTurns(world: WholeWorld, tools: ToolSet, made = calls('read', 'send')) {
  world.says(calls('read'), 'one', made, 'two');
  const engine = world.boot({ tools });
  const first = await engine.startTurn({ ...hello, input: 'a' });
  await within(first.outcome);
  const second = await engine.startTurn({ ...hello, input: 'b' });
  const list = await world.messages();
  for (const { meta } of (await world.messages()).slice(4)) world.takenOut.add(meta.id);
  return { engine, first, second, between: list[3]?.meta.id as string };
}
const journal = async (world: WholeWorld, { turnId }: Turn) => {
  return (await world.store.callsOf(turnId)).map(({ toolName, state }) => `${toolName} ${state}`);
};

it('the journal of what left the list goes in the same commit; what the list still names stays', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = createWorld();
    const tools = { read: look(() => 'R'), send: act(() => 'S') };
    const { engine, first, second, between } = await twoTurns(world, tools);
    await within(second.outcome);
    for (const { meta } of (await world.messages()).slice(4)) world.takenOut.add(meta.id);
    const [call] = await world.store.callsOf(second.turnId);
    expect(await (await engine.session('s'))?.output(call?.callId as string)).toMatchObject({ value: 'R' });
    world.process.store.fate = () => fate;
    world.says({ hang: true });
    void engine.startTurn({ ...hello, input: 'B', after: between });
    await world.death();
    expect(await journal(world, first)).toEqual(['read succeeded']);
    const left = fate === 'dieBefore' ? ['read succeeded', 'send succeeded'] : [];
    expect(await journal(world, second)).toEqual(left);
  }
});

it('a doubt that a person has to settle stays when its message goes', async () => {
  const world = createWorld();
  const sending = gate<string>();
  const tools = { read: look(() => 'R'), send: act(() => sending.opened) };
  const { engine, second, between } = await twoTurns(world, tools);
  await until(() => world.runsOf('send').length === 1, 'it sends');
  await second.cancel();
  for (const { meta } of (await world.messages()).slice(4)) world.takenOut.add(meta.id);
  await within((await engine.startTurn({ ...hello, input: 'B', after: between })).outcome);
  expect(await journal(world, second)).toEqual(['send inDoubt']);
  const { turnId, callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'failed', error: 'it was not sent', by: 'ann' });
  expect(await engine.reviews()).toEqual([]);
});

it('where an answer stays and its results go, what they said stays with its calls', async () => {
  const world = createWorld();
  const { engine, second } = await twoTurns(world, { read: look(() => 'R'), send: act(() => 'S') });
  await within(second.outcome);
  const list = await world.messages();
  world.takenOut.clear();
  for (const { meta } of list.slice(6)) world.takenOut.add(meta.id);
  await within((await engine.startTurn({ ...hello, input: 'B', after: list[5]?.meta.id as string })).outcome);
  const session = await engine.session('s');
  const records = await world.store.callsOf(second.turnId);
  expect(await Promise.all(records.map(({ callId }) => session?.output(callId)))).toEqual([
    { type: 'text', value: 'R' },
    { type: 'text', value: 'S' },
  ]);
});

it('an abandoned turn is closed and rewound in one commit', async () => {
  const world = createWorld();
  const sending = gate<string>();
  const tools = { read: look(() => 'R'), send: act(() => sending.opened, { exclusive: true }) };
  // The second one waits for the first: it never starts, and nobody is asked about it.
  const { second, between } = await twoTurns(world, tools, calls('read', 'send', 'send'));
  await until(() => world.runsOf('send').length === 1, 'it sends');
  const engine = await world.reboot({ tools, recovery: { stalenessMs: 0 } });
  await world.advance(1);
  expect(await engine.recover()).toMatchObject({ abandoned: [{ turnId: second.turnId }] });
  expect(await journal(world, second)).toContain('send prepared');
  for (const { meta } of (await world.messages()).slice(4)) world.takenOut.add(meta.id);
  await within((await engine.startTurn({ ...hello, input: 'B', after: between })).outcome);
  expect(await journal(world, second)).toEqual(['send inDoubt']);
  expect(await engine.reviews()).toHaveLength(1);
});

it('a message that was archived is no place to go back to, and one that is kept is', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), 'one', 'two');
  const engine = world.boot({ tools: readTools, compact: keepLast(2) });
  await within((await engine.startTurn(hello)).outcome);
  const archive = (await (await engine.session('s'))?.archive()) ?? [];
  const list = await world.messages();
  const to = (after: string) => engine.startTurn({ ...hello, input: 'back', after });
  await expect(to(archive[0]?.meta.id as string)).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  await within((await to(list[0]?.meta.id as string)).outcome);
  expect(brief(await world.messages())).toEqual(['input: hello', 'input: back', 'model: two']);
  expect(await (await engine.session('s'))?.archive()).toEqual(archive);
});

it('killed at the commit of a rewind, the list is the old one or the new one', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = createWorld();
    const ids = await conversation(world);
    const old = await world.messages();
    const { engine, store } = world.process;
    store.fate = () => fate;
    world.says({ hang: true });
    void engine.startTurn({ ...hello, input: 'B', after: ids[1] as string });
    await world.death();
    const list = await world.messages();
    if (fate === 'dieBefore') expect(list).toEqual(old);
    else expect(brief(list)).toEqual(['input: a', 'model: one', 'input: B']);
  }
});
