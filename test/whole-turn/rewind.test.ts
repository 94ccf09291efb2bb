// Going back in a conversation: the list goes on behind an earlier message.
import { expect, it } from 'vitest';
import { until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { act, brief, calls, createWorld, hello, look, parking, type WholeWorld } from './world.js';

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

it('the doubts and outputs of turns that were rewound stay known', async () => {
  const world = createWorld();
  world.says('one', calls('read'), 'two');
  const engine = world.boot({ tools: { read: look(() => 'R') } });
  await within((await engine.startTurn({ ...hello, input: 'a' })).outcome);
  const turn = await engine.startTurn({ ...hello, input: 'b', messageId: 'b' });
  await within(turn.outcome);
  const list = await world.messages();
  for (const { meta } of list.slice(2)) world.takenOut.add(meta.id);
  await within((await engine.startTurn({ ...hello, input: 'B', after: list[1]?.meta.id as string })).outcome);
  // The input that was taken out is still a duplicate when it is sent again.
  const again = await engine.sendMessage({ ...hello, input: 'b', messageId: 'b' });
  expect(again.accepted).toBe('duplicate');
  expect(await within(again.turn.outcome)).toMatchObject({ text: 'two' });
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
