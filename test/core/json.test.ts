// Why: what is stored has to come back exactly, or be refused before anything is written, with the place that is wrong
// (I14, case C25). A store that changes values without a word loses data that nobody misses until it is needed.
// The one of Node, because vitest's takes a key named `constructor` for a class.
import { deepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TurnError } from '../../src/core/errors.js';
import { asJson, checkJson, copyOf, isLongerThan, type Json, toJson } from '../../src/core/json.js';
import { brokenText, json, key } from './arbitraries.js';

const roundTrip = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function refusalOf(check: () => unknown): string {
  try {
    check();
    return 'accepted';
  } catch (thrown) {
    if (!(thrown instanceof TurnError)) throw thrown;
    expect([thrown.code, thrown.retryable, thrown.message.isWellFormed()]).toEqual(['TURN_INVALID_VALUE', false, true]);
    return thrown.message.replace('; only JSON values can be stored.', '');
  }
}

const refused = (value: unknown): string => refusalOf(() => checkJson(value, '$'));

class Point {
  x = 1;
}
const cycle: Record<string, unknown> = {};
cycle.self = [cycle];
const nested = (levels: number): unknown => {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
};
const throwing = Object.defineProperty({}, 'boom', {
  enumerable: true,
  get: () => {
    throw new Error('no');
  },
});
const resisting = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('no keys');
    },
  },
);
const revoked = (() => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
})();

/** A value that JSON would change or lose, and what is said about it. */
const BAD: readonly (readonly [unknown, string])[] = [
  [undefined, 'undefined'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
  [-0, '-0'],
  [10n, 'a bigint'],
  [Symbol('s'), 'a symbol'],
  [() => 1, 'a function'],
  [new Date(0), 'an object with toJSON()'],
  [new Map([[1, 2]]), 'a Map, not a plain object'],
  [new Set([1]), 'a Set, not a plain object'],
  [/x/, 'a RegExp, not a plain object'],
  [new Error('e'), 'a Error, not a plain object'],
  [new Point(), 'a Point, not a plain object'],
  [new Uint8Array(2), 'a Uint8Array, not a plain object'],
  [new String('boxed'), 'a String, not a plain object'],
  [Object.create({ inherited: 1 }), 'a Object, not a plain object'],
  [Object.create({ __proto__: null, inherited: 1 }), 'a class instance, not a plain object'],
  [{ toJSON: () => 1 }, 'an object with toJSON()'],
  [Object.assign([1], { toJSON: () => 1 }), 'an object with toJSON()'],
  [{ [Symbol('s')]: 1 }, 'an object with symbol keys'],
  [Object.assign([1], { name: 'x' }), 'an array with names'],
  ['abc'.match(/b/), 'an array with names'],
  [new (class Stack extends Array {})(), 'a Stack, not a plain array'],
  ['\ud800', 'text with a lone surrogate'],
  ['a\udc00b', 'text with a lone surrogate'],
  [resisting, 'unreadable (no keys)'],
  [revoked, "unreadable (Cannot perform 'get' on a proxy that has been revoked)"],
];

/** Where a value is planted: inside an array behind some others, or under a key between others. */
type Step = { readonly before: readonly Json[] } | { readonly key: string; readonly others: Json };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ before: fc.array(json, { maxLength: 3 }) }),
  // A function under this name is a fault of what it is in.
  fc.record({ key: key.filter((name) => name !== 'toJSON'), others: json }),
);
function plant(steps: readonly Step[], bad: unknown): { readonly value: unknown; readonly path: string } {
  return steps.reduceRight<{ value: unknown; path: string }>(
    ({ value, path }, at) =>
      'before' in at
        ? { value: [...at.before, value, 'behind'], path: `[${at.before.length}]${path}` }
        : {
            value: Object.fromEntries([
              ['other', at.others],
              [at.key, value],
            ]),
            path: `.${at.key}${path}`,
          },
    { value: bad, path: '' },
  );
}

describe('checkJson', () => {
  // A loop, because it.each prints its values, and some of these resist that.
  for (const [index, [value, what]] of BAD.entries()) {
    it(`refuses value ${index}: it is ${what} (case C25)`, () => {
      expect(refused(value)).toBe(`$ is ${what}`);
    });
  }

  it('names the exact place, however deep the value stands (I14)', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), fc.nat(BAD.length - 1), (steps, index) => {
        const [bad, what] = BAD[index] as (typeof BAD)[number];
        const { value, path } = plant(steps, bad);
        expect(refused(value)).toBe(`$${path} is ${what}`);
      }),
    );
  });

  it('accepts exactly what JSON gives back unchanged (I14)', () => {
    const anything = fc.anything({
      maxDepth: 3,
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    });
    const survives = (value: unknown): boolean => {
      try {
        return isDeepStrictEqual(roundTrip(value), value);
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(fc.oneof(anything, json), (value) => {
        expect(refused(value) === 'accepted').toBe(survives(value));
      }),
      { numRuns: 300 },
    );
  });

  it('accepts false, 0, "", null and other small things, which come back as they were (case C25)', () => {
    const small: Json[] = [
      false,
      0,
      '',
      null,
      true,
      [],
      {},
      'toJSON',
      { toJSON: 'data' },
      { constructor: { name: 1 } },
    ];
    for (const value of small) {
      expect(refused(value)).toBe('accepted');
      deepStrictEqual(roundTrip(value), value);
    }
  });

  it('accepts data under the keys __proto__ and constructor, and they stay data', () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1}}');
    expect(refused(value)).toBe('accepted');
    expect(Object.keys(roundTrip(value) as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it('takes plain values of another realm, and of no prototype, for plain', () => {
    expect(refused(runInNewContext('({ a: [1, { b: null }] })'))).toBe('accepted');
    expect(refused(Object.assign(Object.create(null), { a: 1 }))).toBe('accepted');
    expect(refused(runInNewContext('class Foreign {}; new Foreign()'))).toBe('$ is a Foreign, not a plain object');
  });

  it('refuses a hole like the undefined it reads as', () => {
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested.
    expect(refused([1, , 3])).toBe('$[1] is undefined');
    expect(refused(new Array(2))).toBe('$[0] is undefined');
  });

  it('refuses a cycle where it closes, and lets the same value stand in two places', () => {
    expect(refused(cycle)).toBe('$.self[0] is part of a cycle');
    const shared = { a: 1 };
    expect(refused([shared, shared, { shared }])).toBe('accepted');
  });

  it('refuses what is nested too deep instead of running out of stack', () => {
    expect(refused(nested(500))).toBe('accepted');
    expect(refused(nested(501))).toMatch(/^\$(\[0\]|\.in){500} is nested more than 500 levels deep$/);
    expect(refused(nested(100_000))).toContain('nested more than 500 levels deep');
  });

  it('refuses a hole that a name on the array makes up for in number (I14)', () => {
    for (const hole of [0, 1, 2]) {
      const items = Object.assign([1, 2, 3], { name: 'x' });
      delete items[hole];
      expect(refused(items)).toBe(`$[${hole}] is undefined`);
    }
  });

  it('refuses a getter that throws, and names it', () => {
    expect(refused({ list: [throwing] })).toBe('$.list[0].boom is unreadable (no)');
  });

  it('refuses lone surrogates in keys as in values', () => {
    expect(refused({ a: { 'k\ud800': 1 } })).toBe('$.a.k\ufffd is under a key with a lone surrogate');
    fc.assert(
      fc.property(brokenText, (given) => {
        expect(refused(given) === 'accepted').toBe(given.isWellFormed());
        expect(refused({ [given]: 1 }) === 'accepted').toBe(given.isWellFormed());
      }),
    );
  });

  it('leaves the value untouched', () => {
    fc.assert(
      fc.property(json, (value) => {
        const before = structuredClone(value);
        checkJson(value, '$');
        deepStrictEqual(value, before);
      }),
    );
  });
});

/** A few arrays in memory, 2^levels texts as JSON: `[[x, x], [x, x]]` and so on. */
const shared = (levels: number, text = 'x'.repeat(1_000_000)): unknown => {
  let value: unknown = text;
  for (let level = 0; level < levels; level += 1) value = [value, value];
  return value;
};

describe('a value that is small in memory and has no end as JSON', () => {
  const tooLarge = expect.objectContaining({ code: 'TURN_TOO_LARGE', message: expect.stringContaining('$ has more') });

  it('is refused while it is counted, before a copy of it takes all memory', () => {
    expect(() => toJson(shared(40), '$')).toThrow(tooLarge);
    expect(() => toJson({ deep: [shared(40)] }, '$')).toThrow(tooLarge);
  });

  it('is refused as well where nothing is copied', () => {
    expect(() => checkJson(shared(40), '$')).toThrow(tooLarge);
  });

  it('may be in two places as long as it fits', () => {
    expect(toJson(shared(3), '$')).toEqual(shared(3));
    expect(() => checkJson(shared(15, 'x'), '$')).not.toThrow();
  });
});

describe('toJson', () => {
  it('replaces lone surrogates in values and keys (case C23)', () => {
    expect(toJson({ 'k\ud800': ['a\udc00b', '\ud83d\ude00'] }, '$')).toStrictEqual({ 'k\ufffd': ['a\ufffdb', '😀'] });
  });

  it('drops absent properties and names on arrays, and takes the sign off zero', () => {
    expect(toJson({ a: undefined, b: [-0, Object.assign([1], { name: 'x' })] }, '$')).toStrictEqual({ b: [0, [1]] });
    expect(toJson('abc'.match(/b/), '$')).toStrictEqual(['b']);
  });

  it('keeps a key named __proto__ as data', () => {
    const value = toJson(JSON.parse('{"__proto__":{"a":1}}'), '$') as object;
    expect([Object.keys(value), Object.getPrototypeOf(value)]).toEqual([['__proto__'], Object.prototype]);
  });

  it('refuses two keys that would become one: a value would be lost', () => {
    expect(refusalOf(() => toJson({ '\ud800': 1, '\ud801': 2 }, '$'))).toContain('$.\ufffd is under a key that equals');
    expect(refusalOf(() => toJson({ '\ufffd': 1, '\ud801': 2 }, '$'))).toContain('$.\ufffd is under a key that equals');
  });

  it('refuses what has no JSON value, with the path', () => {
    const repaired = new Set(['undefined under a key', '-0', 'text with a lone surrogate', 'an array with names']);
    for (const [value, what] of BAD.filter(([, word]) => !repaired.has(word) && !word.includes('plain array'))) {
      expect(refusalOf(() => toJson([{ a: [value] }], '$'))).toBe(`$[0].a[0] is ${what}`);
    }
    expect(refusalOf(() => toJson([undefined], '$'))).toBe('$[0] is undefined');
    expect(refusalOf(() => toJson(cycle, '$'))).toBe('$.self[0] is part of a cycle');
  });

  it('gives a value that may be stored, whatever it is given, or refuses it (I14)', () => {
    const given = fc.oneof(fc.anything({ withDate: true, withMap: true, withSparseArray: true }), json, brokenText);
    fc.assert(
      fc.property(given, (value) => {
        let stored: Json | undefined;
        const said = refusalOf(() => {
          stored = toJson(value, '$');
        });
        if (said !== 'accepted') return;
        expect(refused(stored)).toBe('accepted');
        deepStrictEqual(toJson(stored, '$'), stored);
      }),
      { numRuns: 300 },
    );
  });

  it('changes nothing that is in order, and gives a copy', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = toJson(value, '$');
        deepStrictEqual(copy, value);
        expect(sharedParts(copy, value)).toBe(0);
      }),
    );
  });

  it('looks once at a property that gives something else each time: what it takes is what it has checked', () => {
    let asked = 0;
    const changing = Object.defineProperty({}, 'n', {
      enumerable: true,
      get: () => {
        asked += 1;
        return asked === 1 ? 'good' : '\ud800';
      },
    });
    expect(toJson(changing, '$')).toEqual({ n: 'good' });
  });
});

/** Objects and arrays that stand at the same place of both. */
function sharedParts(a: unknown, b: unknown): number {
  if (typeof a !== 'object' || a === null) return 0;
  return Object.keys(a).reduce(
    (sum, name) => sum + sharedParts((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
    a === b ? 1 : 0,
  );
}

describe('asJson', () => {
  it('gives what is in order itself, and repairs the rest as toJson does', () => {
    const inOrder = { a: [1, { b: 'c' }] };
    expect(asJson(inOrder, '$')).toBe(inOrder);
    expect(asJson(null, '$')).toBe(null);
    expect(asJson({ a: 'b\ud800', c: undefined }, '$')).toStrictEqual({ a: 'b\ufffd' });
    expect(refusalOf(() => asJson([() => 1], '$'))).toBe('$[0] is a function');
  });
});

describe('copyOf', () => {
  it('is a copy in every part, of JSON and of what is none', () => {
    fc.assert(
      fc.property(json, (value) => {
        deepStrictEqual(copyOf(value), value);
        expect(sharedParts(copyOf(value), value)).toBe(0);
      }),
    );
    const when = new Date(7);
    expect(copyOf([when, undefined])).toEqual([when, undefined]);
    expect((copyOf([when]) as unknown[])[0]).not.toBe(when);
    expect(copyOf(undefined)).toBe(undefined);
  });
});

describe('isLongerThan', () => {
  it('says what JSON.stringify would say, to the character', () => {
    fc.assert(
      fc.property(fc.oneof(json, fc.string({ unit: 'binary' })), fc.nat(80), (value, more) => {
        const { length } = JSON.stringify(value);
        expect(isLongerThan(value, length)).toBe(false);
        expect(isLongerThan(value, length - 1)).toBe(true);
        expect(isLongerThan(value, length + more)).toBe(false);
      }),
    );
  });

  it('counts what has the longest form: control characters, numbers, names', () => {
    for (const value of ['\u0000'.repeat(100), -1 / 3e300, { ['\u0001'.repeat(50)]: false }] as Json[]) {
      expect(isLongerThan(value, JSON.stringify(value).length - 1)).toBe(true);
    }
  });
});
