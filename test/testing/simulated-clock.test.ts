// A clock that went back, or to no moment at all, would make a test of something that no process meets.
import { expect, it } from 'vitest';
import { simulatedClock } from '../../src/testing/index.js';

it('a simulated clock goes neither back nor to no moment', async () => {
  const clock = simulatedClock(5_000);
  for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, undefined]) {
    await expect(clock.advance(ms as number)).rejects.toThrow(
      new TypeError('advance(ms) takes a number of ms, 0 or more.'),
    );
  }
  await clock.advance(0);
  expect(clock.now()).toBe(5_000);
});
