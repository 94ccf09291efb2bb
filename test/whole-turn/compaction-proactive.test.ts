// A list that comes near what the model can read is made shorter after a batch, before the model refuses it.
import { expect, it } from 'vitest';
import type { StoredMessage } from '../../src/index.js';
import { within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { brief, createWorld, hello } from './world.js';

it('compaction comes after the batch whose usage reached four fifths of the context, and not before', async () => {
  for (const [tokens, expected] of [
    [NEAR - 1, 0],
    [NEAR, 1],
    [NEAR + 300, 1],
  ] as const) {
    const world = createWorld();
    smallModel(world);
    world.says(...readsTimes(3), reads(tokens));
    const seen: (readonly StoredMessage[])[] = [];
    const engine = world.boot({ tools: readTools, compact: keepLast(2, seen) });
    await within((await engine.startTurn(hello)).outcome);
    expect(seen).toHaveLength(expected);
    if (expected === 0) continue;
    // The whole batch was settled and its results are part of the list.
    expect(seen[0]).toHaveLength(9);
    expect(world.requests.at(-1)?.messages).toHaveLength(4);
  }
});

it('the model goes on from the shorter list, and what is kept are the messages as they were, metadata intact', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), 'done at last');
  const engine = world.boot({ tools: readTools, compact: keepLast(3) });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'done at last' });
  const list = await world.messages();
  expect(brief(list)).toEqual([
    'input: hello',
    'summary: Summary of what happened so far:\nsummary 1',
    'model: calls read',
    'tool: read gave text',
    'model: calls read',
    'tool: read gave text',
    'model: done at last',
  ]);
  expect(list[4]?.meta.answer?.usage).toMatchObject({ input: { total: NEAR } });
  expect(list[1]?.meta).toMatchObject({ origin: 'summary', turnId: turn.turnId });
  expect(world.eventsOf('compacted')).toMatchObject([{ messages: { before: 9, after: 6 }, durable: true }]);
});

it('the compactor is told what it works for, and sees list and metadata', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(reads(NEAR));
  let told: object = {};
  const engine = world.boot({
    tools: readTools,
    compact: async (list, { model, signal, ...call }) => {
      told = { ...call, model: model.contextTokens, aborted: signal.aborted, ids: list.map(({ meta }) => meta.origin) };
      return { summary: 's', keepFrom: list.at(-1)?.meta.id ?? '' };
    },
  });
  const turn = await engine.startTurn(hello);
  await within(turn.outcome);
  expect(told).toEqual({
    sessionId: 's',
    turnId: turn.turnId,
    targetTokens: 500,
    model: 1_000,
    aborted: false,
    ids: ['input', 'model', 'tool'],
  });
});

it('a model that does not say how much it can read, and `compact: false`, are never compacted for', async () => {
  for (const off of ['no size', 'false'] as const) {
    const world = createWorld();
    if (off === 'false') smallModel(world);
    world.says(...readsTimes(4, 10_000));
    const seen: (readonly StoredMessage[])[] = [];
    const engine = world.boot({ tools: readTools, compact: off === 'false' ? false : keepLast(2, seen) });
    expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
    expect(seen).toEqual([]);
    expect(world.eventsOf('phase').map((event) => event.phase)).not.toContain('compacting');
  }
});

it('input that arrives during a compaction joins behind it, once, and is not summarised away (I11)', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(2), reads(NEAR));
  const engine = world.boot({
    tools: readTools,
    compact: async (list) => {
      await engine.sendMessage({ ...hello, input: 'and this' });
      return { summary: 's', keepFrom: list.at(-1)?.meta.id ?? '' };
    },
  });
  await within((await engine.startTurn(hello)).outcome);
  expect(brief(await world.messages()).slice(-2)).toEqual(['input: and this', 'model: done']);
});

it('a cancel during a compaction ends the turn at once, and aborts the compactor', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(reads(NEAR));
  let aborted = false;
  const turnOf = { current: undefined as undefined | { cancel(): Promise<unknown> } };
  const engine = world.boot({
    tools: readTools,
    compact: (_list, { signal }) => {
      void turnOf.current?.cancel();
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(signal.reason);
        }),
      );
    },
  });
  const turn = await engine.startTurn(hello);
  turnOf.current = turn;
  expect(await within(turn.outcome)).toMatchObject({ status: 'cancelled' });
  expect(aborted).toBe(true);
  expect(await world.messages()).toHaveLength(3);
});
