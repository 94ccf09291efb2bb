// The table of an engine's own tools.
import { expect, it } from 'vitest';
import { describeTools } from '../../src/index.js';
import { act, createWorld, look, needy } from './world.js';

it('an engine describes its own tools, as the exported function does', () => {
  const tools = { read: look(() => 1), deploy: act(() => 1, needy) };
  expect(createWorld().boot({ tools }).describeTools()).toEqual(describeTools(tools));
  expect(createWorld().boot().describeTools()).toEqual([]);
});

it('tools that are a function of the turn cannot be described without one, and the error says what to do', () => {
  const engine = createWorld().boot({ tools: () => ({}) });
  expect(() => engine.describeTools()).toThrow(/describeTools\(set\)/);
});
