// A restart is one arrow of the chart: restoreSnapshot, then `turn.resumed` (case C6: exactly the saved phase). Asked in
// every state a turn can rest in, because a checkpoint may be of any of them.

import { describe, expect, it } from 'vitest';
import { assign } from 'xstate';
import { type TurnEvent, type TurnMachine, turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { mutantOf, statesOf } from './chart.js';
import { type Place, walkTurns } from './explore.js';
import {
  ALL_OFF,
  answered,
  begin,
  compacted,
  compactionRefused,
  hardIdle,
  inPhase,
  modelFailed,
  OFF,
  PATH_TO,
  phaseOf,
  play,
  type Ran,
  resume,
  send,
  sending,
  settled,
  softIdle,
  type TurnSnapshot,
  UNWATCHED,
  WATCHED,
  waiting,
} from './turn-runs.js';

const walk = walkTurns(UNWATCHED);
const resting = walk
  .filter(({ state }) => state.status === 'active')
  .map((place) => ({ ...place, again: resume(place.state) }));
type Resting = (typeof resting)[number];

const entriesOf = (machine: TurnMachine): ReadonlyMap<string, readonly string[]> =>
  new Map(statesOf(machine).map(({ id, entry }) => [id, entry]));
const ENTRIES = entriesOf(turnMachine);
const EFFECTS = new Set([...ENTRIES.values()].flat());
const effectsOf = (ran: Ran) => ran.actions.filter((name) => EFFECTS.has(name));

/** Names of the places where `wrong` finds something, so that a failure says which. */
const places = (wrong: (place: Resting) => boolean) => resting.filter(wrong).map(({ key }) => key);
const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);

const TIMERS: Readonly<Record<string, readonly string[]>> = {
  setup: ['setupTimeout setup'],
  awaitingLLM: ['softTimeout awaitingLLMQuiet', 'hardTimeout awaitingLLMQuiet'],
  retryingLLM: ['backOff retryingLLM'],
  compacting: ['compactionTimeout compacting'],
  awaitingApproval: ['approvalDeadline awaitingApproval'],
  executingTools: [],
  awaitingReview: [],
  forceStop: ['softTimeout forceStopQuiet', 'hardTimeout forceStopQuiet'],
};

describe('a restart, in every state a turn can rest in', () => {
  it('is tried in all eight stable phases', () => {
    expect(new Set(resting.map(({ state }) => phaseOf(state)))).toEqual(new Set(Object.keys(PATH_TO)));
    expect(Object.keys(TIMERS)).toEqual(Object.keys(PATH_TO));
  });

  it('comes back to the same value (case C6)', () => {
    expect(places(({ state, again }) => !same(again.snapshot.value, state.value))).toEqual([]);
  });

  it('leaves the context as it was stored', () => {
    expect(places(({ state, again }) => !same(again.snapshot.context, state.context))).toEqual([]);
  });

  it('changes nothing but the limits when it brings other limits', () => {
    const wrong = places(({ state }) => {
      const resumed = resume(state, WATCHED).snapshot;
      return !same(resumed.context, { ...state.context, limits: WATCHED }) || !same(resumed.value, state.value);
    });
    expect(wrong).toEqual([]);
  });

  it('carries no directive: a restart is no boundary, recovery commits its attempt itself', () => {
    expect(places(({ again }) => again.actions.some((name) => name.startsWith('checkpoint')))).toEqual([]);
  });

  it('starts the effect of the phase again, and nothing else', () => {
    const wrong = places(({ state, again }) => !same(again.actions, ENTRIES.get(phaseOf(state))));
    expect(wrong).toEqual([]);
  });

  it('arms the time-outs of the phase again, under the ids by which their moments are kept (I13, case C16)', () => {
    expect(places(({ state, again }) => !same(Object.keys(again.armed), TIMERS[phaseOf(state)]))).toEqual([]);
  });

  it('can be followed by another, and another: each comes back to the same', () => {
    const wrong = places(({ state, again: once }) => {
      const thrice = resume(resume(once.snapshot).snapshot);
      return !same([thrice.snapshot.value, thrice.actions, thrice.armed], [state.value, once.actions, once.armed]);
    });
    expect(wrong).toEqual([]);
  });

  it('finds children and errors in none of them: nothing runs inside the snapshot', () => {
    expect(places(({ state }) => Object.keys(state.children).length > 0 || state.error !== undefined)).toEqual([]);
  });
});

describe('a restart right after any step that entered a phase', () => {
  it('does what the step did: same effects, same time-outs, same delays', () => {
    // What a restart does depends on the state alone, so each state is compared once with each way it was entered.
    const compared = new Set<string>();
    const wrong: string[] = [];
    for (const { key, state, ways } of resting) {
      for (const { event, nextKey } of ways) {
        if (event.type === 'turn.resumed') continue;
        const entered = send({ snapshot: state }, event);
        const effects = effectsOf(entered);
        if (entered.snapshot.status !== 'active' || effects.length + Object.keys(entered.armed).length === 0) continue;
        const entry = JSON.stringify([nextKey, effects, entered.armed]);
        if (compared.has(entry)) continue;
        compared.add(entry);
        const resumed = resume(entered.snapshot);
        // Content of the model re-arms the watchdog and does not call the model; a restart has to call it.
        const sameEffects = event.type === 'model.progressed' || same(effects, effectsOf(resumed));
        if (!sameEffects || !same(entered.armed, resumed.armed)) wrong.push(`${key} ${event.type}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(compared.size).toBeGreaterThan(500);
  });
});

describe('the restore arrow', () => {
  it('needs reenter: without it a turn silently starts again in setup (m)', () => {
    const without = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      delete config.states.running.on['turn.resumed'].reenter;
    });
    const path = PATH_TO.executingTools ?? [];
    const batch = play(begin(UNWATCHED, without), path, without);
    expect(phaseOf(batch.snapshot)).toBe('executingTools');
    expect(phaseOf(resume(batch.snapshot, UNWATCHED, without).snapshot)).toBe('setup');
    expect(phaseOf(resume(batch.snapshot).snapshot)).toBe('executingTools');
  });

  it('needs deep history: a shallow one would forget where inside a phase the turn was', () => {
    expect(turnMachine.getStateNodeById('lastPhase').history).toBe('deep');
    const shallow = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      config.states.running.states.lastPhase.history = 'shallow';
      config.states.running.states.awaitingLLM.states.other = { id: 'other' };
      config.states.running.states.awaitingLLM.on['input.arrived'] = '#other';
    });
    const inner = play(waiting(UNWATCHED, shallow), [{ type: 'input.arrived', waiting: 1 }], shallow);
    expect(inner.snapshot.value).toEqual({ running: { awaitingLLM: 'other' } });
    expect(resume(inner.snapshot, UNWATCHED, shallow).snapshot.value).toEqual({ running: { awaitingLLM: 'quiet' } });
  });

  it('would change the context if an entry assigned: entries hold effects only', () => {
    const counting = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      config.states.running.states.executingTools.entry.push('recordSuccess');
    });
    const batch = play(begin(UNWATCHED, counting), PATH_TO.executingTools ?? [], counting);
    const again = resume(batch.snapshot, UNWATCHED, counting);
    expect(again.snapshot.context.iterations).toBe(batch.snapshot.context.iterations + 1);
  });

  it('does not move a finished turn (I8)', () => {
    for (const value of ['completed', 'stopped', 'failed', 'cancelled']) {
      const place = walk.find(({ state }) => state.value === value);
      const resumed = resume((place as Place<TurnSnapshot, unknown>).state);
      expect([resumed.snapshot.value, resumed.actions, resumed.armed]).toEqual([value, [], {}]);
    }
  });
});

describe('the limits a restart brings', () => {
  it('hold at once: the watchdog of a turn that lost its person is armed, and ends it', () => {
    const watched = inPhase('awaitingLLM', WATCHED);
    expect(watched.armed['hardTimeout awaitingLLMQuiet']).toBe(OFF);
    const alone = resume(watched.snapshot, UNWATCHED);
    expect(alone.armed['hardTimeout awaitingLLMQuiet']).toBe(540_000);
    expect(send(alone, hardIdle).snapshot.value).toBe('failed');
  });

  it('can take a time-out away, whose old timer then ends nothing', () => {
    const resumed = resume(inPhase('awaitingLLM').snapshot, ALL_OFF);
    const after = play(resumed, [softIdle, hardIdle]);
    expect(phaseOf(after.snapshot)).toBe('awaitingLLM');
  });

  it('do not touch what the turn has used up before', () => {
    const failing = play(waiting(WATCHED), [modelFailed('network', 100)]);
    const { context } = resume(failing.snapshot, UNWATCHED).snapshot;
    expect([context.modelFailures, context.failingSince]).toEqual([1, 100]);
  });
});

describe('a stale cause (m)', () => {
  // A compaction that the application asks for is refused, long after the list was too long once. Nothing is wrong.
  const events: readonly TurnEvent[] = [
    modelFailed('contextLength'),
    compacted,
    answered(sending),
    settled({ compact: true }),
    compactionRefused,
  ];

  it('picks the wrong branch where a success does not clear it, and ends a healthy turn', () => {
    const keeping = turnMachine.provide({
      actions: { recordSuccess: assign(({ context: c }) => ({ iterations: c.iterations + 1 })) },
    });
    const ended = play(waiting(UNWATCHED, keeping), events, keeping);
    expect(ended.snapshot.value).toBe('failed');
  });

  it('is cleared by a success, so the turn goes on', () => {
    const { snapshot } = play(waiting(), events);
    expect([phaseOf(snapshot), snapshot.context.cause]).toEqual(['awaitingLLM', null]);
  });
});
