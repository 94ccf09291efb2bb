// Keys: different things never share one, and the order of keys is the order of what they name.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callIdOf, encodeId, turnIdOf } from '../../src/core/ids.js';
import * as keys from '../../src/store/keys.js';

const id = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed()),
  fc.constantFrom(
    'a',
    'a/1',
    'a!0000000000',
    'a!',
    'a.b',
    'a%2E',
    '!',
    '%',
    '\u0000',
    '\uffff',
    '\u00e9',
    'e\u0301',
    'A',
  ),
);
const within = (key: string, range: keys.Range) => key >= range.gte && key < range.lt;

describe('keys', () => {
  it('use only characters that no separator and no sublevel uses', () => {
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(keys.headKey(a)).toMatch(/^[\w%-]+$/);
        expect(keys.seenKey(a, b)).toMatch(/^[\w%-]+![\w%-]+$/);
        expect(keys.markerKey(a)).toMatch(/^[0-9a-f]{4}[\w%-]+$/);
      }),
    );
  });

  it('are different for different ids, and stay within the range of their own session', () => {
    fc.assert(
      fc.property(id, id, fc.nat(5), fc.nat(5), (a, b, epoch, seq) => {
        fc.pre(a !== b);
        expect(keys.headKey(a)).not.toBe(keys.headKey(b));
        expect(keys.markerKey(a)).not.toBe(keys.markerKey(b));
        expect(within(keys.messageKeys(a, epoch)(seq), keys.messagesOfSession(a))).toBe(true);
        expect(within(keys.messageKeys(a, epoch)(seq), keys.messagesOfEpoch(a, epoch))).toBe(true);
        expect(within(keys.messageKeys(a, epoch)(seq), keys.messagesOfEpoch(a, epoch + 1))).toBe(false);
        expect(within(keys.messageKeys(a, epoch)(seq), keys.messagesOfSession(b))).toBe(false);
        expect(within(keys.inboxKey(a, seq, b), keys.inboxOfSession(a))).toBe(true);
        expect(within(keys.inboxKey(a, seq, a), keys.inboxOfSession(b))).toBe(false);
        expect(within(keys.reviewKey(a, b), keys.reviewsOfSession(b))).toBe(false);
        expect(within(keys.quarantineKey(a, 0, 'head', keys.headKey(a)), keys.quarantineOfSession(a))).toBe(true);
        expect(within(keys.quarantineKey(a, 0), keys.quarantineOfSession(b))).toBe(false);
      }),
    );
  });

  it('find the calls of one turn and of no other', () => {
    fc.assert(
      fc.property(id, id, fc.nat(300), fc.nat(300), (a, b, response, index) => {
        fc.pre(a !== b);
        const turn = turnIdOf(a, 'u');
        const key = keys.callKey(callIdOf(turn, response, index));
        expect(within(key, keys.callsOfTurn(turn))).toBe(true);
        expect(within(key, keys.callsOfTurn(turnIdOf(b, 'u')))).toBe(false);
        expect(within(key, keys.callsOfTurn(turnIdOf(a, 'v')))).toBe(false);
        expect(within(key, keys.callsOfTurn(turnIdOf(a, 'u1')))).toBe(false);
      }),
    );
  });

  it('find the calls, outcomes and seen input of one session and of no other, however alike their ids are', () => {
    // Ids that are one another's beginning, plain and as they are once encoded, and once more.
    const alike = fc
      .tuple(id, fc.constantFrom('', '.', '.b', '%2E', '%2Eb', '%252E', '%', '!', '0', '\u0000', '~'), fc.boolean())
      .map(([base, more, encoded]) => [base, encoded ? encodeId(`${base}${more}`) : `${base}${more}`] as const);
    fc.assert(
      fc.property(fc.oneof(alike, fc.tuple(id, id)), id, fc.nat(300), ([a, b], message, n) => {
        fc.pre(a !== b);
        for (const [own, other] of [
          [a, b],
          [b, a],
        ] as const) {
          const turn = turnIdOf(own, 'u-_0');
          const call = keys.callKey(callIdOf(turn, n, n));
          expect(within(call, keys.callsOfSession(own))).toBe(true);
          expect(within(call, keys.callsOfSession(other))).toBe(false);
          expect(within(keys.outcomeKey(turn), keys.outcomesOfSession(own))).toBe(true);
          expect(within(keys.outcomeKey(turn), keys.outcomesOfSession(other))).toBe(false);
          expect(within(keys.seenKey(own, message), keys.seenOfSession(own))).toBe(true);
          expect(within(keys.seenKey(own, message), keys.seenOfSession(other))).toBe(false);
          expect(keys.sessionOfDotted(turn)).toBe(own);
          expect(keys.sessionOfDotted(callIdOf(turn, n, n))).toBe(own);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('tell the garbage record of a whole session from those of its epochs', () => {
    fc.assert(
      fc.property(id, id, fc.nat(1e9), (a, b, epoch) => {
        expect(keys.sessionOfRemoval(keys.removalKey(a))).toBe(a);
        expect(keys.epochOfGarbage(keys.removalKey(a))).toBeUndefined();
        expect(keys.sessionOfRemoval(keys.garbageKey(a, epoch))).toBeUndefined();
        expect(within(keys.garbageKey(a, epoch), keys.garbageOfEpochs(a))).toBe(true);
        expect(within(keys.removalKey(b), keys.garbageOfEpochs(a))).toBe(false);
        expect(within(keys.garbageKey(b, epoch), keys.garbageOfEpochs(a))).toBe(a === b);
      }),
    );
  });

  it('sort by number', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), (a, b) => {
        fc.pre(a < b);
        expect(keys.messageKeys('s', 0)(a) < keys.messageKeys('s', 0)(b)).toBe(true);
        expect(keys.messageKeys('s', a)(b) < keys.messageKeys('s', b)(a)).toBe(true);
        expect(keys.inboxKey('s', a, 'z') < keys.inboxKey('s', b, 'a')).toBe(true);
      }),
    );
  });

  it('give back the session they were made of', () => {
    fc.assert(
      fc.property(id, id, fc.nat(1e9), (a, b, n) => {
        expect(keys.sessionOfMarker(keys.markerKey(a))).toBe(a);
        expect(keys.sessionOfInbox(keys.inboxKey(a, n, b))).toBe(a);
        expect(keys.epochOfGarbage(keys.garbageKey(a, n))).toEqual({ sessionId: a, epoch: n });
      }),
    );
  });

  it('I12: text that is no key of ours names no session, and nothing throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(keys.sessionOfMarker(text)).toBeUndefined();
        expect(keys.sessionOfInbox(text)).toBeUndefined();
        expect(keys.epochOfGarbage(text)).toBeUndefined();
        expect(keys.sessionOfRemoval(text)).toBeUndefined();
        expect(() => keys.sessionOfDotted(text)).not.toThrow();
      }),
    );
  });

  it('refuse an id with a lone surrogate, which would collide with others', () => {
    expect(() => keys.headKey('a\ud800')).toThrow(TypeError);
  });
});
