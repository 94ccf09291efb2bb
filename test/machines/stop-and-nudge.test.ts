// Stops and nudges: who ends a turn before its time, in which order, and how a model that lost its way is told
// (DESIGN section 4, branches 4 to 6).
import { describe, expect, it } from 'vitest';
import { type CallFacts, type ModelFault, NUDGE_WINDOW, NUDGES, type TurnEvent } from '../../machines/index.js';
import {
  answered,
  answeredToGoOn,
  answeredWith,
  asking,
  begin,
  compacted,
  compactionRefused,
  hardIdleInForceStop,
  inPhase,
  loaded,
  modelFailed,
  phaseOf,
  play,
  type Ran,
  reading,
  send,
  sending,
  settled,
  stopRequested,
  UNWATCHED,
  WATCHED,
  waiting,
} from './turn-runs.js';

const stopping = () => inPhase('forceStop');

describe('a stop that is asked for', () => {
  it.each(['awaitingLLM', 'retryingLLM'])(
    'is taken up at once in %s, which waits for nothing that a stop needs',
    (phase) => {
      const ran = send(inPhase(phase), stopRequested);
      expect(phaseOf(ran.snapshot)).toBe('forceStop');
      expect(ran.snapshot.context.stopping).toBe('the user said stop');
    },
  );

  it.each([
    ['setup', [loaded]],
    ['compacting', [compacted]],
    ['compacting', [compactionRefused]],
    ['executingTools', [settled()]],
    ['awaitingApproval', [{ type: 'approvals.decided' }, settled()]],
    ['awaitingReview', [{ type: 'calls.reviewed' }, settled()]],
  ] as readonly (readonly [string, readonly TurnEvent[]])[])(
    'in %s waits until the phase has done its work',
    (phase, events) => {
      const noted = send(inPhase(phase), stopRequested);
      expect([phaseOf(noted.snapshot), noted.actions]).toEqual([phase, []]);
      expect(phaseOf(play(noted, events).snapshot)).toBe('forceStop');
    },
  );

  it('keeps its first reason', () => {
    const ran = play(inPhase('executingTools'), [
      stopRequested,
      { type: 'stop.requested', reason: 'another' },
      settled({ stop: 'a third' }),
    ]);
    expect([ran.snapshot.context.stopAsked, ran.snapshot.context.stopping]).toEqual([
      'the user said stop',
      'the user said stop',
    ]);
  });

  it('has its reason from the batch, where a limit or the loop detector asks', () => {
    const ran = send(inPhase('executingTools'), settled({ stop: 'maxIterations' }));
    expect([phaseOf(ran.snapshot), ran.snapshot.context.stopping]).toEqual(['forceStop', 'maxIterations']);
  });

  it('goes before a nudge and before a compaction of the same batch', () => {
    const all = settled({ stop: 'loop', nudge: true, compact: true });
    expect(phaseOf(send(inPhase('executingTools'), all).snapshot)).toBe('forceStop');
    const rest = send(inPhase('executingTools'), settled({ nudge: true, compact: true }));
    expect([phaseOf(rest.snapshot), rest.actions.includes('nudge')]).toEqual(['awaitingLLM', true]);
  });

  it('goes before input that waits: the inbox starts the next turn with it', () => {
    const ran = play(begin(), [stopRequested, { type: 'input.arrived', waiting: 1 }, loaded]);
    expect([phaseOf(ran.snapshot), ran.snapshot.context.pendingInput]).toEqual(['forceStop', 1]);
    expect(ran.actions).not.toContain('joinInput');
  });

  it('does not call the model for a session that could not be loaded', () => {
    const ran = play(begin(), [stopRequested, { type: 'session.failed', reason: 'gone' }]);
    expect([ran.snapshot.value, ran.snapshot.context.cause]).toEqual(['failed', { kind: 'setup', reason: 'gone' }]);
  });

  it('under way, is asked for again without any effect', () => {
    const ran = send(stopping(), { type: 'stop.requested', reason: 'again' });
    expect([phaseOf(ran.snapshot), ran.actions, ran.armed]).toEqual(['forceStop', [], {}]);
  });
});

describe('forceStop', () => {
  const batches: readonly (readonly CallFacts[])[] = [[], [reading], [sending], [asking], [reading, sending, asking]];

  it.each(batches.map((calls) => [calls.length, calls] as const))(
    'ends the turn as stopped and runs none of the %i calls in the last answer',
    (_, calls) => {
      const ran = send(stopping(), answered(...calls));
      expect([ran.snapshot.value, ran.actions]).toEqual(['stopped', ['checkpointNow']]);
    },
  );

  it('ends as stopped even when the model wants to go on, or input waits', () => {
    expect(send(stopping(), answeredToGoOn).snapshot.value).toBe('stopped');
    expect(play(stopping(), [{ type: 'input.arrived', waiting: 1 }, answered()]).snapshot.value).toBe('stopped');
  });

  it('ends as stopped when the last answer is a fault or does not come: what there is, is the partial answer', () => {
    for (const fault of ['empty', 'cutOff', 'filtered', 'noCallCanRun'] as const) {
      expect(send(stopping(), answeredWith(fault)).snapshot.value).toBe('stopped');
    }
    for (const kind of ['network', 'rateLimited', 'auth', 'other'] as const) {
      expect(send(stopping(), modelFailed(kind)).snapshot.value).toBe('stopped');
    }
  });

  it('comes back from a compaction that the last call needs, and ends as stopped if it is refused', () => {
    const compacting = send(stopping(), modelFailed('contextLength'));
    expect(phaseOf(compacting.snapshot)).toBe('compacting');
    expect(phaseOf(send(compacting, compacted).snapshot)).toBe('forceStop');
    expect(send(compacting, compactionRefused).snapshot.value).toBe('stopped');
    expect(play(compacting, [compacted, modelFailed('contextLength')]).snapshot.value).toBe('stopped');
  });

  it('fails on a hard idle time-out, which goes before everything: nobody knows what the model did', () => {
    const ran = send(stopping(), hardIdleInForceStop);
    expect([ran.snapshot.value, ran.snapshot.context.cause]).toEqual(['failed', { kind: 'hardIdle' }]);
  });
});

describe('a nudge', () => {
  const nudged = ({ actions }: Ran) => actions.includes('nudge');
  /** One healthy iteration: an answer with a call, and its result. */
  const healthy: readonly TurnEvent[] = [answered(reading), settled()];
  const iterations = (count: number) => Array.from({ length: count }, () => healthy).flat();

  it.each(['empty', 'cutOff', 'noCallCanRun'] as const)(
    'answers an %s answer, and the model is called again',
    (fault) => {
      const ran = send(waiting(), answeredWith(fault));
      expect([phaseOf(ran.snapshot), nudged(ran)]).toEqual(['awaitingLLM', true]);
      expect(ran.snapshot.context.cause).toEqual({ kind: 'modelFault', fault });
    },
  );

  it('answers a loop that the batch saw, without counting its answer twice', () => {
    const ran = send(inPhase('executingTools'), settled({ nudge: true }));
    expect([phaseOf(ran.snapshot), nudged(ran)]).toEqual(['awaitingLLM', true]);
    expect([ran.snapshot.context.iterations, ran.snapshot.context.nudges]).toEqual([1, [1]]);
  });

  it('is never given for a filtered answer: asked again, the provider says the same', () => {
    const ran = send(waiting(), answeredWith('filtered'));
    expect([ran.snapshot.value, nudged(ran)]).toEqual(['failed', false]);
  });

  it('is edited in before input that waits joins, in the same step', () => {
    const ran = play(waiting(), [{ type: 'input.arrived', waiting: 1 }, answeredWith('empty')]);
    expect(ran.actions).toEqual(['checkpoint', 'nudge', 'joinInput', 'checkpoint', 'callModel']);
  });

  it(`is given ${NUDGES} times in a row, and the next fault ends the turn`, () => {
    const faults = (count: number) => Array.from({ length: count }, () => answeredWith('empty'));
    expect(phaseOf(play(waiting(), faults(NUDGES)).snapshot)).toBe('awaitingLLM');
    const ended = play(waiting(), faults(NUDGES + 1));
    expect([ended.snapshot.value, nudged(ended)]).toEqual(['failed', false]);
  });

  it('is counted over the last ten iterations only: the edge of the window', () => {
    const fault = answeredWith('empty');
    // The first nudge is at iteration 1; at iteration 10 it is still among the last ten, at 11 it is not.
    const before = [fault, fault, fault];
    const within = play(waiting(), [...before, ...iterations(NUDGE_WINDOW - 4), fault]);
    const beyond = play(waiting(), [...before, ...iterations(NUDGE_WINDOW - 3), fault]);
    expect([within.snapshot.context.iterations, within.snapshot.value]).toEqual([10, 'failed']);
    expect([beyond.snapshot.context.iterations, phaseOf(beyond.snapshot)]).toEqual([11, 'awaitingLLM']);
  });

  it('does not end a long healthy turn, however many it was given over the day', () => {
    const day = Array.from({ length: 30 }, () => [...iterations(9), answeredWith('empty')]).flat();
    const ran = play(waiting(), day);
    expect([phaseOf(ran.snapshot), ran.snapshot.context.iterations]).toEqual(['awaitingLLM', 300]);
    // Only the latest are kept: a context does not grow with the turn.
    expect(ran.snapshot.context.nudges).toEqual([280, 290, 300]);
  });

  it('is never given once a stop is under way', () => {
    const faults: readonly ModelFault[] = ['empty', 'cutOff', 'noCallCanRun'];
    for (const fault of faults) expect(nudged(send(stopping(), answeredWith(fault)))).toBe(false);
  });
});

describe('an answer of the model', () => {
  const phaseAfter = (event: TurnEvent, limits = UNWATCHED) => phaseOf(send(waiting(limits), event).snapshot);

  it.each([
    ['completed', answered()],
    ['awaitingLLM', answeredToGoOn],
    ['executingTools', answered(reading)],
    ['executingTools', answered(sending, reading)],
    ['awaitingApproval', answered(reading, asking)],
  ] as const)('leads to %s: %o', (phase, event) => {
    expect(phaseAfter(event)).toBe(phase);
    expect(phaseAfter(event, WATCHED)).toBe(phase);
  });

  it('cannot complete the turn past input that waits (I11)', () => {
    const ran = play(waiting(), [{ type: 'input.arrived', waiting: 1 }, answered()]);
    expect([phaseOf(ran.snapshot), ran.actions]).toEqual([
      'awaitingLLM',
      ['checkpoint', 'joinInput', 'checkpoint', 'callModel'],
    ]);
  });

  it('completes the turn when the input was withdrawn again: the number is absolute', () => {
    const ran = play(waiting(), [
      { type: 'input.arrived', waiting: 2 },
      { type: 'input.arrived', waiting: 0 },
      answered(),
    ]);
    expect(ran.snapshot.value).toBe('completed');
  });

  it('dispatches nothing where it is a fault, even one that carries calls', () => {
    const cutOff: TurnEvent = { type: 'model.answered', calls: [sending, asking], fault: 'cutOff', goesOn: false };
    const ran = send(waiting(), cutOff);
    expect([phaseOf(ran.snapshot), ran.actions.includes('runCalls')]).toEqual(['awaitingLLM', false]);
  });
});
