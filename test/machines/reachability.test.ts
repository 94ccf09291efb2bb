// Every state and every edge of the charts can be reached, and from everywhere there is a way to an end. Generated from
// the charts by @xstate/graph, so that a phase added later is walked without a new test.
import { getShortestPaths } from '@xstate/graph';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, getInitialMicrosteps, getMicrosteps } from 'xstate';
import {
  type CallEvent,
  callMachine,
  type Effect,
  type RecoveryEvent,
  type RecoveryFacts,
  recoveryMachine,
  turnMachine,
} from '../../machines/index.js';
import { activeIds, alwaysTaken, edgesOf, edgeTaken, eventTypesOf, lineOf, statesOf } from './chart.js';
import { edgeCount, eventsOf, stuckIn, type Walk, walkOf, walkTurns } from './explore.js';
import { FACT_SETS } from './recovery-facts.js';
import { ALL_OFF, begin, play, UNWATCHED, WATCHED } from './turn-runs.js';

interface Snapshot {
  readonly status: string;
  readonly value: unknown;
  readonly context: unknown;
}

const ended = ({ status }: Snapshot) => status !== 'active';
const wholeKey = ({ value, context }: Snapshot) => JSON.stringify({ value, context });

/** States and edges that no walk came through. Transient states are in no stable snapshot: microsteps show them. */
function unreached(
  machine: AnyStateMachine,
  inputs: readonly unknown[],
  walks: readonly Walk<any, { readonly type: string }>[],
): { states: string[]; edges: string[] } {
  const states = new Set<string>();
  const edges = new Set<string>();
  const through = (steps: readonly (readonly [any, unknown])[], event: { readonly type: string }) => {
    for (const [snapshot] of steps) {
      for (const id of activeIds(snapshot)) states.add(id);
      const next = snapshot.status === 'active' ? alwaysTaken(machine, snapshot, event) : null;
      if (next !== null) edges.add(lineOf(next));
    }
  };
  for (const input of inputs) through(getInitialMicrosteps(machine, input), { type: 'xstate.init' });
  for (const { state, ways } of walks.flat()) {
    for (const { event } of ways) {
      const taken = edgeTaken(machine, state, event);
      if (taken !== null) edges.add(lineOf(taken));
      through(getMicrosteps(machine, state, event), event);
    }
  }
  return {
    // A history state is never active itself, and an initial edge is taken by whatever enters its state.
    states: statesOf(machine).flatMap(({ id, type }) => (type === 'history' || states.has(id) ? [] : [id])),
    edges: edgesOf(machine)
      .filter(({ on }) => on !== 'initial')
      .map(lineOf)
      .filter((line) => !edges.has(line)),
  };
}

describe('the turn chart', () => {
  const unwatched = walkTurns(UNWATCHED);
  const off = walkTurns(ALL_OFF);
  const walks = [unwatched, walkTurns(WATCHED), off];

  it('has no state and no edge that nothing leads to', () => {
    const input = { turnId: 't1', limits: UNWATCHED };
    expect(unreached(turnMachine, [input], [unwatched])).toEqual({ states: [], edges: [] });
  });

  it('would show an edge that no turn can take: where the limits are off, nothing takes theirs', () => {
    const input = { turnId: 't1', limits: ALL_OFF };
    const { edges } = unreached(turnMachine, [input], [off]);
    expect(edges).toEqual([
      'awaitingLLMQuiet: after softTimeout [softOn] -> (stays)',
      'awaitingLLMQuiet: after hardTimeout [hardOn] -> recovering',
      'awaitingApproval: after approvalDeadline [approvalDeadlineOn] -> executingTools',
      'forceStopQuiet: after softTimeout [softOn] -> (stays)',
      'forceStopQuiet: after hardTimeout [hardOn] -> recovering',
      'recovering: always [hardIdle] -> failed',
    ]);
  });

  it('is small enough to be walked whole, and large enough that the walk saw something', () => {
    for (const walk of walks) {
      expect(walk.length).toBeGreaterThan(500);
      expect(edgeCount(walk)).toBeGreaterThan(5_000);
    }
  });

  it('has a way to an end from every state, without a person who cancels and without a fault', () => {
    const escapes = ['turn.cancelled', 'turn.faulted'];
    for (const walk of walks) expect(stuckIn(walk, ended, ({ type }) => !escapes.includes(type))).toEqual([]);
  });

  it('can be cancelled in every state, and reaches `completed` from all of them until a stop is asked for', () => {
    for (const walk of walks) {
      const active = walk.filter(({ state }) => !ended(state));
      expect(active.filter(({ state }) => !state.can({ type: 'turn.cancelled' }))).toEqual([]);
      const hopeless = new Set(stuckIn(walk, ({ value }) => value === 'completed'));
      const wrong = active.filter(({ key, state }) => hopeless.has(key) !== (state.context.stopAsked !== null));
      expect(wrong.map(({ key }) => key)).toEqual([]);
    }
  });

  it('gives test paths that replay: each phase is reached by the events of its shortest path', () => {
    const paths = getShortestPaths(turnMachine, {
      input: { turnId: 't1', limits: UNWATCHED },
      events: eventsOf,
      // Phases are all that is asked for here; the counters would only make more paths to the same ones.
      serializeState: ({ value }) => JSON.stringify(value),
      stopWhen: ended,
      limit: 10_000,
    });
    const transient = ['injectingMessage', 'recovering', 'lastPhase'];
    const stable = statesOf(turnMachine).filter(({ id }) => !transient.includes(id));
    expect(new Set(paths.flatMap(({ state }) => activeIds(state)))).toEqual(new Set(stable.map(({ id }) => id)));
    for (const { state, steps } of paths) {
      // The first step of a path is the start itself, under a name of XState's own.
      const events = steps.map(({ event }) => event).filter(({ type }) => !String(type).startsWith('xstate.init'));
      expect(play(begin(UNWATCHED), events).snapshot.value).toEqual(state.value);
    }
  });
});

describe('the recovery chart', () => {
  const events: readonly RecoveryEvent[] = [
    { type: 'attempt.committed' },
    { type: 'checkpoint.decoded' },
    { type: 'checkpoint.unreadable', reason: 'an unknown version' },
    { type: 'doubts.found', unreconcilable: 0 },
    { type: 'doubts.found', unreconcilable: 1 },
  ];
  const walkFor = (input: RecoveryFacts) =>
    walkOf(recoveryMachine, {
      input,
      events: (state) => events.filter(({ type }) => eventTypesOf(state).includes(type)),
      key: wholeKey,
    });

  it('has no gate, no verdict and no edge that nothing leads to', () => {
    expect(unreached(recoveryMachine, FACT_SETS, FACT_SETS.map(walkFor))).toEqual({ states: [], edges: [] });
  });

  it('has a verdict for every turn, whatever the facts', () => {
    for (const facts of FACT_SETS) expect(stuckIn(walkFor(facts), ended)).toEqual([]);
  });
});

describe('the call chart', () => {
  const EFFECTS: readonly Effect[] = ['none', 'idempotent', 'external'];
  const walkFor = (effect: Effect) =>
    walkOf(callMachine, {
      input: { effect },
      events: (state) => eventTypesOf(state).map((type) => ({ type }) as CallEvent),
      key: wholeKey,
    });

  it('has no state and no edge that nothing leads to', () => {
    const inputs = EFFECTS.map((effect) => ({ effect }));
    expect(unreached(callMachine, inputs, EFFECTS.map(walkFor))).toEqual({ states: [], edges: [] });
  });

  it('has an outcome for every call, whatever it does to the world', () => {
    for (const effect of EFFECTS) {
      const walk = walkFor(effect);
      expect(walk.length).toBe(6);
      expect(stuckIn(walk, ended)).toEqual([]);
    }
  });
});
