// What users write with the test runner of Node.
import assert from 'node:assert';
import { test } from 'node:test';
import { memoryStore } from 'durable-turn/level';
import { testTurnStore } from 'durable-turn/testing';
import { guesses, looks, payments } from './agent.mjs';

testTurnStore({ test, factory: async () => memoryStore() });

test('no crash point pays twice or never', async () => {
  const report = await payments(looks);
  assert.deepEqual([report.doubled, report.lost, report.failures], [{}, {}, 0], String(report));
});

test('a tool that guesses is caught', async () => {
  assert.ok((await payments(guesses)).doubled.pay > 0);
});
