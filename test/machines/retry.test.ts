// Retries of the model: how often, how long apart, and what ends them (DESIGN section 4, branches 2 and 3).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Limits, ModelErrorKind, TurnEvent } from '../../machines/index.js';
import {
  answered,
  answeredWith,
  backOffOver,
  compacted,
  compactionRefused,
  hardIdle,
  modelFailed,
  phaseOf,
  play,
  type Ran,
  reading,
  send,
  settled,
  timedOut,
  UNWATCHED,
  WATCHED,
  waiting,
} from './turn-runs.js';

const MINUTE = 60_000;

/** Fails, waits the back-off out, fails again, … and rests after the last failure. */
function failing(limits: Limits, moments: readonly number[], kind: ModelErrorKind = 'network'): Ran {
  const events = moments.flatMap((at, index) => {
    const failure = modelFailed(kind, at);
    return index === 0 ? [failure] : [backOffOver, failure];
  });
  return play(waiting(limits), events);
}

const delayOf = (ran: Ran) => ran.armed['backOff retryingLLM'];

describe('a model call that fails', () => {
  const worthAnother: readonly (readonly [ModelErrorKind, string])[] = [
    ['rateLimited', 'retryingLLM'],
    ['overloaded', 'retryingLLM'],
    ['network', 'retryingLLM'],
    ['contextLength', 'compacting'],
    ['rejected', 'failed'],
    ['auth', 'failed'],
    ['other', 'failed'],
  ];

  it.each(worthAnother)('with %s leads to %s', (kind, phase) => {
    expect(phaseOf(failing(UNWATCHED, [0], kind).snapshot)).toBe(phase);
  });

  it('keeps what the provider said, for the outcome of a turn that ends by it', () => {
    const { snapshot } = send(waiting(), { ...modelFailed('auth'), reason: 'key revoked' } as TurnEvent);
    expect(snapshot.context.cause).toEqual({
      kind: 'modelError',
      error: 'auth',
      reason: 'key revoked',
      retryAfterMs: null,
    });
  });

  it('is tried again twice whatever the time: a person who watches gets three calls', () => {
    expect(phaseOf(failing(WATCHED, [0]).snapshot)).toBe('retryingLLM');
    // An hour apart: a laptop that slept between two calls is no reason to give up.
    expect(phaseOf(failing(WATCHED, [0, 60 * MINUTE]).snapshot)).toBe('retryingLLM');
    expect(phaseOf(failing(WATCHED, [0, 1, 2]).snapshot)).toBe('failed');
  });

  it('is tried beyond the third only within retryElapsedMs of the first failure', () => {
    expect(phaseOf(failing(UNWATCHED, [5, 6, 7, 8, 9]).snapshot)).toBe('retryingLLM');
    expect(phaseOf(failing(UNWATCHED, [5, 6, 4 + 15 * MINUTE]).snapshot)).toBe('retryingLLM');
    expect(phaseOf(failing(UNWATCHED, [5, 6, 5 + 15 * MINUTE]).snapshot)).toBe('failed');
  });

  it('counts as the first again after an answer, be it a good or a faulty one', () => {
    for (const answer of [answered(reading), answeredWith('empty')]) {
      const twice = failing(WATCHED, [0, 1]);
      const ran = play(twice, [backOffOver, answer, settled(), modelFailed('network', 60 * MINUTE)]);
      expect(phaseOf(ran.snapshot)).toBe('retryingLLM');
      expect([ran.snapshot.context.modelFailures, ran.snapshot.context.failingSince]).toEqual([1, 60 * MINUTE]);
      expect(delayOf(ran)).toBe(1_000);
    }
  });

  it('gets no more time from a clock that was set back, least of all where the limit is off', () => {
    expect(phaseOf(failing(WATCHED, [10 * MINUTE, 0, 1]).snapshot)).toBe('failed');
    expect(phaseOf(failing(UNWATCHED, [10 * MINUTE, 0, 25 * MINUTE]).snapshot)).toBe('failed');
  });
});

describe('the back-off', () => {
  const delays = (kind: ModelErrorKind, count: number) =>
    Array.from({ length: count }, (_, index) =>
      delayOf(
        failing(
          UNWATCHED,
          Array.from({ length: index + 1 }, () => 0),
          kind,
        ),
      ),
    );

  it('doubles from a second, and stops at a minute', () => {
    expect(delays('network', 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(delays('overloaded', 2)).toEqual([1_000, 2_000]);
  });

  it('starts at five seconds for a rate limit, which asks for more patience than a broken line', () => {
    expect(delays('rateLimited', 6)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('leads back to the model by way of injectingMessage, where input that came meanwhile joins', () => {
    const ran = play(failing(UNWATCHED, [0]), [{ type: 'input.arrived', waiting: 1 }, backOffOver]);
    expect(phaseOf(ran.snapshot)).toBe('awaitingLLM');
    expect(ran.actions).toEqual(['joinInput', 'checkpoint', 'callModel']);
  });

  it('keeps its length through events that do not end it', () => {
    const ran = play(failing(UNWATCHED, [0]), [{ type: 'input.arrived', waiting: 1 }, hardIdle]);
    expect([phaseOf(ran.snapshot), ran.armed, ran.disarmed]).toEqual(['retryingLLM', {}, []]);
  });
});

describe('Retry-After', () => {
  const asked = (limits: Limits, ms: number, moments: readonly number[] = [0]) => {
    const before = moments.slice(0, -1).flatMap((at) => [modelFailed('rateLimited', at), backOffOver]);
    return play(waiting(limits), [...before, modelFailed('rateLimited', moments.at(-1) ?? 0, ms)]);
  };

  it('replaces the back-off, be it shorter or longer', () => {
    expect(delayOf(asked(WATCHED, 700))).toBe(700);
    expect(delayOf(asked(WATCHED, 45_000))).toBe(45_000);
    expect(delayOf(asked(WATCHED, 60_000))).toBe(60_000);
  });

  it('is not worth the wait beyond a minute where nobody gave the turn more time', () => {
    expect(asked(WATCHED, 60_001).snapshot.value).toBe('failed');
  });

  it('may take what is left of retryElapsedMs, and no more', () => {
    expect(delayOf(asked(UNWATCHED, 15 * MINUTE))).toBe(15 * MINUTE);
    expect(asked(UNWATCHED, 15 * MINUTE + 1).snapshot.value).toBe('failed');
    expect(delayOf(asked(UNWATCHED, 5 * MINUTE, [0, 10 * MINUTE]))).toBe(5 * MINUTE);
    expect(asked(UNWATCHED, 5 * MINUTE + 1, [0, 10 * MINUTE]).snapshot.value).toBe('failed');
  });

  it.each([0, -1, Number.NaN])('of %s says nothing: obeyed, it would be a loop without a pause', (ms) => {
    expect(delayOf(asked(UNWATCHED, ms))).toBe(5_000);
  });

  it('of a fraction is rounded up, because a timer would round it down and come too early', () => {
    expect(delayOf(asked(UNWATCHED, 0.2))).toBe(1);
  });

  it('that never ends is not obeyed', () => {
    expect(asked(UNWATCHED, Number.POSITIVE_INFINITY).snapshot.value).toBe('failed');
  });

  it('never gives a delay that Node would turn into none', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: false }),
        fc.array(fc.integer({ min: 0, max: 40 * MINUTE }), { minLength: 1, maxLength: 6 }),
        (ms, moments) => {
          const delay = delayOf(asked(UNWATCHED, ms, moments));
          expect(delay === undefined || (Number.isInteger(delay) && delay >= 1 && delay <= 15 * MINUTE)).toBe(true);
        },
      ),
    );
  });
});

describe('a list that is too long for the model', () => {
  const tooLong = modelFailed('contextLength');

  it('is compacted once per turn, and after that ends it (case C22)', () => {
    const first = send(waiting(), tooLong);
    expect([phaseOf(first.snapshot), first.actions]).toEqual(['compacting', ['compact']]);
    const again = play(first, [compacted, tooLong]);
    expect(again.snapshot.value).toBe('failed');
    expect(again.snapshot.context.cause).toMatchObject({ kind: 'modelError', error: 'contextLength' });
  });

  it('is compacted no second time even after good answers', () => {
    const later = play(waiting(), [tooLong, compacted, answered(reading), settled(), tooLong]);
    expect(later.snapshot.value).toBe('failed');
  });

  it.each([compactionRefused, timedOut('compactionTimeout', 'compacting')])(
    'ends the turn with a reason when it cannot be made shorter: %o',
    (event) => {
      const ended = play(waiting(), [tooLong, event]);
      expect(ended.snapshot.value).toBe('failed');
      expect(ended.snapshot.context.cause).toMatchObject({ kind: 'compactionRefused' });
    },
  );

  it('is another matter than a compaction the application asks for: refused, that one changes nothing', () => {
    const batch = play(waiting(), [answered(reading), settled({ compact: true })]);
    expect([phaseOf(batch.snapshot), batch.actions]).toEqual(['compacting', ['checkpoint', 'compact']]);
    for (const event of [compactionRefused, timedOut('compactionTimeout', 'compacting')]) {
      const after = send(batch, event);
      expect([phaseOf(after.snapshot), after.snapshot.context.compactedForLength]).toEqual(['awaitingLLM', false]);
    }
    // It has not used up the one that the context length may force.
    expect(phaseOf(play(batch, [compacted, tooLong]).snapshot)).toBe('compacting');
  });
});
