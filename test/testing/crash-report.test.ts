// How the effects of one schedule are judged, with runs made by hand.
import { describe, expect, it } from 'vitest';
import { type Expected, expectedOf, Tally } from '../../src/testing/crash-report.js';
import type { CrashRun } from '../../src/testing/crash-run.js';

/** Effects as `tool:key` or `tool:key:about`, parked calls likewise; `tool` alone is one that was never dispatched. */
function runOf(effects: string, parked = '', outcome = 'completed'): CrashRun {
  const listed = (text: string) =>
    text.split(' ').flatMap((part) => {
      const [tool = '', key, about = ''] = part.split(':');
      return tool === '' ? [] : [{ tool, key: key as string, about }];
    });
  return {
    schedule: ['effect 1'],
    crashes: 1,
    outcome,
    effects: listed(effects),
    parked: listed(parked),
    points: [],
    timeline: 'the timeline',
  };
}

function judged(expected: Expected, run: CrashRun) {
  const tally = new Tally(expected, ['pay']);
  tally.add(run);
  const { doubled, lost, parked, failures, firstFailure } = tally.report('1');
  return {
    doubled: doubled.pay ?? 0,
    lost: lost.pay ?? 0,
    parked: parked.pay ?? 0,
    failures,
    why: firstFailure?.reason,
  };
}

const two = expectedOf(runOf('pay:a pay:b'), {}, 'completed');
const right = { doubled: 0, lost: 0, parked: 0, failures: 0, why: undefined };

describe('a schedule', () => {
  it('is right where each call takes effect as often as without a crash, whatever its key', () => {
    expect(judged(two, runOf('pay:a pay:b'))).toEqual(right);
    expect(judged(two, runOf('pay:x pay:y'))).toEqual(right);
    const twice = expectedOf(runOf('pay:a pay:a'), {}, undefined);
    expect(judged(twice, runOf('pay:x pay:x'))).toEqual(right);
    expect(judged(twice, runOf('pay:x'))).toMatchObject({ lost: 1 });
  });

  it('has doubled what has one key twice, and what has a key too many', () => {
    expect(judged(two, runOf('pay:a pay:a pay:b'))).toMatchObject({ doubled: 1, lost: 0, why: 'pay: 1 doubled' });
    expect(judged(two, runOf('pay:a pay:b pay:c'))).toMatchObject({ doubled: 1, lost: 0 });
    expect(judged(two, runOf('pay:a pay:a pay:b pay:b pay:b'))).toMatchObject({ doubled: 3, lost: 0 });
  });

  it('has lost what is missing', () => {
    expect(judged(two, runOf('pay:a'))).toMatchObject({ doubled: 0, lost: 1, failures: 1, why: 'pay: 1 lost' });
    expect(judged(two, runOf(''))).toMatchObject({ lost: 2 });
    expect(judged(two, runOf('pay:a pay:a'))).toMatchObject({
      doubled: 1,
      lost: 1,
      why: 'pay: 1 doubled, pay: 1 lost',
    });
  });

  it('has not lost what a person is asked about, unless its effect took place', () => {
    expect(judged(two, runOf('pay:a', 'pay:b', 'parked'))).toEqual({ ...right, parked: 1 });
    expect(judged(two, runOf('pay:a', 'pay', 'parked'))).toEqual({ ...right, parked: 1 });
    expect(judged(two, runOf('pay:a', 'pay:a', 'parked'))).toMatchObject({ lost: 1, parked: 1 });
    expect(judged(two, runOf('pay:a', 'mail:b', 'parked'))).toMatchObject({ lost: 1, parked: 0 });
  });

  it('has doubled what is done again under another key, which stands for no other call that is lost', () => {
    const named = expectedOf(runOf('pay:1:ann pay:2:bob'), {}, 'completed');
    expect(judged(named, runOf('pay:3:ann pay:4:bob'))).toEqual(right);
    expect(judged(named, runOf('pay:3:ann pay:4:ann'))).toMatchObject({
      doubled: 1,
      lost: 1,
      why: 'pay: 1 doubled, pay: 1 lost',
    });
    expect(judged(named, runOf('pay:3:ann pay:4:ann pay:5:bob'))).toMatchObject({ doubled: 1, lost: 0 });
    const twins = expectedOf(runOf('pay:1:ann pay:2:ann'), {}, undefined);
    expect(judged(twins, runOf('pay:3:ann pay:4:ann'))).toEqual(right);
    expect(judged(twins, runOf('pay:3:ann'))).toMatchObject({ doubled: 0, lost: 1 });
    // A person is asked about one of them; the other is nowhere.
    expect(judged(named, runOf('pay:3:ann', 'pay:4:bob', 'parked'))).toEqual({ ...right, parked: 1 });
    expect(judged(named, runOf('pay:3:ann', 'pay:4:ann', 'parked'))).toMatchObject({ lost: 1, parked: 1 });
    expect(judged(named, runOf('', 'pay::bob pay::ann', 'parked'))).toEqual({ ...right, parked: 2 });
    expect(judged(named, runOf('', 'pay::bob pay::bob', 'parked'))).toMatchObject({ lost: 1, parked: 2 });
  });

  it('is right where the model says a call differently from what it said without a crash', () => {
    const named = expectedOf(runOf('pay:1:ann pay:2:bob'), {}, 'completed');
    expect(judged(named, runOf('pay:3:ann pay:4:Bob'))).toEqual(right);
    expect(judged(named, runOf('pay:3:ann', 'pay:4:Bob', 'parked'))).toEqual({ ...right, parked: 1 });
    expect(judged(named, runOf('pay:3:Ann pay:4:Bob pay:5:Cid'))).toMatchObject({ doubled: 1, lost: 0 });
    expect(judged(named, runOf('pay:3:Ann'))).toMatchObject({ doubled: 0, lost: 1 });
  });

  it('is wrong where its outcome is another one, and no person is asked', () => {
    expect(judged(two, runOf('pay:a pay:b', '', 'failed')).why).toBe('the outcome is failed');
    expect(judged(two, runOf('pay:a pay:b', 'pay:b', 'parked')).why).toBeUndefined();
    // What is given up has its doubts listed, too.
    expect(judged(two, runOf('pay:a pay:b', 'pay:b', 'abandoned')).why).toBe('the outcome is abandoned');
    const whatever = expectedOf(runOf('pay:a pay:b'), {}, undefined);
    expect(judged(whatever, runOf('pay:a pay:b', '', 'failed')).why).toBeUndefined();
    expect(judged(whatever, runOf('pay:a pay:b', '', 'stuck')).why).toBe('the outcome is stuck');
    expect(judged(whatever, runOf('pay:a pay:b', '', 'threw')).why).toBe('the outcome is threw');
  });

  it('counts by what is expected of each call, where that is given', () => {
    const never = expectedOf(runOf(''), { pay: 0 }, undefined);
    expect(judged(never, runOf('pay:a'))).toMatchObject({ doubled: 1, lost: 0 });
    const each = expectedOf(runOf('pay:a'), { pay: 2 }, undefined);
    expect(judged(each, runOf('pay:a'))).toMatchObject({ doubled: 0, lost: 1 });
  });
});

it('the report sums all schedules, and keeps the first failure', () => {
  const tally = new Tally(two, ['pay']);
  for (const run of [runOf('pay:a pay:b'), runOf('pay:a'), runOf('pay:a pay:a', 'mail', 'parked')]) tally.add(run);
  const report = tally.report('seed');
  expect(report).toMatchObject({
    schedules: 3,
    crashes: 3,
    effects: { pay: 5 },
    doubled: { pay: 1 },
    lost: { pay: 2 },
    parked: { mail: 1 },
    outcomes: { completed: 2, parked: 1 },
    failures: 2,
    firstFailure: { seed: 'crash at effect 1', at: 'process 1 dies at effect 1', reason: 'pay: 1 lost' },
  });
  expect(String(report)).toBe(
    [
      '3 schedules, 3 crashes, 2 failures; seed "seed"',
      'tool  effects  doubled  lost  parked',
      'pay         5        1     2       0',
      'mail        0        0     0       1',
      'outcomes: 2 completed, 1 parked',
      '',
      'first failure: pay: 1 lost',
      'process 1 dies at effect 1; run it alone with seed: "crash at effect 1"',
      'the timeline',
    ].join('\n'),
  );
});
