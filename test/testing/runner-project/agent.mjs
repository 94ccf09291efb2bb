// An agent and its crash matrix, as a project has it that tests with jest or node:test.
import { createTurnEngine, jsonSchema } from 'durable-turn';
import { crashMatrix, ledger, scriptedModel } from 'durable-turn/testing';

/** Pays once or twice: as it should be, or without looking what became of a payment. */
export function payments(reconcile) {
  const book = ledger();
  const bank = new Map();
  const pay = {
    description: 'Pays.',
    input: jsonSchema({ type: 'object' }),
    effect: 'external',
    execute: async (_input, { idempotencyKey }) => {
      bank.set(idempotencyKey, 'paid');
      await book.record('pay', idempotencyKey);
      return 'paid';
    },
    reconcile: async ({ idempotencyKey }) => reconcile(bank.get(idempotencyKey)),
  };
  return crashMatrix({
    ledger: book,
    expect: { outcome: 'completed', effects: { pay: 1 } },
    model: () => scriptedModel([{ calls: [{ tool: 'pay', input: { cents: 500 } }] }, 'done']),
    createEngine: (world) => createTurnEngine({ agent: 'shop', ...world, tools: { pay } }),
    scenario: async (engine) => {
      await engine.recover();
      const { turn } = await engine.sendMessage({ sessionId: 's', messageId: 'm', input: 'buy', attended: true });
      return turn.rest;
    },
  });
}

export const looks = (found) => (found ? { outcome: 'succeeded', output: found } : { outcome: 'notStarted' });
export const guesses = () => ({ outcome: 'notStarted' });
