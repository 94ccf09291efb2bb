// What users write with jest, in its mode for ES modules.
import { expect, test } from '@jest/globals';
import { memoryStore } from 'durable-turn/level';
import { testTurnStore } from 'durable-turn/testing';
import { guesses, looks, payments } from './agent.mjs';

testTurnStore({ test, factory: async () => memoryStore() });

test('no crash point pays twice or never', async () => {
  expect(await payments(looks)).toMatchObject({ doubled: {}, lost: {}, failures: 0 });
}, 60_000);

test('a tool that guesses is caught', async () => {
  expect((await payments(guesses)).doubled.pay).toBeGreaterThan(0);
}, 60_000);
