// Why: a result that is cut in the middle of a character bricks the session, because the provider refuses the list for
// ever after (case C23). So the cut is asked at every byte.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutText } from '../../src/core/json.js';
import { brokenText, text } from './arbitraries.js';

const bytesOf = (given: string): number => new TextEncoder().encode(given).length;

describe('cutText', () => {
  it('gives well-formed text of at most that many bytes, from the front, and as much as fits (case C23)', () => {
    fc.assert(
      fc.property(fc.oneof(text, brokenText), fc.nat(60), (given, bytes) => {
        const cut = cutText(given, bytes);
        const whole = given.toWellFormed();
        expect(cut.isWellFormed()).toBe(true);
        expect(bytesOf(cut)).toBeLessThanOrEqual(bytes);
        expect(whole.startsWith(cut)).toBe(true);
        const [next] = whole.slice(cut.length);
        if (next !== undefined) expect(bytesOf(cut + next)).toBeGreaterThan(bytes);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['aé€😀', 1, 'a'],
    ['aé€😀', 2, 'a'],
    ['aé€😀', 3, 'aé'],
    ['aé€😀', 5, 'aé'],
    ['aé€😀', 6, 'aé€'],
    ['aé€😀', 9, 'aé€'],
    ['aé€😀', 10, 'aé€😀'],
    ['😀', 0, ''],
    ['', 0, ''],
    ['\ud800abc', 4, '\ufffda'],
  ])('cuts %j to %i bytes as %j', (given, bytes, cut) => {
    expect(cutText(given, bytes)).toBe(cut);
  });

  it('keeps a byte order mark in front of what it cuts', () => {
    expect(cutText('\ufeffabc', 4)).toBe('\ufeffa');
  });

  it('makes text well formed that needs no cut', () => {
    expect(cutText('a\udc00', 100)).toBe('a\ufffd');
  });
});
