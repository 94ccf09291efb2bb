// Why: a tool or a model port that looks at its signal late must see what one that looked early sees; only what nobody
// looks at is not made.
import { expect, it } from 'vitest';
import { CutOff } from '../../src/engine/cut-off.js';

it('whoever asks for the signal before and whoever asks behind the end see the same end', () => {
  const early = new CutOff();
  const { signal } = early;
  const late = new CutOff();
  for (const cutOff of [early, late]) {
    expect(cutOff.isAborted).toBe(false);
    cutOff.abort(() => 'first');
    cutOff.abort(() => 'second');
    expect(cutOff.isAborted).toBe(true);
  }
  expect(early.signal).toBe(signal);
  expect([signal.aborted, signal.reason]).toEqual([true, 'first']);
  expect([late.signal.aborted, late.signal.reason]).toEqual([true, 'first']);
  expect(late.signal).toBe(late.signal);
});

it('a reason that nobody looks at is never made', () => {
  const quiet = new CutOff();
  let made = 0;
  quiet.abort(() => {
    made += 1;
  });
  expect(made).toBe(0);
  expect(new CutOff().signal.aborted).toBe(false);
});

it('whoever listens hears the end once, and whoever stopped listening does not', () => {
  const cutOff = new CutOff();
  const heard: string[] = [];
  cutOff.onAbort(() => heard.push('a'));
  const stop = cutOff.onAbort(() => heard.push('b'));
  // One that ends its own listening, as everybody does, keeps nobody else from hearing.
  const own = cutOff.onAbort(() => {
    own();
    heard.push('own');
  });
  cutOff.onAbort(() => heard.push('c'));
  stop();
  cutOff.abort(() => 'first');
  cutOff.abort(() => 'second');
  expect(heard).toEqual(['a', 'own', 'c']);
});
