// The table that answers, for each tool: what happens if the turn that called it is resumed?
import { expect, it } from 'vitest';
import { describeTools, jsonSchema, type Tool } from '../../src/index.js';

const tool = (more: Partial<Tool<object>> = {}): Tool<object> => ({
  description: 'does something',
  input: jsonSchema({ type: 'object' }),
  execute: () => null,
  ...more,
});
const reconcile: NonNullable<Tool<object>['reconcile']> = async () => ({ outcome: 'unknown' });

it.each<[string, Partial<Tool<object>>, object]>([
  ['a read', { effect: 'none' }, { effect: 'none', ifResumed: 'runs again' }],
  ['a put', { effect: 'idempotent' }, { effect: 'idempotent', ifResumed: 'runs again with the same key' }],
  ['a send', {}, { effect: 'external', ifResumed: 'waits for a person to say' }],
  ['a send that can be looked up', { reconcile }, { effect: 'external', ifResumed: 'asks reconcile' }],
  [
    'a shell',
    { effect: () => 'none' },
    { effect: 'by input', ifResumed: 'by its effect: runs again, or waits for a person to say' },
  ],
  [
    'a shell that can be looked up',
    { effect: () => 'none', reconcile },
    { effect: 'by input', ifResumed: 'by its effect: runs again, or asks reconcile' },
  ],
])('%s says what a resume does with it', (_name, more, expected) => {
  expect(describeTools({ it: tool(more) })).toMatchObject([{ tool: 'it', ...expected }]);
});

it.each<[Tool<object>['approval'], string]>([
  [undefined, 'never'],
  ['never', 'never'],
  ['required', 'required'],
  [{ deny: 'no' }, 'denied'],
  [() => 'never', 'by input'],
])('approval %o reads as %s', (approval, expected) => {
  const more = approval === undefined ? {} : { approval };
  expect(describeTools({ it: tool(more) })[0]?.approval).toBe(expected);
});

it('says what happens where nobody is there', () => {
  const described = describeTools({ a: tool(), b: tool({ unattended: 'park' }) });
  expect(described.map((row) => row.unattended)).toEqual(['refuse', 'park']);
});

it('is a table: the same flat columns for every tool, in the order of the set, and empty for none', () => {
  const rows = describeTools({ z: tool(), a: tool({ effect: 'none' }) });
  expect(rows.map((row) => row.tool)).toEqual(['z', 'a']);
  for (const row of rows) {
    expect(Object.keys(row)).toEqual(['tool', 'effect', 'approval', 'unattended', 'ifResumed']);
    for (const value of Object.values(row)) expect(typeof value).toBe('string');
  }
  expect(describeTools({})).toEqual([]);
});
