// Does a turn go in circles? A pure judgement over its last calls.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LOOP_WINDOW } from '../../machines/index.js';
import { traceOf } from '../../src/core/loop-detector.js';
import { type CallTrace, detectLoop } from '../../src/index.js';
import { callOf } from './arbitraries.js';

type Made = Partial<CallTrace>;
const read = (input: string, outcome: string, more: Made = {}): CallTrace => ({
  toolName: 'read',
  effect: 'none',
  identity: `read ${input}`,
  outcome,
  failed: false,
  ...more,
});
const write = (input: string, outcome: string, more: Made = {}): CallTrace => ({
  ...read(input, outcome),
  toolName: 'write',
  effect: 'external',
  identity: `write ${input}`,
  ...more,
});
const times = (count: number, make: (n: number) => CallTrace): CallTrace[] =>
  Array.from({ length: count }, (_, n) => make(n));
const verdict = (calls: readonly CallTrace[]): string => detectLoop(calls).verdict;
const fails = { failed: true };

it.each<[string, CallTrace[], 'continue' | 'nudge' | 'stop']>([
  ['no calls', [], 'continue'],
  ['one call', [read('a', '1')], 'continue'],
  ['a read twice with the same outcome', times(2, () => read('a', '1')), 'continue'],
  ['a read three times with the same outcome', times(3, () => read('a', '1')), 'nudge'],
  ['a read five times with the same outcome', times(5, () => read('a', '1')), 'stop'],
  ['a read twenty times while its outcome changes', times(20, (n) => read('a', `${n}`)), 'continue'],
  ['reads of twenty things that give the same', times(20, (n) => read(`${n}`, '')), 'continue'],
  ['a write three times, whatever came of it', times(3, (n) => write('a', `${n}`)), 'nudge'],
  ['a write five times, whatever came of it', times(5, (n) => write('a', `${n}`)), 'stop'],
  ['an idempotent write five times', times(5, (n) => write('a', `${n}`, { effect: 'idempotent' })), 'stop'],
  ['writes of twenty things', times(20, (n) => write(`${n}`, 'ok')), 'continue'],
  ['a failing call three times, whatever the error says', times(3, (n) => read('a', `error ${n}`, fails)), 'nudge'],
  ['a failing call five times', times(5, (n) => read('a', `error ${n}`, fails)), 'stop'],
  ['one tool that fails on five things', times(5, (n) => read(`${n}`, 'e', fails)), 'nudge'],
  ['one tool that fails on eight things', times(8, (n) => read(`${n}`, 'e', fails)), 'stop'],
  ['failures with a success between them', times(12, (n) => read(`${n}`, 'e', { failed: n % 4 !== 0 })), 'continue'],
  ['failures of many tools', times(9, (n) => read(`${n}`, 'e', { failed: true, toolName: `t${n % 3}` })), 'continue'],
  ['ping-pong of three rounds', times(6, (n) => read(n % 2 ? 'a' : 'b', '=')), 'nudge'],
  ['ping-pong of five rounds', times(10, (n) => read(n % 2 ? 'a' : 'b', '=')), 'stop'],
  ['ping-pong whose outcomes change', times(20, (n) => read(n % 2 ? 'a' : 'b', `${n}`)), 'continue'],
  [
    'write and read in turns, where the read changes',
    times(20, (n) => (n % 2 ? read('a', `${n}`) : write(`${n}`, 'ok'))),
    'continue',
  ],
])('%s: %s', (_name, calls, expected) => {
  expect(verdict(calls)).toBe(expected);
});

it('a nudge and a stop say why, with the tool a person has to look at', () => {
  const cases = [
    times(5, () => read('a', '1')),
    times(3, (n) => write('a', `${n}`)),
    times(5, (n) => read(`${n}`, 'e', fails)),
    times(6, (n) => read(n % 2 ? 'a' : 'b', '=')),
  ];
  for (const calls of cases) {
    const judged = detectLoop(calls);
    expect(judged).toMatchObject({ reason: expect.stringContaining(calls.at(-1)?.toolName as string) });
  }
});

it('the latest call decides: what went in circles before and does so no more is forgiven', () => {
  expect(verdict([...times(5, () => read('a', '1')), read('b', '2')])).toBe('continue');
});

it('the same call in between others counts as well', () => {
  const calls = times(9, (n) => (n % 2 === 0 ? write('same', 'x') : read(`${n}`, `${n}`)));
  expect(verdict(calls)).toBe('stop');
});

const trace = fc.record<CallTrace>({
  toolName: fc.constantFrom('a', 'b'),
  effect: fc.constantFrom('none', 'idempotent', 'external'),
  identity: fc.constantFrom('1', '2', '3'),
  outcome: fc.constantFrom('x', 'y'),
  failed: fc.boolean(),
});

it('only the last calls of the window count', () => {
  fc.assert(
    fc.property(fc.array(trace, { maxLength: 60 }), (calls) => {
      expect(detectLoop(calls)).toEqual(detectLoop(calls.slice(-LOOP_WINDOW)));
    }),
  );
});

it('it is a function of its input: the same calls give the same verdict, and are left as they are', () => {
  fc.assert(
    fc.property(fc.array(trace, { maxLength: 30 }), (calls) => {
      const before = structuredClone(calls);
      expect(detectLoop(calls)).toEqual(detectLoop(structuredClone(calls)));
      expect(calls).toEqual(before);
    }),
  );
});

it('calls that are all different and succeed are never a loop, whatever they are', () => {
  fc.assert(
    fc.property(fc.array(trace, { maxLength: 40 }), (calls) => {
      const different = calls.map((call, n) => ({ ...call, identity: `${n}`, failed: false }));
      expect(detectLoop(different)).toEqual({ verdict: 'continue' });
    }),
  );
});

it('one more of the same never makes a verdict milder', () => {
  const rank = { continue: 0, nudge: 1, stop: 2 };
  fc.assert(
    fc.property(trace, fc.integer({ min: 1, max: 19 }), (call, count) => {
      const less = detectLoop(times(count, () => call)).verdict;
      const more = detectLoop(times(count + 1, () => call)).verdict;
      expect(rank[more]).toBeGreaterThanOrEqual(rank[less]);
    }),
  );
});

it('equal inputs are one call whatever the order of their keys, and equal outputs one outcome', () => {
  const call = (input: object, value: string) =>
    traceOf(callOf('c', { input: input as never, state: 'succeeded', output: { type: 'text', value } }));
  expect(call({ a: 1, b: 2 }, 'x')).toEqual(call({ b: 2, a: 1 }, 'x'));
  expect(call({ a: 1 }, 'x').identity).not.toBe(call({ a: 2 }, 'x').identity);
  expect(call({ a: 1 }, 'x').outcome).not.toBe(call({ a: 1 }, 'y').outcome);
});
