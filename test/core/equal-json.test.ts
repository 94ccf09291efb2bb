// Why: two calls are identical when their canonical inputs are, and idempotency keys are made of that text. A text that
// depends on the order of keys pays twice; one that two values share does not pay at all.
// The one of Node, because vitest's takes a key named `constructor` for a class.
import { deepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, equalJson, type Json } from '../../src/core/json.js';
import { json, smallJson } from './arbitraries.js';

/** The same value with the keys of its objects the other way round. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, item]) => [name, reversed(item as Json)]),
  );
}

describe('canonicalJson', () => {
  it('does not depend on the order of keys', () => {
    expect(canonicalJson({ b: 1, a: { d: 2, c: 3 } })).toBe('{"a":{"c":3,"d":2},"b":1}');
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('is another text for another value', () => {
    fc.assert(
      fc.property(smallJson, smallJson, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(isDeepStrictEqual(a, b));
      }),
      { numRuns: 500 },
    );
  });

  it('is the value itself, as JSON', () => {
    fc.assert(
      fc.property(json, (value) => {
        deepStrictEqual(JSON.parse(canonicalJson(value)), value);
      }),
    );
  });
});

describe('equalJson', () => {
  it('holds for equal values, and for no others', () => {
    fc.assert(
      fc.property(smallJson, smallJson, (a, b) => {
        expect(equalJson(a, b)).toBe(isDeepStrictEqual(a, b));
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(json, (value) => {
        expect(equalJson(value, reversed(value))).toBe(true);
      }),
    );
  });

  it('tells an array from an object, and an own property from an inherited one', () => {
    expect([equalJson([], {}), equalJson({ constructor: 1 }, { other: 1 }), equalJson({ a: undefined }, {})]).toEqual([
      false,
      false,
      false,
    ]);
    expect(equalJson(JSON.parse('{"__proto__":{}}'), { a: {} })).toBe(false);
  });
});
