// The phases of the turn, the two transient points every turn passes, and the gates of recovery: what the tables of
// DESIGN sections 4 and 8 say, read from the charts.

import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { MAX_MICROSTEPS, recoveryMachine, turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { edgesFrom, edgesOf, lineOf, mutantOf, statesOf } from './chart.js';
import { answered, begin, play, send } from './turn-runs.js';

describe('the phases of the turn chart', () => {
  const watched = (machine: AnyStateMachine) =>
    statesOf(machine).flatMap(({ id, delays }) =>
      delays.includes('softTimeout') || delays.includes('hardTimeout') ? [`${id}: ${delays.join(', ')}`] : [],
    );

  it('are idle in exactly awaitingLLM and forceStop, the single source for everything that asks (I13)', () => {
    const idle = statesOf(turnMachine).filter(({ tags }) => tags.includes('idle'));
    expect(idle.map(({ id }) => id)).toEqual(['awaitingLLM', 'forceStop']);
  });

  it('have the watchdog in the idle ones and in no other: time of tools is never idle (I13, case C26)', () => {
    expect(watched(turnMachine)).toEqual([
      'awaitingLLMQuiet: softTimeout, hardTimeout',
      'forceStopQuiet: softTimeout, hardTimeout',
    ]);
  });

  it('do their work anew after a restart in exactly setup and compacting, so their time-out is armed anew too', () => {
    const redone = statesOf(turnMachine).filter(({ tags }) => tags.includes('redone'));
    expect(redone.map(({ id }) => id)).toEqual(['setup', 'compacting']);
    const tags = new Set(statesOf(turnMachine).flatMap((state) => state.tags));
    expect([...tags].sort()).toEqual(['idle', 'redone']);
  });

  it('are bounded by the time-outs of the design, and by no others', () => {
    const bounded = statesOf(turnMachine).filter(({ delays }) => delays.length > 0);
    expect(Object.fromEntries(bounded.map(({ id, delays }) => [id, delays.join(' ')]))).toEqual({
      setup: 'setupTimeout',
      awaitingLLMQuiet: 'softTimeout hardTimeout',
      retryingLLM: 'backOff',
      compacting: 'compactionTimeout',
      awaitingApproval: 'approvalDeadline',
      forceStopQuiet: 'softTimeout hardTimeout',
    });
  });

  it('end in four final states, which have no way out (I8)', () => {
    const finals = statesOf(turnMachine).filter(({ type }) => type === 'final');
    expect(finals.map(({ id }) => id)).toEqual(['completed', 'stopped', 'failed', 'cancelled']);
    // An edge of the root would hold in final phases as well, and XState moves a finished snapshot when it is told to.
    const leaving = ['turn', ...finals.map(({ id }) => id)];
    expect(edgesOf(turnMachine).filter(({ from, on }) => leaving.includes(from) && on !== 'initial')).toEqual([]);
  });
});

describe('the dispatch point `recovering`', () => {
  const priorities = (machine: AnyStateMachine) => edgesFrom(machine, 'recovering', 'always').map(lineOf);
  const ORDER = [
    'recovering: always [hardIdle] -> failed',
    'recovering: always [contextLengthOnce] -> compacting',
    'recovering: always [retryable] -> retryingLLM',
    'recovering: always [stopAsked] -> forceStop',
    'recovering: always [nudgeable] -> injectingMessage',
    'recovering: always [stopping] -> stopped',
    'recovering: always -> failed',
  ];

  it('asks in the order of the design: the order is the policy', () => {
    expect(priorities(turnMachine)).toEqual(ORDER);
  });

  it('is another policy when two branches change places, and the test sees it', () => {
    const swapped = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      const always = config.states.running.states.recovering.always;
      [always[2], always[3]] = [always[3], always[2]];
    });
    expect(priorities(swapped)).not.toEqual(ORDER);
  });

  it('is told its cause by every edge that leads to it (m: a stale cause picked the wrong branch)', () => {
    const causes = ['recordHardIdle', 'recordModelError', 'recordModelFault', 'recordLoop', 'recordStop'];
    const silent = edgesOf(turnMachine).filter(
      ({ to, actions }) =>
        to === 'recovering' && !actions.some((name) => [...causes, 'recordCompactionRefused'].includes(name)),
    );
    expect(silent.map(lineOf)).toEqual([]);
  });

  it('is not asked after a failed setup: no branch of it could run without a session', () => {
    expect(edgesOf(turnMachine).filter(({ from, to }) => from === 'setup' && to === 'recovering')).toEqual([]);
  });
});

describe('the way into awaitingLLM', () => {
  it('is injectingMessage alone, so that no input can be passed by (I11)', () => {
    const ways = edgesOf(turnMachine).filter(({ to }) => to === 'awaitingLLM');
    expect(ways.map(lineOf)).toEqual([
      'injectingMessage: always [inputPending] -> awaitingLLM',
      'injectingMessage: always -> awaitingLLM',
    ]);
  });

  it('never leads out of a stop under way', () => {
    expect(edgesFrom(turnMachine, 'injectingMessage', 'always').map(lineOf).slice(0, 2)).toEqual([
      'injectingMessage: always [stopping] -> forceStop',
      'injectingMessage: always [stopAsked] -> recovering',
    ]);
  });
});

describe('a chart that loops in `always`', () => {
  it('is bounded by the limit that limits.ts names', () => {
    expect(turnMachine.options.maxIterations).toBe(MAX_MICROSTEPS);
  });

  it('throws instead of holding the thread for ever, whatever guards an application provides', () => {
    let asked = 0;
    // Impure on purpose: injectingMessage sees a stop, recovering does not and nudges, and so on without end.
    const looping = turnMachine.provide({ guards: { stopAsked: () => asked++ % 2 === 0, nudgeable: () => true } });
    expect(() => send(begin(undefined, looping), { type: 'session.loaded' }, looping)).toThrow(/infinite loop|limit/i);
  });

  it('leaves a turn that can still be ended, because turn.faulted needs no guard', () => {
    const ended = play(begin(), [{ type: 'turn.faulted', reason: 'a guard threw' }, answered()]);
    expect(ended.snapshot.value).toBe('failed');
    expect(ended.snapshot.context.cause).toEqual({ kind: 'policy', reason: 'a guard threw' });
  });
});

describe('the gates of recovery', () => {
  it('are asked in the order of the design, and the last branch of each needs nothing', () => {
    expect(
      edgesOf(recoveryMachine)
        .filter(({ on }) => on !== 'initial')
        .map(lineOf),
    ).toEqual([
      'owner: always [owned] -> leftAlone',
      'owner: always -> identity',
      'identity: always [superseded] -> supersededTurn',
      'identity: always -> outcome',
      'outcome: always [ended] -> deliverOutcome',
      'outcome: always [byPerson] -> attempt',
      'outcome: always -> person',
      'person: always [waits] -> parked',
      'person: always [deadlinePassed] -> staleness',
      'person: always -> switch',
      'switch: always [switchedOff] -> held',
      'switch: always -> staleness',
      'staleness: always [stale] -> abandonedStale',
      'staleness: always -> attempts',
      'attempts: always [attemptsUsedUp] -> abandonedAttempts',
      'attempts: always -> attempt',
      'attempt: attempt.committed -> checkpoint',
      'checkpoint: checkpoint.decoded -> doubts',
      'checkpoint: checkpoint.unreadable -> abandonedUnreadable',
      'doubts: doubts.found [unreconcilable] -> reviewRequired',
      'doubts: doubts.found -> resumed',
    ]);
  });
});
