// Why: guards, assigns and delays may be the application's. One that throws inside the driver would leave a turn with no
// owner, "running" for ever (case C12); one that gives nonsense would arm no timer, or loop. Each ends the turn as
// failed, with the reason, from wherever it was.
import { describe, expect, it } from 'vitest';
import { assign } from 'xstate';
import {
  type Limits,
  OFF_MS,
  REASON_BYTES,
  type TurnEvent,
  type TurnMachine,
  turnMachine,
} from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { decodeCheckpoint, encodeCheckpoint } from '../../src/core/checkpoint.js';
import { TurnError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/json.js';
import { firstStep, type Plan, step, type TimerEvent, type TurnSnapshot } from '../../src/core/step.js';
import { mutantOf } from '../machines/chart.js';
import {
  answered,
  backOffOver,
  compacted,
  inPhase,
  loaded,
  PATH_TO,
  reading,
  sending,
  settled,
  timedOut,
  UNWATCHED,
  WATCHED,
} from '../machines/turn-runs.js';

const PHASES = Object.keys(PATH_TO);
const INPUT = { turnId: 't1', limits: UNWATCHED };

function fail(reason = 'policy broke'): never {
  throw new Error(reason);
}

/** A phase of the product's chart, as the application's machine sees it: reached by a restore, as after a deploy. */
function under(machine: TurnMachine, phase: string, limits: Limits = UNWATCHED): TurnSnapshot {
  const facts = { turnId: 't1', revision: 1, savedAt: 0, deadlines: {} };
  const checkpoint = encodeCheckpoint(turnMachine, inPhase(phase, limits).snapshot, facts);
  const decoded = decodeCheckpoint(machine, checkpoint as unknown as Json);
  if (!decoded.ok) throw new Error(decoded.reason);
  return decoded.snapshot;
}

const stepped = (machine: TurnMachine, phase: string, event: TurnEvent | TimerEvent, limits = UNWATCHED) =>
  step(machine, under(machine, phase, limits), event);

/** How a step ended that could not be taken. */
const endOf = (plan: Plan | undefined) => ({
  phase: plan?.phase,
  final: plan?.final,
  directive: plan?.directive,
  cause: plan?.next.context.cause,
  effects: plan?.effects,
  armed: plan?.timers.filter(({ kind }) => kind === 'arm'),
});
const failed = (reason: unknown) => ({
  phase: 'failed',
  final: true,
  directive: 'forced',
  cause: { kind: 'policy', reason },
  effects: [],
  armed: [],
});

describe('an assign that throws', () => {
  const machine = turnMachine.provide({
    actions: { noteInput: assign(() => fail()), recordSuccess: assign(() => fail()) },
  });

  it.each(PHASES)('ends the turn from %s', (phase) => {
    expect(endOf(stepped(machine, phase, { type: 'input.arrived', waiting: 1 }))).toEqual(failed('policy broke'));
  });

  it('ends it in the middle of a step as well', () => {
    expect(endOf(stepped(machine, 'awaitingLLM', answered(sending)))).toEqual(failed('policy broke'));
  });
});

describe('a guard that throws', () => {
  const guards = turnMachine.implementations.guards;
  const machine = turnMachine.provide({
    guards: Object.fromEntries(Object.keys(guards).map((name) => [name, () => fail()])),
  });
  // Nothing that leads out of a review asks a guard.
  const ASKING: Readonly<Record<string, TurnEvent>> = {
    setup: loaded,
    awaitingLLM: answered(reading),
    retryingLLM: backOffOver,
    compacting: compacted,
    awaitingApproval: timedOut('approvalDeadline', 'awaitingApproval'),
    executingTools: settled(),
    forceStop: answered(),
  };
  it.each(Object.keys(ASKING))('ends the turn from %s', (phase) => {
    expect(endOf(stepped(machine, phase, ASKING[phase] as TurnEvent))).toEqual(
      failed(expect.stringContaining('policy broke')),
    );
  });

  it('ends it at the dispatch point, where the order is the policy', () => {
    const late = turnMachine.provide({ guards: { nudgeable: () => fail() } });
    const event: TurnEvent = { type: 'model.answered', calls: [], fault: 'empty', goesOn: false };
    expect(endOf(stepped(late, 'awaitingLLM', event))).toEqual(failed(expect.stringContaining('policy broke')));
  });
});

describe('a delay that is no moment', () => {
  const DELAYS: Readonly<Record<string, string>> = {
    setup: 'setupTimeout',
    awaitingLLM: 'hardTimeout',
    retryingLLM: 'backOff',
    compacting: 'compactionTimeout',
    awaitingApproval: 'approvalDeadline',
    forceStop: 'softTimeout',
  };
  const WRONG: readonly [what: string, delay: () => unknown][] = [
    ['undefined', () => undefined],
    ['NaN', () => Number.NaN],
    ['negative', () => -1],
    ['infinite', () => Number.POSITIVE_INFINITY],
    ['longer than a timer holds', () => OFF_MS + 1],
    ['a text', () => 'soon'],
    ['thrown', () => fail()],
  ];
  for (const [what, delay] of WRONG) {
    it.each(Object.keys(DELAYS))(`ends the turn where it is ${what}, in %s`, (phase) => {
      const machine = turnMachine.provide({ delays: { [DELAYS[phase] as string]: delay as () => number } });
      const limits = phase === 'awaitingApproval' ? WATCHED : UNWATCHED;
      const plan = stepped(machine, phase, { type: 'turn.resumed', limits }, limits);
      expect(endOf(plan)).toEqual(failed(expect.any(String)));
    });
  }

  it('is told by its name', () => {
    const machine = turnMachine.provide({ delays: { backOff: () => Number.NaN } });
    expect(stepped(machine, 'retryingLLM', { type: 'turn.resumed', limits: UNWATCHED })?.next.context.cause).toEqual({
      kind: 'policy',
      reason: `the delay of "xstate.after.backOff.retryingLLM" gives NaN ms; it must be 0 to ${OFF_MS}`,
    });
  });

  it('may be 0, and as long as a timer holds', () => {
    for (const ms of [0, OFF_MS]) {
      const machine = turnMachine.provide({ delays: { backOff: () => ms } });
      const plan = stepped(machine, 'retryingLLM', { type: 'turn.resumed', limits: UNWATCHED });
      expect(plan?.timers.at(-1)).toEqual({ kind: 'arm', id: 'xstate.after.backOff.retryingLLM', delayMs: ms });
    }
  });
});

describe('guards that loop in `always`', () => {
  it('end the turn instead of keeping the thread', () => {
    const machine = turnMachine.provide({
      // injectingMessage -> recovering -> injectingMessage, for ever.
      guards: { stopAsked: ({ context }) => context.cause?.kind !== 'stop', nudgeable: () => true },
      actions: { countNudge: assign({ cause: null }) },
    });
    const plan = stepped(machine, 'setup', loaded);
    expect(endOf(plan)).toEqual(failed(expect.stringMatching(/infinite|maxIterations|100/i)));
  });
});

describe('the reason of a fault', () => {
  const reasonFor = (thrown: unknown): string => {
    const machine = turnMachine.provide({
      actions: {
        noteInput: assign(() => {
          throw thrown;
        }),
      },
    });
    const cause = stepped(machine, 'setup', { type: 'input.arrived', waiting: 1 })?.next.context.cause;
    return cause?.kind === 'policy' ? cause.reason : 'no policy';
  };

  it('can be made of anything that was thrown', () => {
    expect(reasonFor('just text')).toBe('just text');
    expect(reasonFor(null)).toContain('null');
    expect(reasonFor(Object.create(null))).toContain('cannot be read');
  });

  it('fits into a checkpoint: bounded and well formed (case C23)', () => {
    const reason = reasonFor(new Error(`\ud800${'€'.repeat(1000)}`));
    expect(reason.isWellFormed()).toBe(true);
    expect(new TextEncoder().encode(reason).length).toBeLessThanOrEqual(REASON_BYTES);
  });
});

describe('a machine that cannot start', () => {
  const policyError = (machine: TurnMachine): unknown => {
    try {
      return firstStep(machine, INPUT).phase;
    } catch (thrown) {
      return thrown;
    }
  };

  it('is refused with TURN_POLICY: its context', () => {
    const machine = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      config.context = () => fail('no context');
    });
    const error = policyError(machine);
    expect(error).toBeInstanceOf(TurnError);
    expect(error).toMatchObject({ code: 'TURN_POLICY', message: 'machine "turn" cannot start: no context' });
    expect((error as TurnError).cause).toMatchObject({ message: 'no context' });
  });

  it.each([
    ['thrown', () => fail()],
    ['NaN', () => Number.NaN],
    ['undefined', () => undefined],
  ])('is refused with TURN_POLICY: a delay that is %s', (_, delay) => {
    const machine = turnMachine.provide({ delays: { setupTimeout: delay as () => number } });
    expect(policyError(machine)).toMatchObject({ code: 'TURN_POLICY', retryable: false });
  });
});
