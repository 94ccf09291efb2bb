// Why: ids contain what they belong to, so that no look-up needs another index. An id that can be read in two ways
// would lead to the records of somebody else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ID_BYTES } from '../../machines/index.js';
import { callIdOf, checkId, encodeId, sessionOfTurn, turnIdOf, turnOfCall } from '../../src/core/ids.js';
import { text } from './arbitraries.js';

const id = fc.oneof(
  text.filter((given) => given !== ''),
  fc.constantFrom('a', 'a.b', 'a/1', '..', '%2E', 'ä', '__proto__', ' ', '\0', '😀', "!'()*~-_"),
);
/** What the injected source of ids gives. */
const unique = fc.stringMatching(/^[\w-]{1,24}$/);

describe('an encoded id', () => {
  it('is made of letters, digits, - _ and % only, so that no key takes a part of it for a separator', () => {
    fc.assert(
      fc.property(id, (given) => {
        expect(encodeId(given)).toMatch(/^[\w%-]+$/);
      }),
    );
  });

  it('is another one for another id, and can be read again', () => {
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(encodeId(a) === encodeId(b)).toBe(a === b);
        expect(decodeURIComponent(encodeId(a))).toBe(a);
      }),
    );
  });
});

describe('a turn id', () => {
  it('contains its session id, whatever characters that has', () => {
    fc.assert(
      fc.property(id, unique, (session, turn) => {
        expect(sessionOfTurn(turnIdOf(session, turn))).toBe(session);
      }),
    );
  });

  it('is another one for another session or turn', () => {
    fc.assert(
      fc.property(id, unique, id, unique, (s1, t1, s2, t2) => {
        expect(turnIdOf(s1, t1) === turnIdOf(s2, t2)).toBe(s1 === s2 && t1 === t2);
      }),
    );
  });

  it.each([
    '',
    '.',
    'a',
    'a.',
    '.a',
    'a.b.c',
    'ä.t',
    'a b.t',
    'a.t t',
    'a.ä',
    '%.t',
    '%2.t',
    '%E4.t',
    '%2e.t',
    '%61.t',
  ])('is not what %j is', (foreign) => {
    expect(sessionOfTurn(foreign)).toBeUndefined();
  });
});

describe('a call id', () => {
  const response = fc.nat(200_000);
  const index = fc.nat(20_000);

  it('contains its turn id', () => {
    fc.assert(
      fc.property(id, unique, response, index, (session, turn, r, i) => {
        const turnId = turnIdOf(session, turn);
        expect(turnOfCall(callIdOf(turnId, r, i))).toBe(turnId);
      }),
    );
  });

  it('is another one for another answer or place in it: ids of the provider repeat, these do not', () => {
    fc.assert(
      fc.property(response, index, response, index, (r1, i1, r2, i2) => {
        expect(callIdOf('s.t', r1, i1) === callIdOf('s.t', r2, i2)).toBe(r1 === r2 && i1 === i2);
      }),
    );
    expect(callIdOf('s.t', 1, 23)).not.toBe(callIdOf('s.t', 12, 3));
  });

  it('sorts as the calls were made', () => {
    const ids = [callIdOf('s.t', 2, 9), callIdOf('s.t', 2, 10), callIdOf('s.t', 10, 0), callIdOf('s.t', 99_999, 0)];
    expect(ids.toSorted()).toEqual(ids);
  });

  it.each([
    '',
    's.t',
    's.t.0.0',
    's.t.00000',
    's.t.00000.000',
    's.t.00000.0000.0000',
    's.t.000000.0000',
    's.t.0000a.0000',
    's.t.00000.0000\n',
    's s.t.00000.0000',
    't.00000.0000',
  ])('is not what %j is', (foreign) => {
    expect(turnOfCall(foreign)).toBeUndefined();
  });
});

describe('an id that the application chose', () => {
  it('is refused as misuse, by the name of its field and with the reason', () => {
    expect(() => checkId('', 'sessionId')).toThrow(new TypeError('sessionId must be a non-empty string.'));
    expect(() => checkId(7, 'messageId')).toThrow(/^messageId must be a non-empty string/);
    expect(() => checkId(null, 'agent')).toThrow(TypeError);
    expect(() => checkId('a\ud800', 'routeKey')).toThrow(/^routeKey has a lone surrogate/);
  });

  it('may be as long as a key takes, counted in bytes', () => {
    expect(() => checkId('x'.repeat(ID_BYTES), 'sessionId')).not.toThrow();
    expect(() => checkId('x'.repeat(ID_BYTES + 1), 'sessionId')).toThrow(/^sessionId is longer than 512 bytes/);
    expect(() => checkId('€'.repeat(170), 'sessionId')).not.toThrow();
    expect(() => checkId('€'.repeat(171), 'sessionId')).toThrow(/512 bytes/);
  });

  it('may hold any character', () => {
    fc.assert(
      fc.property(id, (given) => {
        expect(() => checkId(given, 'sessionId')).not.toThrow();
      }),
    );
  });
});
