// A compaction that gains nothing: it is refused, costs the turn nothing, and does not come again and again (case C22).
import { expect, it } from 'vitest';
import { sizeOf } from '../../src/core/compaction.js';
import type { Compactor } from '../../src/index.js';
import { never, until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel, useless } from './long-turn.js';
import { createWorld, hello, MINUTE_MS, only } from './world.js';

const length = { fail: 'contextLength' } as const;

it('a proactive one that does not make the list shorter is refused, and the turn goes on (case C22)', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), 'fine');
  const { compact, asked } = useless();
  const engine = world.boot({ tools: readTools, compact });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed', text: 'fine' });
  expect(asked()).toBe(1);
  expect(world.eventsOf('compactionRefused')).toMatchObject([{ reason: 'not shorter by a tenth' }]);
  expect(await world.messages()).toHaveLength(10);
});

it('it is not tried again until the list has grown by a tenth, and then it is (case C22)', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(20), ...readsTimes(12, NEAR));
  const sizes: number[] = [];
  const { compact } = useless();
  const engine = world.boot({
    tools: readTools,
    compact: (list, call) => {
      sizes.push(sizeOf(list));
      return compact(list, call);
    },
  });
  await within((await engine.startTurn(hello)).outcome);
  expect(world.requests).toHaveLength(33);
  expect(sizes.length).toBeGreaterThan(2);
  sizes.slice(1).forEach((size, index) => {
    const grown = size / (sizes[index] as number);
    // The list is looked at behind every batch: it may be tried one or two pages later, never earlier.
    expect(grown).toBeGreaterThanOrEqual(1.1);
    expect(grown).toBeLessThan(1.2);
  });
});

it('nor is it tried again by the next process (case C22)', async () => {
  const world = createWorld();
  smallModel(world);
  const { compact, asked } = useless();
  world.says(...readsTimes(20), reads(NEAR), { hang: true });
  // With an effect, so that every batch is on disk.
  const tools = { read: { ...readTools.read, effect: 'idempotent' as const } };
  await world.boot({ tools, compact }).startTurn(hello);
  await until(() => world.requests.length === 22, 'the model is asked behind the refusal');
  expect(asked()).toBe(1);
  for (let restart = 0; restart < 2; restart += 1) {
    const engine = await world.reboot({ tools, compact });
    expect(await world.head()).toMatchObject({ count: 43 + restart * 2 });
    world.says(reads(NEAR), { hang: true });
    const before = world.requests.length;
    await engine.recover();
    await until(() => world.requests.length === before + 2, 'one more batch');
  }
  expect(asked()).toBe(1);
});

it('a later turn of the session does not try what was just refused, either', async () => {
  const world = createWorld();
  smallModel(world);
  const { compact, asked } = useless();
  world.says(...readsTimes(20), reads(NEAR), 'first', reads(NEAR), 'second');
  const engine = world.boot({ tools: readTools, compact });
  await within((await engine.startTurn(hello)).outcome);
  await within((await engine.startTurn({ ...hello, input: 'go on' })).outcome);
  expect(asked()).toBe(1);
});

it('a compactor that throws, hangs, or names a message that is not there refuses, with a reason for a person', async () => {
  const faults: [string, Compactor, RegExp][] = [
    ['throws', () => Promise.reject(new Error('no quota')), /no quota/],
    [
      'throws null',
      () => {
        throw null;
      },
      /not an Error/,
    ],
    ['names nothing', async () => ({ summary: 's', keepFrom: 'nobody' }), /keepFrom names no message.*nobody/],
    ['gives nothing', async () => undefined as never, /summary, keepFrom/],
    ['is empty', async (list) => ({ summary: ' ', keepFrom: list.at(-1)?.meta.id ?? '' }), /summary is empty/],
  ];
  for (const [, compact, reason] of faults) {
    const world = createWorld();
    smallModel(world);
    world.says(...readsTimes(10), ...readsTimes(2, NEAR), 'fine');
    const engine = world.boot({ tools: readTools, compact });
    expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ text: 'fine' });
    expect(only(world.eventsOf('compactionRefused')).reason).toMatch(reason);
  }
});

it('a summary whose usage is no count refuses, and the sums of the turn stay numbers', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(
    ...readsTimes(10),
    reads(NEAR),
    { say: 'Pages were read.', tokens: Number.NaN },
    { say: 'fine', tokens: 1 },
  );
  const outcome = await within((await world.boot({ tools: readTools }).startTurn(hello)).outcome);
  expect(only(world.eventsOf('compactionRefused')).reason).toMatch(/^usage\.input\.total must be/);
  expect(outcome).toMatchObject({ text: 'fine', usage: { input: { total: expect.any(Number) } } });
  expect(outcome.usage.input.total).not.toBeNaN();
});

it('a compactor that hangs is given five minutes, the turn goes on, and it is not asked again at once (case C22)', async () => {
  const world = createWorld();
  smallModel(world);
  let asked = 0;
  world.says(...readsTimes(10), ...readsTimes(2, NEAR), 'fine');
  const compact: Compactor = () => {
    asked += 1;
    return never();
  };
  const turn = await world.boot({ tools: readTools, compact }).startTurn(hello);
  await until(() => asked === 1, 'it is asked');
  await world.advance(5 * MINUTE_MS - 1);
  expect(world.requests).toHaveLength(11);
  await world.advance(1);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'fine' });
  expect(asked).toBe(1);
  expect(world.eventsOf('compactionRefused')).toMatchObject([{ reason: 'timeout' }]);
  expect((await world.head()).compactionRefusedAt).not.toBe(null);
});

it('an answer of the compactor that comes after its time is not taken', async () => {
  const world = createWorld();
  smallModel(world);
  let answer = (): void => undefined;
  world.says(...readsTimes(4), reads(NEAR), { hang: true });
  const compact: Compactor = (list) =>
    new Promise((resolve) => {
      answer = () => resolve({ summary: 's', keepFrom: list.at(-1)?.meta.id ?? '' });
    });
  const turn = await world.boot({ tools: readTools, compact }).startTurn(hello);
  await until(() => world.requests.length === 5, 'five answers');
  await world.advance(5 * MINUTE_MS);
  await until(() => world.requests.length === 6, 'it goes on without');
  answer();
  await world.advance(0);
  expect(await turn.cancel()).toMatchObject({ status: 'cancelled' });
  expect(await world.messages()).toHaveLength(11);
});

it('a reactive one that gains nothing ends the turn with the reason (case C22)', async () => {
  const reasons: [Compactor | false, RegExp][] = [
    [useless().compact, /^contextLength: not shorter by a tenth/],
    [() => Promise.reject(new Error('no quota')), /^contextLength: no quota/],
    [false, /^contextLength: noCompactor/],
  ];
  for (const [compact, reason] of reasons) {
    const world = createWorld();
    world.says(...readsTimes(3), length);
    const engine = world.boot({ tools: readTools, compact });
    const outcome = await within((await engine.startTurn(hello)).outcome);
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) });
    expect(world.requests).toHaveLength(4);
  }
});

it('a reactive one that hangs ends the turn after five minutes, with the reason', async () => {
  const world = createWorld();
  world.says(...readsTimes(3), length);
  const turn = await world.boot({ tools: readTools, compact: () => never() }).startTurn(hello);
  await until(() => world.requests.length === 4, 'the model refuses');
  await world.advance(5 * MINUTE_MS);
  expect(await within(turn.outcome)).toMatchObject({ status: 'failed', reason: 'contextLength: timeout' });
});

it('a reactive one is tried once in a turn: the same refusal again ends it with the reason, also across a restart', async () => {
  for (const restart of [false, true]) {
    const world = createWorld();
    const seen: never[] = [];
    const options = { tools: readTools, compact: keepLast(2, seen) };
    world.says(...readsTimes(4), length, restart ? { hang: true } : reads(), ...(restart ? [] : [length]));
    const turn = await world.boot(options).startTurn(hello);
    let { outcome } = turn;
    if (restart) {
      await until(() => world.requests.length === 6, 'asked behind the compaction');
      world.says(length);
      outcome = only((await (await world.reboot(options)).recover()).resumed).outcome;
    }
    expect(await within(outcome)).toMatchObject({ status: 'failed', reason: expect.stringContaining('contextLength') });
    expect(seen).toHaveLength(1);
  }
});

it('a turn that was compacted for its length goes on to its end, and the next turn may be compacted again', async () => {
  const world = createWorld();
  const seen: never[] = [];
  const engine = world.boot({ tools: readTools, compact: keepLast(2, seen) });
  world.says(...readsTimes(4), length, 'first', ...readsTimes(4), length, 'second');
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed', text: 'first' });
  const next = await engine.startTurn({ ...hello, input: 'go on' });
  expect(await within(next.outcome)).toMatchObject({ status: 'completed', text: 'second' });
  expect(seen).toHaveLength(2);
});
