// Time in the chart: the watchdog counts the silence of the model and nothing else, and what is off stays off
// (I13, case C26).
import { describe, expect, it } from 'vitest';
import { type Limits, type TurnEvent, turnMachine } from '../../machines/index.js';
import { edgesOf, lineOf } from './chart.js';
import {
  ALL_OFF,
  answered,
  begin,
  hardIdle,
  hardIdleInForceStop,
  inPhase,
  modelFailed,
  OFF,
  PATH_TO,
  phaseOf,
  play,
  progressed,
  reading,
  send,
  settled,
  softIdle,
  timedOut,
  UNWATCHED,
  WATCHED,
  waiting,
} from './turn-runs.js';

const IDLE = [
  ['awaitingLLM', 'awaitingLLMQuiet'],
  ['forceStop', 'forceStopQuiet'],
] as const;

describe.each(IDLE)('the watchdog of %s', (phase, quiet) => {
  const soft = timedOut('softTimeout', quiet);
  const hard = timedOut('hardTimeout', quiet);
  const both = { [`softTimeout ${quiet}`]: 90_000, [`hardTimeout ${quiet}`]: 540_000 };

  it('is armed by entering the phase', () => {
    expect(inPhase(phase).armed).toEqual(both);
  });

  it('is armed anew by content of the model, without calling the model again (case C26)', () => {
    const ran = send(inPhase(phase), progressed);
    expect([ran.armed, ran.actions]).toEqual([both, []]);
    expect([...ran.disarmed].sort()).toEqual(Object.keys(both).sort());
  });

  it('announces a silence once and changes nothing: the hard one still counts from its beginning', () => {
    const ran = send(inPhase(phase), soft);
    expect([phaseOf(ran.snapshot), ran.actions]).toEqual([phase, ['announceSoftIdle']]);
    // Nothing arms the soft time-out again before the model says something.
    expect([ran.armed, ran.disarmed]).toEqual([{}, []]);
  });

  it('ends the turn by its hard time-out', () => {
    const ran = send(inPhase(phase), hard);
    expect([ran.snapshot.value, ran.snapshot.context.cause]).toEqual(['failed', { kind: 'hardIdle' }]);
    expect(ran.actions).toEqual(['checkpointNow']);
  });

  it('is disarmed by leaving the phase', () => {
    const left = send(inPhase(phase), { type: 'turn.cancelled' });
    expect([...left.disarmed].sort()).toEqual(Object.keys(both).sort());
  });

  it('that is off has a delay Node can hold, and a guard for the day it is over', () => {
    const armed = inPhase(phase, ALL_OFF).armed;
    expect(armed).toEqual({ [`softTimeout ${quiet}`]: OFF, [`hardTimeout ${quiet}`]: OFF });
    const ran = play(inPhase(phase, ALL_OFF), [soft]);
    expect([phaseOf(ran.snapshot), ran.actions]).toEqual([phase, []]);
    expect(phaseOf(play(ran, [hard]).snapshot)).toBe(phase);
  });

  it('can be off by halves: a person who watches is told of a silence, and ends it', () => {
    const ran = play(inPhase(phase, WATCHED), [soft]);
    expect(ran.actions).toEqual(['announceSoftIdle']);
    expect(phaseOf(send(ran, hard).snapshot)).toBe(phase);
  });
});

describe('hard idle', () => {
  it('goes before everything that recovering could do: a retry, a compaction, a stop, a nudge', () => {
    const ways: readonly (readonly TurnEvent[])[] = [
      [modelFailed('network'), timedOut('backOff', 'retryingLLM')],
      [{ type: 'input.arrived', waiting: 1 }],
      [answered(reading), settled({ nudge: true })],
      [answered(reading), settled({ compact: true }), { type: 'compaction.applied' }],
    ];
    for (const way of ways) expect(play(waiting(), [...way, hardIdle]).snapshot.value).toBe('failed');
    expect(send(inPhase('forceStop'), hardIdleInForceStop).snapshot.value).toBe('failed');
  });

  it.each(Object.keys(PATH_TO).filter((phase) => phase !== 'awaitingLLM' && phase !== 'forceStop'))(
    'is nothing to %s: a time-out of a phase that was left ends no other',
    (phase) => {
      for (const event of [hardIdle, hardIdleInForceStop, softIdle]) {
        const ran = send(inPhase(phase), event);
        expect([phaseOf(ran.snapshot), ran.actions]).toEqual([phase, []]);
      }
    },
  );

  it('of the phase before is nothing to the next call of the model while another phase is between them', () => {
    const next = play(waiting(), [modelFailed('network'), hardIdle, timedOut('backOff', 'retryingLLM')]);
    expect(phaseOf(next.snapshot)).toBe('awaitingLLM');
  });
});

describe('the other time-outs', () => {
  const table: readonly (readonly [string, Record<string, number>, TurnEvent, string])[] = [
    ['setup', { 'setupTimeout setup': 60_000 }, timedOut('setupTimeout', 'setup'), 'failed'],
    ['retryingLLM', { 'backOff retryingLLM': 1_000 }, timedOut('backOff', 'retryingLLM'), 'awaitingLLM'],
    ['compacting', { 'compactionTimeout compacting': 300_000 }, timedOut('compactionTimeout', 'compacting'), 'failed'],
    [
      'awaitingApproval',
      { 'approvalDeadline awaitingApproval': 300_000 },
      timedOut('approvalDeadline', 'awaitingApproval'),
      'executingTools',
    ],
  ];

  it.each(table)('of %s is %o', (phase, armed, event, after) => {
    expect(inPhase(phase).armed).toEqual(armed);
    expect(phaseOf(send(inPhase(phase), event).snapshot)).toBe(after);
  });

  it('of setup acts as session.failed', () => {
    const { snapshot } = send(begin(), timedOut('setupTimeout', 'setup'));
    expect([snapshot.value, snapshot.context.cause]).toEqual(['failed', { kind: 'setup', reason: 'timeout' }]);
  });

  it('are none in executingTools and awaitingReview: tools have their own, and a person has all the time there is', () => {
    for (const phase of ['executingTools', 'awaitingReview']) expect(inPhase(phase).armed).toEqual({});
  });

  it('of an approval can be off: a request then waits until somebody comes', () => {
    const off: Limits = { ...UNWATCHED, approvalMs: 0 };
    const asked = inPhase('awaitingApproval', off);
    expect(asked.armed).toEqual({ 'approvalDeadline awaitingApproval': OFF });
    expect(phaseOf(send(asked, timedOut('approvalDeadline', 'awaitingApproval')).snapshot)).toBe('awaitingApproval');
  });

  it('of an approval counts anew for a call that has to be asked again', () => {
    const again = play(inPhase('awaitingApproval'), [{ type: 'approvals.decided' }, { type: 'approvals.needed' }]);
    expect(again.armed).toEqual({ 'approvalDeadline awaitingApproval': 300_000 });
    expect(again.actions).toEqual(['checkpointNow', 'runCalls', 'askPerson']);
  });

  it('have a guard wherever a limit of 0 means that they are off', () => {
    const unguarded = edgesOf(turnMachine).filter(
      ({ on, guard }) => /^after (soft|hard|approval)/.test(on) && guard === null,
    );
    expect(unguarded.map(lineOf)).toEqual([]);
  });
});
