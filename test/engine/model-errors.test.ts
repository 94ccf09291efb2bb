// Model calls that fail: what is tried again and when, what is not, and that the moment survives a restart (I13, case C16).
import { expect, it } from 'vitest';
import { ModelError } from '../../src/index.js';
import { calm, until, within } from './waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, only, type World } from './world.js';

const asked = (world: World, n: number) => until(() => world.requests.length === n, `the model is asked ${n} times`);
const retrying = (world: World, n = 1) =>
  until(() => world.eventsOf('retry').length === n, `${n} retries are announced`);

it('a failing model is tried again after a back-off that doubles', async () => {
  const world = createWorld();
  world.says({ fail: 'overloaded' }, { fail: 'network' }, { fail: 'overloaded' }, 'at last');
  const turn = await world.boot().startTurn(hello);
  for (const [n, delayMs] of [1_000, 2_000, 4_000].entries()) {
    await retrying(world, n + 1);
    expect(world.eventsOf('retry').at(-1)).toMatchObject({ delayMs, durable: true });
    await world.advance(delayMs - 1);
    expect(world.requests).toHaveLength(n + 1);
    await world.advance(1);
    await asked(world, n + 2);
  }
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'at last' });
  expect(world.requests.map(({ call }) => call.modelCall)).toEqual([0, 1, 2, 3]);
});

it('a rate limit asks for more patience', async () => {
  const world = createWorld();
  world.says({ fail: 'rateLimited' }, { fail: 'rateLimited' });
  await world.boot().startTurn(hello);
  await retrying(world);
  await world.advance(5_000);
  await retrying(world, 2);
  expect(world.eventsOf('retry').map((event) => event.type === 'retry' && event.delayMs)).toEqual([5_000, 10_000]);
});

it('Retry-After replaces the back-off where it fits, and ends the turn where it does not', async () => {
  const world = createWorld();
  world.says({ fail: 'overloaded', retryAfterMs: 33_000 }, { fail: 'overloaded', retryAfterMs: 16 * MINUTE_MS });
  const turn = await world.boot().startTurn(hello);
  await retrying(world);
  expect(world.eventsOf('retry')[0]).toMatchObject({ delayMs: 33_000 });
  await world.advance(33_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'overloaded: scripted: overloaded' });
});

it('an attended turn gives up at the third failure in a row, an unattended one after its time', async () => {
  for (const attended of [true, false]) {
    const world = createWorld();
    world.says(...Array.from({ length: 40 }, () => ({ fail: 'network' }) as const));
    const turn = await world.boot().startTurn({ ...hello, attended });
    await asked(world, 1);
    await world.advance(30 * MINUTE_MS);
    expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'network: scripted: network' });
    if (attended) expect(world.requests).toHaveLength(3);
    else expect(world.requests.length).toBeGreaterThan(10);
    const lasted = (world.events.at(-1)?.at ?? 0) - (world.events[0]?.at ?? 0);
    if (!attended) expect(lasted).toBeGreaterThanOrEqual(15 * MINUTE_MS);
  }
});

it('a success forgets the failures before it', async () => {
  const world = createWorld();
  const fail = { fail: 'network' } as const;
  world.says(fail, fail, calls('write'), fail, fail, 'done');
  const turn = await world.boot({ tools: { write: act(() => 'ok') } }).startTurn({ ...hello, attended: true });
  await asked(world, 1);
  await world.advance(10 * MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('what is not worth another try ends the turn at once', async () => {
  for (const kind of ['rejected', 'auth', 'other'] as const) {
    const world = createWorld();
    world.says({ fail: kind });
    const turn = await world.boot().startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: `${kind}: scripted: ${kind}` });
    expect(world.requests).toHaveLength(1);
  }
});

/** An error of others, which reads itself when it is asked. */
const resisting = Object.defineProperty(new Error('lazy'), 'kind', {
  get() {
    throw new Error('no kind');
  },
});

it('whatever a model port throws is an outcome, and an answer that is none as well', async () => {
  const wrong: readonly (() => unknown)[] = [
    () => Promise.reject(new Error('socket hang up')),
    () => Promise.reject(null),
    () => {
      throw 'text';
    },
    () => Promise.reject(resisting),
    () => undefined,
    () => ({ content: 'text', finish: { reason: 'stop' } }),
    () => ({ content: [{ type: 'surprise' }], finish: { reason: 'stop' }, usage: { input: {}, output: {} } }),
    () => ({ content: [{ type: 'text', text: 1n }], finish: { reason: 'stop' }, usage: { input: {}, output: {} } }),
  ];
  for (const call of wrong) {
    const world = createWorld();
    const turn = await world.boot({ model: { id: 'wrong', call: call as never } }).startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^other: /) });
  }
});

it('a finish reason in the provider’s own word is no clean end: the calls of that answer do not run', async () => {
  const world = createWorld();
  const content = [{ type: 'tool-call', toolCallId: 'c', toolName: 'send', input: {} }] as const;
  const answer = { content, finish: { reason: 'max_tokens' }, usage: { input: {}, output: {} } };
  const engine = world.boot({
    model: { id: 'm', call: async () => answer as never },
    tools: { send: act(() => 'sent') },
  });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(/^other: .*finish\.reason must be one of stop, .*, not "max_tokens"/),
  });
  expect(world.runs).toEqual([]);
  // A port that is wrong is wrong for ever: it is not asked again.
  expect(world.requests).toHaveLength(1);
  expect(await world.messages()).toHaveLength(1);
});

it('an error of another copy of this package is known by its shape', async () => {
  const world = createWorld();
  const foreign = Object.assign(new Error('529'), { name: 'ModelError', kind: 'overloaded', retryAfterMs: 7_000 });
  let calls = 0;
  const model = {
    id: 'm',
    call: async () => {
      calls += 1;
      if (calls === 1) throw foreign;
      throw new ModelError('auth', 'key revoked');
    },
  };
  const turn = await world.boot({ model }).startTurn(hello);
  await retrying(world);
  expect(world.eventsOf('retry')[0]).toMatchObject({ kind: 'overloaded', delayMs: 7_000 });
  await world.advance(7_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'auth: key revoked' });
});

it('the deadline of a back-off survives a restart: what is left of it is waited for (I13, case C16)', async () => {
  const world = createWorld();
  world.says({ fail: 'overloaded', retryAfterMs: 60_000 }, 'done');
  await world.boot().startTurn(hello);
  await retrying(world);
  await world.advance(45_000);
  const engine = await world.reboot();
  const turn = only((await engine.recover()).resumed);
  await world.advance(14_999);
  expect(world.requests).toHaveLength(1);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('a back-off that ended while nothing ran ends at once (case C16)', async () => {
  const world = createWorld();
  world.says({ fail: 'overloaded', retryAfterMs: 60_000 }, 'done');
  await world.boot().startTurn(hello);
  await retrying(world);
  await world.crash();
  await world.advance(2 * MINUTE_MS);
  const turn = only((await world.boot().recover()).resumed);
  await world.advance(0);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
});

it('the count of failures survives a restart', async () => {
  const world = createWorld();
  const fail = { fail: 'network' } as const;
  world.says(fail, fail, fail, fail);
  await world.boot().startTurn({ ...hello, attended: true, limits: { retryElapsedMs: 0 } });
  await retrying(world);
  await world.advance(1_000);
  await retrying(world, 2);
  const engine = await world.reboot();
  const turn = only((await engine.recover()).resumed);
  await world.advance(2_000);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed' });
  expect(world.requests).toHaveLength(3);
});

it('a context that is too long ends as failed, with the reason that there is no compactor', async () => {
  const world = createWorld();
  world.says({ fail: 'contextLength' });
  const turn = await world.boot({ compact: false }).startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'contextLength: noCompactor' });
  expect(world.requests).toHaveLength(1);
});

it('prepareModelCall that throws counts as a network error and is tried again', async () => {
  const world = createWorld();
  let asked = 0;
  const engine = world.boot({
    prepareModelCall: () => {
      asked += 1;
      if (asked < 3) throw new Error('the prompt service is away');
      return {};
    },
  });
  const turn = await engine.startTurn(hello);
  await retrying(world);
  expect(world.eventsOf('retry')[0]).toMatchObject({
    kind: 'network',
    reason: expect.stringContaining('prompt service'),
  });
  await world.advance(MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(asked).toBe(3);
});

it('a failed call leaves no message and no usage behind', async () => {
  const world = createWorld();
  world.says({ fail: 'network' }, { say: 'done', tokens: 3 });
  const turn = await world.boot().startTurn(hello);
  await retrying(world);
  await world.advance(1_000);
  expect(await within(turn.outcome)).toMatchObject({ usage: { input: { total: 3 } } });
  await calm();
  expect(await world.messages()).toHaveLength(2);
});
