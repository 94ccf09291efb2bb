// What users write with vitest: tests of their own agent, with the crash kit. It runs in a project that has installed
// the package; jest.mjs and node-test.mjs beside it look the same.

import { createTurnEngine, type ToolContext, tool } from 'durable-turn';
import { memoryStore } from 'durable-turn/level';
import { callContext, crashMatrix, ledger, scriptedModel, simulatedClock } from 'durable-turn/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';

type Deps = { charge(key: string, cents: number): Promise<string>; find(key: string): Promise<string | null> };
const pay = tool({
  description: 'Charge the card',
  input: z.object({ cents: z.number() }),
  effect: 'external',
  execute: (input, { deps, idempotencyKey }: ToolContext<Deps>) => deps.charge(idempotencyKey, input.cents),
  reconcile: async (call, { deps }) => {
    const id = await deps.find(call.idempotencyKey);
    return id ? { outcome: 'succeeded', output: id } : { outcome: 'notStarted' };
  },
});

test('a tool alone, no engine', async () => {
  expect(
    await pay.execute(
      { cents: 5 },
      callContext<Deps>({ charge: async (key) => `ch_${key}`, find: async () => null }, { idempotencyKey: 'k' }),
    ),
  ).toBe('ch_k');
});

test('what the model is asked', async () => {
  const model = scriptedModel([{ calls: [{ tool: 'pay', input: { cents: 500 } }] }, 'done']);
  const engine = createTurnEngine<Deps>({
    agent: 't',
    store: memoryStore(),
    model,
    tools: { pay },
    dependencies: () => ({ charge: async () => 'ch_1', find: async () => null }),
    prepareModelCall: (turn) => ({ instructions: `call ${turn.modelCalls}` }),
  });
  const turn = await engine.startTurn({ sessionId: 's', input: 'pay 5', attended: true });
  expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'done' });
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ toolName: 'pay', output: { type: 'text', value: 'ch_1' } }],
  });
});

test('no crash point charges twice or never', { timeout: 120_000 }, async () => {
  const book = ledger();
  const bank = new Map<string, string>();
  const report = await crashMatrix({
    ledger: book,
    points: 'pairs',
    random: 20,
    seed: '42',
    expect: { outcome: 'completed', effects: { pay: 1 } },
    model: () =>
      scriptedModel([
        {
          calls: [
            { tool: 'pay', input: { cents: 500 } },
            { tool: 'pay', input: { cents: 700 } },
          ],
        },
        { fail: 'overloaded' },
        'paid',
      ]),
    createEngine: ({ store, clock, model }) =>
      createTurnEngine<Deps>({
        agent: 't',
        store,
        model,
        clock,
        tools: { pay },
        dependencies: () => ({
          find: async (key) => bank.get(key) ?? null,
          charge: async (key) => {
            bank.set(key, `ch_${bank.size}`);
            book.record('pay', key);
            return bank.get(key)!;
          },
        }),
      }),
    scenario: async (engine) => {
      await engine.recover();
      const turn =
        engine.activeTurn('s') ??
        (await engine.sendMessage({ sessionId: 's', messageId: 'm1', input: 'pay', attended: true })).turn;
      return turn.rest;
    },
  });
  expect(report.doubled, String(report)).toEqual({});
  expect(report.lost, String(report)).toEqual({});
});

test('an approval is still there three days and two deploys later', async () => {
  const clock = simulatedClock();
  const store = memoryStore();
  const open = () =>
    createTurnEngine<Deps>({
      agent: 't',
      store,
      clock,
      tools: { pay: { ...pay, approval: 'required', unattended: 'park' } },
      dependencies: () => ({ charge: async () => 'ch', find: async () => null }),
      model: scriptedModel((_request, n) => (n === 0 ? { calls: [{ tool: 'pay', input: { cents: 1 } }] } : 'ok')),
      limits: { approvalMs: Number.POSITIVE_INFINITY },
    });
  let engine = open();
  expect((await (await engine.startTurn({ sessionId: 's', input: 'x', attended: true })).rest).status).toBe('parked');
  for (const _deploy of [1, 2]) {
    await engine.close({ graceMs: 0 });
    await clock.advance(36 * 3600_000);
    engine = open();
    await engine.recover();
  }
  const [approval] = await engine.approvals();
  expect(await engine.decideApproval(approval!.id, { allow: true, by: 'user-1' })).toBe('applied');
  expect(await engine.activeTurn('s')!.outcome).toMatchObject({ status: 'completed' });
});
