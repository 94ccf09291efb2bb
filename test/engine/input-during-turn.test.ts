// Input that comes while a turn runs: it joins at the boundary, and nothing passes it by (I11, case C11).
import { expect, it } from 'vitest';
import { INBOX_MESSAGES } from '../../machines/index.js';
import { calm, gate, until, within } from './waiting.js';
import { act, calls, createWorld, hello, only, type World } from './world.js';

const hang = { hang: true } as const;
const textsOf = async (world: World) =>
  (await world.messages()).map(({ message }) =>
    message.role === 'tool' ? 'results' : `${message.role}: ${JSON.stringify(message.content)}`,
  );

it('input during a batch joins behind its results, and the model reads both', async () => {
  const world = createWorld();
  const tool = gate<string>();
  world.says(calls('write'), 'done');
  const engine = world.boot({ tools: { write: act(() => tool.opened) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the tool runs');
  const sent = await engine.sendMessage({ ...hello, input: 'and this' });
  expect(sent).toMatchObject({ accepted: 'queued', turn: { turnId: turn.turnId } });
  expect(await world.store.inbox('s')).toMatchObject([{ messageId: sent.messageId }]);
  tool.open('ok');
  await within(turn.outcome);
  expect(world.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(world.runs).toHaveLength(1);
  expect(await world.store.inbox('s')).toEqual([]);
  expect(await world.store.seen('s', sent.messageId)).toMatchObject({ turnId: turn.turnId });
});

it('completed cannot pass pending input: the model is asked again', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, 'for both');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await engine.sendMessage({ ...hello, input: 'wait' });
  answer.open('for one');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'for both' });
  expect((await world.messages()).map(({ message }) => message.role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
});

it('input that a failing turn did not take starts a turn of its own', async () => {
  const world = createWorld();
  const answer = gate();
  world.says(async () => {
    await answer.opened;
    return { fail: 'rejected' };
  }, 'better');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const sent = await engine.sendMessage({ ...hello, input: 'more' });
  answer.open();
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed' });
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the waiting input had its turn');
  expect((await world.head()).turnId).not.toBe(turn.turnId);
  expect(await world.store.outcome(turn.turnId)).toMatchObject({ status: 'failed' });
  expect(await world.store.seen('s', sent.messageId)).toMatchObject({ turnId: (await world.head()).turnId });
  expect(await textsOf(world)).toHaveLength(3);
});

it('input that a cancelled turn did not take starts another turn; the cancelled one never comes back (I8)', async () => {
  const world = createWorld();
  world.says(hang, 'fresh');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await engine.sendMessage({ ...hello, input: 'more' });
  await turn.cancel();
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the waiting input had its turn');
  expect((await world.head()).turnId).not.toBe(turn.turnId);
  expect(await world.store.outcome(turn.turnId)).toMatchObject({ status: 'cancelled' });
});

it('a duplicate of input that waits in a running turn is told so, and joins once', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, 'done');
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  const more = { ...hello, input: 'more', messageId: 'm2' };
  expect(await engine.sendMessage(more)).toMatchObject({ accepted: 'queued' });
  expect(await engine.sendMessage(more)).toMatchObject({ accepted: 'duplicate', turn: { turnId: turn.turnId } });
  answer.open('one');
  await within(turn.outcome);
  expect((await textsOf(world)).filter((text) => text.includes('more'))).toHaveLength(1);
});

it('input accepted by a turn that crashes is there after the crash, once (case C11)', async () => {
  const world = createWorld();
  world.says(hang, 'done');
  const engine = world.boot();
  await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  for (const input of ['alpha', 'beta', 'gamma']) await engine.sendMessage({ ...hello, input });
  await world.crash();
  expect(await world.store.inbox('s')).toHaveLength(3);
  const { resumed } = await world.boot().recover();
  await within(only(resumed).outcome);
  const texts = await textsOf(world);
  for (const input of ['alpha', 'beta', 'gamma']) {
    expect(texts.filter((text) => text.includes(input))).toHaveLength(1);
  }
});

it('input that had joined in memory only joins again after a crash, and is not doubled (case C11)', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, hang);
  const engine = world.boot();
  await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  await engine.sendMessage({ ...hello, input: 'joins' });
  answer.open('first');
  // The boundary is a debounced checkpoint: so soon after the first one nothing is written.
  await until(() => world.requests.length === 2, 'the model is asked again');
  expect(await world.store.inbox('s')).toHaveLength(1);
  const second = await world.reboot();
  await within(only((await second.recover()).resumed).outcome);
  expect((await textsOf(world)).filter((text) => text.includes('joins'))).toHaveLength(1);
  expect(await world.store.inbox('s')).toEqual([]);
});

it('the inbox of a session is bounded: the message too many is refused and nothing of it is stored', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'the model is asked');
  for (let n = 0; n < INBOX_MESSAGES; n += 1) await engine.sendMessage({ ...hello, input: `n${n}` });
  await expect(engine.sendMessage({ ...hello, messageId: 'late' })).rejects.toMatchObject({
    code: 'TURN_INBOX_FULL',
    retryable: true,
  });
  expect(await world.store.inbox('s')).toHaveLength(INBOX_MESSAGES);
  world.says('all of it');
  await turn.cancel();
  await until(async () => (await world.head()).ended?.kind === 'completed', 'the next turn took all of it');
  expect((await world.messages()).filter(({ meta }) => meta.origin === 'input')).toHaveLength(INBOX_MESSAGES + 1);
});

it('queued input keeps its order and its own context, and its turn id is the one it was given', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const shared = { ...hello, routeKey: 'r' };
  const first = await engine.startTurn({ ...shared, sessionId: 'a' });
  await until(() => world.requests.length === 1, 'the route is busy');
  const one = await engine.sendMessage({ ...shared, sessionId: 'b', input: 'one', context: { n: 1 } });
  const two = await engine.sendMessage({ ...shared, sessionId: 'b', input: 'two', context: { n: 2 } });
  expect([one.accepted, two.accepted]).toEqual(['queued', 'queued']);
  answer.open('free');
  await within(first.outcome);
  expect(await within(one.turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.head('b')).toMatchObject({ turnId: one.turn.turnId, context: { n: 1 } });
  const texts = (await world.messages('b')).map(({ message }) => JSON.stringify(message.content));
  expect(texts[0]).toContain('one');
  expect(texts[1]).toContain('two');
});

it('queued input starts after a restart, by recover() (case C11)', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  await engine.startTurn({ ...hello, sessionId: 'a', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'the route is busy');
  const queued = await engine.sendMessage({ ...hello, sessionId: 'b', routeKey: 'r' });
  expect(queued.accepted).toBe('queued');
  const second = await world.reboot();
  await second.recover();
  await until(async () => (await world.head('b'))?.ended?.kind === 'completed', 'the queued input had its turn');
  expect(await world.head('b')).toMatchObject({ turnId: queued.turn.turnId, waitingInput: 0 });
  await calm();
  expect(await world.head('a')).toMatchObject({ inProgress: false });
});

it('input that waited and joined together with fresh input is known as a duplicate afterwards', async () => {
  const world = createWorld();
  world.says(hang);
  const engine = world.boot();
  await engine.startTurn({ ...hello, sessionId: 'a', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'the route is busy');
  const waited = { ...hello, routeKey: 'r', messageId: 'm1', input: 'waited' };
  expect(await engine.sendMessage(waited)).toMatchObject({ accepted: 'queued' });
  const second = await world.reboot();
  const fresh = await second.sendMessage({ ...hello, messageId: 'm2', input: 'fresh' });
  expect(fresh.accepted).toBe('started');
  await within(fresh.turn.outcome);
  for (const message of [waited, { ...hello, messageId: 'm2' }]) {
    expect(await second.sendMessage(message)).toMatchObject({
      accepted: 'duplicate',
      turn: { turnId: fresh.turn.turnId },
    });
  }
  expect((await world.messages()).map(({ meta }) => meta.origin)).toEqual(['input', 'input', 'model']);
});
