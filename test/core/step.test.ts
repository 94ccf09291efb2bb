// Why: this is the one place where the chart moves. What the plan leaves out the driver never does, and what it adds the
// chart never showed (I15); so the main path out of every phase is written down here, whole.
import { describe, expect, it } from 'vitest';
import { raise } from 'xstate';
import { type TurnEvent, turnMachine } from '../../machines/index.js';
import { firstStep, isIdle, keepsDeadlines, type Plan, phaseOf, step, type TimerEvent } from '../../src/core/step.js';
import {
  answered,
  answeredToGoOn,
  answeredWith,
  asking,
  backOffOver,
  compacted,
  compactionRefused,
  hardIdle,
  hardIdleInForceStop,
  inPhase,
  loaded,
  modelFailed,
  PATH_TO,
  play,
  progressed,
  reading,
  sending,
  settled,
  softIdle,
  stopRequested,
  timedOut,
  UNWATCHED,
  WATCHED,
} from '../machines/turn-runs.js';

const TIMER = /^xstate\.after\.([^.]+)\..*$/;

/** A plan in one line: phase, directive, edits, effects, timers in their order. */
function lineOf(plan: Plan | undefined): string {
  if (plan === undefined) return 'does not move';
  const timers = plan.timers.map((timer) => {
    const name = timer.id.replace(TIMER, '$1');
    return timer.kind === 'cancel' ? `-${name}` : `+${name} ${timer.delayMs}`;
  });
  const phase = `${plan.phase}${plan.entered ? '' : ' stays'}${plan.final ? ' final' : ''}`;
  const parts = [...plan.edits.map((name) => `edit ${name}`), ...plan.effects, ...timers];
  return [phase, plan.directive, ...parts, ...(plan.softIdle ? ['announce softIdle'] : [])].join(' | ');
}

const planAfter = (phase: string, event: TurnEvent | TimerEvent): string =>
  lineOf(step(turnMachine, inPhase(phase, phase === 'awaitingApproval' ? WATCHED : UNWATCHED).snapshot, event));

const QUIET = '+softTimeout 90000 | +hardTimeout 540000';
const LOUD = '-softTimeout | -hardTimeout';

const TABLE: readonly [phase: string, event: TurnEvent, line: string][] = [
  ['setup', loaded, `awaitingLLM | none | callModel | -setupTimeout | ${QUIET}`],
  ['setup', { type: 'session.failed', reason: 'x' }, 'failed final | forced | -setupTimeout'],
  ['setup', timedOut('setupTimeout', 'setup'), 'failed final | forced | -setupTimeout'],
  ['awaitingLLM', answered(), `completed final | forced | ${LOUD}`],
  ['awaitingLLM', answered(reading), `executingTools | debounced | runCalls | ${LOUD}`],
  ['awaitingLLM', answered(reading, sending), `executingTools | forced | runCalls | ${LOUD}`],
  [
    'awaitingLLM',
    answered(reading, asking),
    `awaitingApproval | forced | runCalls | askPerson | ${LOUD} | +approvalDeadline 300000`,
  ],
  ['awaitingLLM', answeredToGoOn, `awaitingLLM | debounced | callModel | ${LOUD} | ${QUIET}`],
  ['awaitingLLM', answeredWith('empty'), `awaitingLLM | debounced | edit nudge | callModel | ${LOUD} | ${QUIET}`],
  ['awaitingLLM', answeredWith('filtered'), `failed final | forced | ${LOUD}`],
  ['awaitingLLM', modelFailed('network'), `retryingLLM | forced | ${LOUD} | +backOff 1000`],
  ['awaitingLLM', modelFailed('rateLimited', 0, 7000), `retryingLLM | forced | ${LOUD} | +backOff 7000`],
  ['awaitingLLM', modelFailed('contextLength'), `compacting | none | compact | ${LOUD} | +compactionTimeout 300000`],
  ['awaitingLLM', modelFailed('auth'), `failed final | forced | ${LOUD}`],
  ['awaitingLLM', stopRequested, `forceStop | forced | callModel | ${LOUD} | ${QUIET}`],
  ['awaitingLLM', progressed, `awaitingLLM stays | none | ${LOUD} | ${QUIET}`],
  ['awaitingLLM', softIdle, 'awaitingLLM stays | none | announce softIdle'],
  ['awaitingLLM', hardIdle, `failed final | forced | ${LOUD}`],
  ['retryingLLM', backOffOver, `awaitingLLM | none | callModel | -backOff | ${QUIET}`],
  ['retryingLLM', stopRequested, `forceStop | forced | callModel | -backOff | ${QUIET}`],
  ['compacting', compacted, `awaitingLLM | forced | callModel | -compactionTimeout | ${QUIET}`],
  ['compacting', compactionRefused, 'failed final | forced | -compactionTimeout'],
  ['compacting', timedOut('compactionTimeout', 'compacting'), 'failed final | forced | -compactionTimeout'],
  ['awaitingApproval', { type: 'approvals.decided' }, 'executingTools | forced | runCalls | -approvalDeadline'],
  [
    'awaitingApproval',
    timedOut('approvalDeadline', 'awaitingApproval'),
    'executingTools | forced | edit expireApprovals | runCalls | -approvalDeadline',
  ],
  ['awaitingApproval', stopRequested, 'awaitingApproval stays | none'],
  ['executingTools', settled(), `awaitingLLM | debounced | callModel | ${QUIET}`],
  ['executingTools', settled({ stop: 'loop' }), `forceStop | forced | callModel | ${QUIET}`],
  ['executingTools', settled({ nudge: true }), `awaitingLLM | debounced | edit nudge | callModel | ${QUIET}`],
  ['executingTools', settled({ compact: true }), 'compacting | debounced | compact | +compactionTimeout 300000'],
  ['executingTools', { type: 'calls.inDoubt' }, 'awaitingReview | forced | askPerson'],
  [
    'executingTools',
    { type: 'approvals.needed' },
    'awaitingApproval | forced | runCalls | askPerson | +approvalDeadline 300000',
  ],
  ['awaitingReview', { type: 'calls.reviewed' }, 'executingTools | forced | runCalls'],
  ['forceStop', answered(sending), `stopped final | forced | ${LOUD}`],
  ['forceStop', answeredWith('empty'), `stopped final | forced | ${LOUD}`],
  ['forceStop', modelFailed('network'), `stopped final | forced | ${LOUD}`],
  ['forceStop', progressed, `forceStop stays | none | ${LOUD} | ${QUIET}`],
  ['forceStop', hardIdleInForceStop, `failed final | forced | ${LOUD}`],
];

/** What a phase does when it is entered again, and which time-outs it has. */
const ENTERED_AGAIN: Readonly<Record<string, string>> = {
  setup: 'loadSession | -setupTimeout | +setupTimeout 60000',
  awaitingLLM: `callModel | ${LOUD} | ${QUIET}`,
  retryingLLM: '-backOff | +backOff 1000',
  compacting: 'compact | -compactionTimeout | +compactionTimeout 300000',
  awaitingApproval: 'runCalls | askPerson | -approvalDeadline | +approvalDeadline 300000',
  executingTools: 'runCalls',
  awaitingReview: 'askPerson',
  forceStop: `callModel | ${LOUD} | ${QUIET}`,
};
const PHASES = Object.keys(PATH_TO);
const disarmed = (phase: string) => (ENTERED_AGAIN[phase] ?? '').split(' | ').filter((part) => part.startsWith('-'));

describe('the plan of a step', () => {
  it('begins in setup, with a forced checkpoint: the input is durable before anything is done for it', () => {
    expect(lineOf(firstStep(turnMachine, { turnId: 't1', limits: UNWATCHED }))).toBe(
      'setup | forced | loadSession | +setupTimeout 60000',
    );
  });

  for (const [phase, event, line] of TABLE) {
    it(`${phase}: ${event.type} -> ${line}`, () => {
      expect(planAfter(phase, event)).toBe(line);
    });
  }

  it('covers every phase', () => {
    expect(new Set(TABLE.map(([phase]) => phase))).toEqual(new Set(PHASES));
  });

  it('joins waiting input on the way to the model, before the checkpoint that removes it from the inbox (I11)', () => {
    const { snapshot } = play(inPhase('executingTools'), [{ type: 'input.arrived', waiting: 2 }]);
    expect(lineOf(step(turnMachine, snapshot, settled()))).toBe(
      `awaitingLLM | debounced | edit joinInput | callModel | ${QUIET}`,
    );
  });

  it('takes the stronger of two directives, in whichever order they come', () => {
    // A debounced one of the batch, then the forced one of forceStop.
    expect(planAfter('executingTools', settled({ stop: 'x' }))).toContain('forceStop | forced |');
    // The forced one of the compaction, then the debounced one of input that joins.
    const { snapshot } = play(inPhase('compacting'), [{ type: 'input.arrived', waiting: 1 }]);
    expect(lineOf(step(turnMachine, snapshot, compacted))).toContain('awaitingLLM | forced | edit joinInput |');
  });
});

describe('in every phase', () => {
  it.each(PHASES)('%s: a resume enters it again, with its effects and time-outs and no directive', (phase) => {
    const limits = phase === 'awaitingApproval' ? WATCHED : UNWATCHED;
    expect(planAfter(phase, { type: 'turn.resumed', limits })).toBe(`${phase} | none | ${ENTERED_AGAIN[phase]}`);
  });

  it.each(PHASES)('%s: cancel and fault end the turn and disarm what was armed', (phase) => {
    const end = ['forced', ...disarmed(phase)].join(' | ');
    expect(planAfter(phase, { type: 'turn.cancelled' })).toBe(`cancelled final | ${end}`);
    expect(planAfter(phase, { type: 'turn.faulted', reason: 'x' })).toBe(`failed final | ${end}`);
  });

  it.each(PHASES)('%s: a hand-over and new input move nothing (case C7)', (phase) => {
    expect(planAfter(phase, { type: 'turn.handedOver' })).toBe(`${phase} stays | forced`);
    expect(planAfter(phase, { type: 'input.arrived', waiting: 1 })).toBe(`${phase} stays | none`);
  });

  it('an event of another phase, or none of the chart, asks for nothing', () => {
    expect(planAfter('executingTools', answered())).toBe('executingTools stays | none');
    expect(planAfter('awaitingLLM', settled())).toBe('awaitingLLM stays | none');
    expect(planAfter('executingTools', { type: 'model.invented' } as never)).toBe('executingTools stays | none');
    expect(planAfter('executingTools', hardIdle)).toBe('executingTools stays | none');
  });
});

describe('a turn that is over', () => {
  it('does not move, whatever happens (I8)', () => {
    const ends = [
      step(turnMachine, inPhase('awaitingLLM').snapshot, answered()),
      step(turnMachine, inPhase('forceStop').snapshot, answered()),
      step(turnMachine, inPhase('awaitingLLM').snapshot, hardIdle),
      step(turnMachine, inPhase('executingTools').snapshot, { type: 'turn.cancelled' }),
    ];
    expect(ends.map((plan) => plan?.phase)).toEqual(['completed', 'stopped', 'failed', 'cancelled']);
    for (const plan of ends) {
      for (const event of [answered(), { type: 'turn.resumed', limits: UNWATCHED }, hardIdle] as TurnEvent[]) {
        expect(step(turnMachine, (plan as Plan).next, event)).toBeUndefined();
      }
      expect(step(turnMachine, (plan as Plan).next, { type: 'turn.faulted', reason: 'x' })).toBeUndefined();
    }
  });
});

describe('timers', () => {
  it('are named by delay and state, so that their moments can be kept across restarts (I13)', () => {
    const plan = step(turnMachine, inPhase('awaitingLLM').snapshot, modelFailed('network'));
    expect(plan?.timers.at(-1)).toEqual({ kind: 'arm', id: 'xstate.after.backOff.retryingLLM', delayMs: 1000 });
    expect(planAfter('retryingLLM', { type: 'xstate.after.backOff.retryingLLM' })).toContain('awaitingLLM');
  });

  it('are not made of raises without a delay: those are applied already', () => {
    const raising = turnMachine.provide({ actions: { noteInput: raise({ type: 'turn.handedOver' }) } });
    const plan = step(raising, firstStep(raising, { turnId: 't1', limits: UNWATCHED }).next, {
      type: 'input.arrived',
      waiting: 1,
    });
    expect([plan?.timers, plan?.directive]).toEqual([[], 'forced']);
  });

  it('count silence only in the phases that wait for the model (I13, case C26)', () => {
    const idle = PHASES.filter((phase) => isIdle(inPhase(phase).snapshot));
    expect(idle).toEqual(['awaitingLLM', 'forceStop']);
  });

  it('keep their moment across a restart where something outside is waited for, and nowhere else (case C16)', () => {
    const kept = PHASES.filter((phase) => keepsDeadlines(inPhase(phase).snapshot));
    expect(kept).toEqual(['retryingLLM', 'awaitingApproval', 'executingTools', 'awaitingReview']);
  });
});

describe('phaseOf', () => {
  it('is the child of `running`, or the final state', () => {
    for (const phase of PHASES) expect(phaseOf(inPhase(phase).snapshot)).toBe(phase);
    expect(phaseOf({ value: 'cancelled' })).toBe('cancelled');
    expect(phaseOf({ value: { running: { awaitingLLM: 'quiet' } } })).toBe('awaitingLLM');
  });
});
