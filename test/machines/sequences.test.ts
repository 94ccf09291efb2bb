// Long random lives of a turn, as the driver would play them: time-outs only while they are armed, a restart at any
// moment, events of other phases at any moment. What holds in all of them is asked after every single step.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Limits, OFF_MS, type TurnEvent, turnMachine } from '../../machines/index.js';
import { edgesFrom } from './chart.js';
import {
  ALL_OFF,
  answered,
  answeredWith,
  begin,
  modelFailed,
  phaseOf,
  play,
  type Ran,
  reading,
  resume,
  send,
  settled,
  storedForm,
  timedOut,
  UNWATCHED,
  WATCHED,
  waiting,
} from './turn-runs.js';

const ms = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: OFF_MS }), fc.integer({ min: 1, max: 1_000_000 }));

/** Every limit the engine would accept: whole, 0 for off, at most what a timer holds. */
const limits: fc.Arbitrary<Limits> = fc
  .record({ idleSoftMs: ms, idleHardMs: ms, retryElapsedMs: ms, approvalMs: ms })
  .map((some) => ({ ...WATCHED, ...some }));

const moment = fc.oneof(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));

const call = fc.record({
  effect: fc.constantFrom('none', 'idempotent', 'external'),
  needsDecision: fc.boolean(),
} as const);

const reason = fc.string({ maxLength: 5 });

const event: fc.Arbitrary<TurnEvent> = fc.oneof(
  fc.record({
    type: fc.constant('model.answered' as const),
    calls: fc.array(call, { maxLength: 3 }),
    fault: fc.option(fc.constantFrom('empty', 'cutOff', 'filtered', 'noCallCanRun', 'loop'), { freq: 2 }),
    goesOn: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('model.failed' as const),
    kind: fc.constantFrom('rateLimited', 'overloaded', 'network', 'contextLength', 'rejected', 'auth', 'other'),
    reason,
    retryAfterMs: fc.option(fc.oneof(fc.integer(), fc.double(), fc.integer({ min: 0, max: 120_000 }))),
    at: moment,
  }),
  fc.record({
    type: fc.constant('calls.settled' as const),
    stop: fc.option(reason, { freq: 1 }),
    nudge: fc.boolean(),
    compact: fc.boolean(),
  }),
  fc.record({ type: fc.constant('input.arrived' as const), waiting: fc.nat({ max: 5 }) }),
  fc.record({ type: fc.constantFrom('stop.requested' as const, 'compaction.refused' as const), reason }),
  fc.constantFrom<TurnEvent>(
    { type: 'session.loaded' },
    { type: 'model.progressed' },
    { type: 'approvals.decided' },
    { type: 'approvals.needed' },
    { type: 'calls.inDoubt' },
    { type: 'calls.reviewed' },
    { type: 'compaction.applied' },
    { type: 'turn.handedOver' },
  ),
);

type Step = { readonly event: TurnEvent } | { readonly fires: number } | { readonly restartsWith: Limits | null };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: event.map((one) => ({ event: one })) },
  { weight: 2, arbitrary: fc.nat({ max: 3 }).map((fires) => ({ fires })) },
  { weight: 1, arbitrary: fc.option(limits).map((restartsWith) => ({ restartsWith })) },
);

/** Plays a life and asks after every step; the armed time-outs are kept the way the driver keeps them. */
function live(
  begun: Limits,
  steps: readonly Step[],
  check: (ran: Ran, armed: ReadonlyMap<string, number>) => void,
): Ran {
  const armed = new Map<string, number>();
  const adopt = (ran: Ran) => {
    for (const name of ran.disarmed) armed.delete(name);
    for (const [name, delay] of Object.entries(ran.armed)) armed.set(name, delay);
    check(ran, armed);
    return ran;
  };
  const perform = (ran: Ran, one: Step): Ran => {
    if ('event' in one) return send(ran, one.event);
    if ('restartsWith' in one) {
      if (ran.snapshot.status === 'active') armed.clear();
      return resume(ran.snapshot, one.restartsWith ?? ran.snapshot.context.limits);
    }
    const name = [...armed.keys()][one.fires];
    if (name === undefined) return { ...ran, armed: {}, disarmed: [], actions: [] };
    armed.delete(name);
    const [delay, state] = name.split(' ') as [string, string];
    return send(ran, timedOut(delay, state));
  };
  return steps.reduce((ran, one) => adopt(perform(ran, one)), adopt(begin(begun)));
}

const ARMED_IN: Readonly<Record<string, readonly string[]>> = {
  setup: ['setupTimeout setup'],
  awaitingLLM: ['hardTimeout awaitingLLMQuiet', 'softTimeout awaitingLLMQuiet'],
  retryingLLM: ['backOff retryingLLM'],
  compacting: ['compactionTimeout compacting'],
  awaitingApproval: ['approvalDeadline awaitingApproval'],
  forceStop: ['hardTimeout forceStopQuiet', 'softTimeout forceStopQuiet'],
};

/** Thrown instead of `expect`, which is too slow for a question that is asked a hundred thousand times. */
function holds(condition: boolean, what: string, found: unknown): void {
  if (!condition) throw new Error(`${what}: ${JSON.stringify(found)}`);
}

const STOPPING_PHASES = ['forceStop', 'compacting', 'stopped', 'failed', 'cancelled'];

const lives = (check: (ran: Ran, armed: ReadonlyMap<string, number>) => void, numRuns = 200) =>
  fc.assert(
    fc.property(limits, fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), (begun, steps) => {
      live(begun, [{ event: { type: 'session.loaded' } }, ...steps], check);
    }),
    { numRuns },
  );

describe('in every life of a turn', () => {
  it('no step throws, and every delay is a whole number that a Node timer can hold', () => {
    lives(({ snapshot, armed }) => {
      holds(snapshot.status !== 'error', 'an error inside the chart', snapshot.value);
      for (const delay of Object.values(armed)) {
        holds(Number.isInteger(delay) && delay >= 1 && delay <= 2 ** 31 - 1, 'no delay for a timer', delay);
      }
    });
  });

  it('exactly the time-outs of the phase it is in are armed, so the watchdog counts idle phases only (I13, case C26)', () => {
    lives(({ snapshot }, armed) => {
      const phase = phaseOf(snapshot);
      const allowed = ARMED_IN[phase] ?? [];
      for (const name of armed.keys()) holds(allowed.includes(name), `armed in ${phase}`, name);
      // A soft time-out that has passed is gone, and a guard that is off lets one pass; nothing else may be missing.
      if (phase === 'setup' || phase === 'retryingLLM' || phase === 'compacting') {
        holds(armed.size === 1, `unbounded in ${phase}`, [...armed.keys()]);
      }
    });
  });

  it('the context can be stored: what comes back from JSON is what went in, as long as the numbers are finite', () => {
    lives(({ snapshot }) => {
      const stored = (storedForm(snapshot) as { context: object }).context;
      // A provider's impossible Retry-After is the only number that comes in as it is.
      const bare = { ...snapshot.context, cause: null };
      holds(isDeepStrictEqual({ ...stored, cause: null }, bare), 'lost in JSON', snapshot.context);
      holds(snapshot.context.nudges.length <= 3, 'a context that grows', snapshot.context.nudges);
    });
  });

  it('a stop under way never runs a call and never ends as completed', () => {
    lives(({ snapshot, actions }) => {
      if (snapshot.context.stopping === null) return;
      holds(!actions.includes('runCalls'), 'a call was run', actions);
      holds(STOPPING_PHASES.includes(phaseOf(snapshot)), 'not a phase of a stop', phaseOf(snapshot));
    });
  });

  it('a final phase never moves, whatever comes after it (I8)', () => {
    const ends: Record<string, number> = {};
    const many = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });
    const whole = ({ snapshot, actions, armed }: Ran) =>
      JSON.stringify([snapshot.value, snapshot.context, snapshot.status, actions, armed]);
    fc.assert(
      fc.property(many, (steps) => {
        let end: string | null = null;
        live(UNWATCHED, [{ event: { type: 'session.loaded' } }, ...steps], (ran) => {
          if (end !== null) return holds(whole(ran) === end, 'moved after its end', ran.snapshot.value);
          if (ran.snapshot.status === 'active') return;
          ends[phaseOf(ran.snapshot)] = (ends[phaseOf(ran.snapshot)] ?? 0) + 1;
          end = whole({ ...ran, actions: [], armed: {} });
        });
      }),
      { numRuns: 150 },
    );
    // The property says nothing if no life ended.
    expect(Object.keys(ends).length).toBeGreaterThan(1);
  });

  it('a turn that has not ended has a way out: one of its own, and cancel and fault at all times', () => {
    lives(({ snapshot }) => {
      if (snapshot.status !== 'active') return;
      holds(snapshot.can({ type: 'turn.cancelled' }), 'cannot be cancelled', snapshot.value);
      holds(snapshot.can({ type: 'turn.faulted', reason: '' }), 'cannot fault', snapshot.value);
      const phase = phaseOf(snapshot);
      const own = turnMachine.getStateNodeById(phase).ownEvents.filter((type) => !type.startsWith('xstate.'));
      // retryingLLM leaves by its time-out, and no event of the world has to come.
      holds(own.length > 0 || phase === 'retryingLLM', 'no way out', phase);
    }, 100);
  });
});

describe('a guard of the chart', () => {
  const guards = turnMachine.implementations.guards as Record<string, (args: unknown) => boolean>;

  it('is total: it answers true or false for every event in every context, because a throw would end the turn', () => {
    const contexts = [begin(ALL_OFF), waiting(), play(waiting(), [modelFailed('network'), answeredWith('empty')])];
    fc.assert(
      fc.property(fc.constantFrom(...contexts), event, ({ snapshot }, one) => {
        for (const [name, guard] of Object.entries(guards)) {
          expect(typeof guard({ context: snapshot.context, event: one }), name).toBe('boolean');
        }
      }),
    );
  });

  it('that is replaced by an application decides in its place, and the order stays', () => {
    const patient = turnMachine.provide({ guards: { retryable: () => true } });
    const ran = play(waiting(WATCHED, patient), [modelFailed('auth')], patient);
    expect(phaseOf(ran.snapshot)).toBe('retryingLLM');
    expect(edgesFrom(patient, 'recovering', 'always').map(({ guard }) => guard)[2]).toBe('retryable');
  });
});

describe('a turn of a thousand iterations', () => {
  it('stays what it was: the context does not grow, and the last step is like the first', () => {
    const iteration = [answered(reading), settled()];
    const first = play(waiting(), iteration);
    const last = play(waiting(), Array.from({ length: 1_000 }, () => iteration).flat());
    expect(last.snapshot.context).toEqual({ ...first.snapshot.context, iterations: 1_000 });
    expect([last.actions, last.armed]).toEqual([first.actions, first.armed]);
  });
});
