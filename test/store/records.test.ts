// The bytes of one record: what goes in comes out, and nothing else ever does.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RECORD_BYTES } from '../../machines/index.js';
import { KINDS } from '../../src/store/keys.js';
import { decodeRecord, encodeRecord } from '../../src/store/records.js';

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

describe('records', () => {
  it('I14: decode(encode(x)) is x for every JSON value, with the revision that wrote it', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.string(), fc.nat(2 ** 40), json, (kind, key, revision, value) => {
        const record = encodeRecord(kind, key, revision, value, 'value');
        expect(decodeRecord(kind, key, record)).toEqual({ ok: true, revision, value });
      }),
    );
  });

  it.each([
    ['false', false],
    ['zero', 0],
    ['empty text', ''],
    ['null', null],
    ['an empty list', []],
    ['an empty object', {}],
    ['NUL and line separators', 'a\u0000b\u2028c'],
    ['astral characters', '\u{1F600}\u{10FFFF}'],
    ['the largest number', Number.MAX_VALUE],
    ['deep nesting', Array.from({ length: 400 }).reduce((inner) => [inner], 1)],
    ['a wide object', Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]))],
    ['a megabyte of text', '\u00e4'.repeat(1 << 19)],
  ])('I14: %s comes back as it was', (_name, value) => {
    const decoded = decodeRecord('head', 'k', encodeRecord('head', 'k', 1, value, 'value'));
    expect(decoded).toEqual({ ok: true, revision: 1, value });
  });

  it('I14: a key named __proto__ stays data', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
    const decoded = decodeRecord('head', 'k', encodeRecord('head', 'k', 1, value, 'value'));
    if (!decoded.ok) throw new Error(decoded.damage);
    expect(Object.hasOwn(decoded.value as object, '__proto__')).toBe(true);
    expect((decoded.value as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(decoded.value)).toBe(JSON.stringify(value));
  });

  it.each([
    ['undefined', { a: [1, { b: undefined }] }, 'value.a[1].b'],
    ['NaN', { a: Number.NaN }, 'value.a'],
    ['infinity', [Number.POSITIVE_INFINITY], 'value[0]'],
    ['minus zero', { a: -0 }, 'value.a'],
    ['a date', { a: new Date(0) }, 'value.a'],
    ['a map', new Map(), 'value'],
    ['bytes', { a: Buffer.from('x') }, 'value.a'],
    ['a function', { a: () => {} }, 'value.a'],
    ['a big integer', { a: 1n }, 'value.a'],
    ['a hole', { a: Object.assign([1], { 2: 3 }) }, 'value.a[1]'],
    ['a lone surrogate', { a: '\ud800' }, 'value.a'],
    ['a key with a lone surrogate', { '\ud800': 1 }, 'value'],
    ['toJSON', { a: { toJSON: () => 1 } }, 'value.a'],
    ['a symbol key', { a: { [Symbol('s')]: 1 } }, 'value.a'],
    ['too deep a nesting', Array.from({ length: 600 }).reduce((inner) => [inner], 1), 'value'],
  ])('I14: %s is refused, with its path', (_name, value, path) => {
    expect(() => encodeRecord('head', 'k', 1, value, 'value')).toThrow(
      expect.objectContaining({ code: 'TURN_INVALID_VALUE', message: expect.stringContaining(path) }),
    );
  });

  it('I14: a cycle is refused', () => {
    const value: { self?: unknown } = {};
    value.self = value;
    expect(() => encodeRecord('head', 'k', 1, value, 'value')).toThrow(
      expect.objectContaining({ code: 'TURN_INVALID_VALUE' }),
    );
  });

  it('refuses a record over the bound before it is made', () => {
    const value = 'x'.repeat(RECORD_BYTES);
    expect(() => encodeRecord('message', 'k', 1, value, 'messages[3]')).toThrow(
      expect.objectContaining({ code: 'TURN_TOO_LARGE', message: expect.stringContaining('messages[3]') }),
    );
  });

  it('has the bytes that its layout says, so that what earlier releases wrote can be read', () => {
    const record = encodeRecord('head', 'k', 7, { a: 1 }, 'value');
    expect(record.toString('hex')).toBe('010000000000079958369b7b2261223a317d');
  });

  it('leaves the bytes it reads as they are, whole or damaged: they may be set aside or copied', () => {
    const record = encodeRecord('message', 's!0!1', 2 ** 33 + 5, { text: 'hello' }, 'value');
    for (let at = 0; at < record.length; at += 1) {
      const given = Buffer.from(record);
      given[at] = (given[at] as number) ^ 0x5a;
      const before = Buffer.from(given);
      decodeRecord('message', 's!0!1', given);
      expect(given, `byte ${at}`).toEqual(before);
    }
    const before = Buffer.from(record);
    decodeRecord('message', 's!0!1', record);
    expect(record).toEqual(before);
  });

  it('sees every single flipped bit', () => {
    const record = encodeRecord('message', 's!0!1', 7, { text: 'hello, world', list: [1, 2, 3] }, 'value');
    for (let bit = 0; bit < record.length * 8; bit += 1) {
      const flipped = Buffer.from(record);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeRecord('message', 's!0!1', flipped).ok, `bit ${bit}`).toBe(false);
    }
  });

  it('sees every cut and every byte too many', () => {
    const record = encodeRecord('message', 'k', 7, { text: 'hello' }, 'value');
    for (let length = 0; length < record.length; length += 1) {
      expect(decodeRecord('message', 'k', record.subarray(0, length)).ok, `${length} bytes`).toBe(false);
    }
    expect(decodeRecord('message', 'k', Buffer.concat([record, Buffer.from(' ')])).ok).toBe(false);
  });

  it('does not accept a record under another key or in another sublevel', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), json, (key, other, value) => {
        fc.pre(key !== other);
        const record = encodeRecord('call', key, 1, value, 'value');
        expect(decodeRecord('call', other, record).ok).toBe(false);
        expect(decodeRecord('review', key, record).ok).toBe(false);
      }),
    );
  });

  it('I12: no bytes make it throw, and random bytes are no record', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, versioned) => {
        const record = Buffer.from(bytes);
        if (versioned && record.length > 0) record[0] = 1;
        expect(decodeRecord('head', 'k', record).ok).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});
