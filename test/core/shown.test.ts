// Why: "not 5" for the text "5" sends whoever reads it looking for the wrong mistake. Whatever was given can be shown.
import { expect, it } from 'vitest';
import { shown } from '../../src/core/shown.js';

it('a value is shown as JSON, and one that has none is named', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const values: readonly (readonly [unknown, string])[] = [
    ['5', '"5"'],
    [5, '5'],
    [true, 'true'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
    [5n, '5'],
    [{ deny: 5, why: undefined }, '{"deny":5}'],
    [['a', 1], '["a",1]'],
    [() => 1, 'a function'],
    [Promise.resolve('never'), '[object Promise]'],
    [proxy, 'a value that cannot be read'],
  ];
  for (const [value, expected] of values) expect(shown(value)).toBe(expected);
});

it('what is long is cut, and never in the middle of a character', () => {
  const text = shown('🦆'.repeat(10_000));
  expect(text.length).toBeLessThan(90);
  expect(text.isWellFormed()).toBe(true);
  expect(shown('x'.repeat(10_000))).toMatch(/^"x{79}…$/);
});

it('a value that has no end as JSON costs nothing to show', () => {
  let value: unknown = 'x'.repeat(1_000);
  for (let level = 0; level < 60; level += 1) value = [value, value];
  expect(shown(value)).toBe('[object Array]');
});
