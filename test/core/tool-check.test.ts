// Why: a field that is wrong and accepted is a tool that does something else than it says: a `reconcile` that is no
// function is never asked, and its call waits for a person for ever.
import { expect, it } from 'vitest';
import { checkTools } from '../../src/core/tool-check.js';
import { describeTools, jsonSchema, type Tool, tool } from '../../src/index.js';

const right: Tool<unknown> = {
  description: 'pays',
  input: jsonSchema<unknown>({ type: 'object' }),
  execute: () => null,
};

it('takes every right value of every field', () => {
  const values: readonly Partial<Tool<unknown>>[] = [
    { effect: 'none', approval: 'never', unattended: 'refuse', timeoutMs: 1, exclusive: true, strict: true },
    { effect: 'idempotent', approval: 'required', unattended: 'park', timeoutMs: 0.5, exclusive: false, strict: false },
    { effect: 'external', approval: { deny: 'no' }, reconcileAfterMs: 0, formerNames: ['old'], inputExamples: [{}] },
    { effect: () => 'none', approval: () => 'never', timeoutMs: () => 1, exclusive: () => 'x' },
    { idempotencyKey: () => 'k', modelOutput: () => ({ type: 'text', value: 'x' }), providerOptions: { a: { b: 1 } } },
    { reconcile: async () => ({ outcome: 'unknown' }) },
  ];
  for (const value of values) expect(() => checkTools({ pay: { ...right, ...value } })).not.toThrow();
});

it.each<[object, RegExp]>([
  [{ reconcile: 'yes' }, /\.reconcile must be a function, not "yes"\.$/],
  [{ reconcile: null }, /\.reconcile must be a function, not null/],
  [{ reconcileAfterMs: '5' }, /\.reconcileAfterMs must be ms, 0 to \d+, not "5"/],
  [{ reconcileAfterMs: -1 }, /\.reconcileAfterMs/],
  [{ idempotencyKey: 'k' }, /\.idempotencyKey must be a function/],
  [{ modelOutput: { type: 'text' } }, /\.modelOutput must be a function/],
  [{ exclusive: 'card' }, /\.exclusive must be true or false, or a function of the input, not "card"/],
  [{ effect: 'write' }, /\.effect must be 'none', 'idempotent' or 'external', or a function.*not "write"/],
  [{ approval: true }, /\.approval must be 'never', 'required' or \{ deny: 'why' \}, or a function.*not true/],
  [{ approval: { deny: 5 } }, /\.approval .*not \{"deny":5\}/],
  [{ unattended: true }, /\.unattended must be 'refuse' or 'park', not true/],
  [{ timeoutMs: 0 }, /\.timeoutMs must be ms of more than 0, or a function/],
  [{ timeoutMs: '5' }, /\.timeoutMs .*not "5"/],
  [{ formerNames: 'old' }, /\.formerNames must be an array of names/],
  [{ formerNames: [5] }, /\.formerNames/],
  [{ strict: 'yes' }, /\.strict/],
  [{ inputExamples: {} }, /\.inputExamples must be/],
  [{ providerOptions: { anthropic: 5 } }, /\.providerOptions must be an object of options by provider/],
  [{ description: 5 }, /\.description/],
  [{ execute: undefined }, /\.execute/],
  [{ reconsile: () => null }, /\.reconsile is unknown; there are .*reconcile/],
])('%j is refused by every way in, with the name of the field', (wrong, message) => {
  const given = { ...right, ...wrong } as Tool<unknown>;
  for (const make of [() => checkTools({ pay: given }), () => describeTools({ pay: given }), () => tool(given)]) {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  }
  expect(() => checkTools({ pay: given })).toThrow(/^tools\.pay\./);
  expect(() => tool(given)).toThrow(/^tool\./);
});

it('tool() asks no schema for its JSON Schema: one may name what is not defined yet', () => {
  const lazy = {
    '~standard': {
      version: 1 as const,
      vendor: 'lazy',
      validate: (value: unknown) => ({ value }),
      jsonSchema: {
        input: (): never => {
          throw new ReferenceError('not defined yet');
        },
      },
    },
  };
  expect(() => tool({ ...right, input: lazy })).not.toThrow();
  expect(() => checkTools({ pay: { ...right, input: lazy } })).toThrow(/^tools\.pay\.input cannot be told/);
});
