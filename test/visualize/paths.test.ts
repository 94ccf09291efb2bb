// The generator of test paths: every edge of each machine on at least one path, time-outs and immediate ones included.
import { describe, expect, it } from 'vitest';
import { createMachine, initialTransition, transition } from 'xstate';
import { recoveryMachine, turnMachine } from '../../machines/index.js';
import { callPaths, recoveryPaths, turnPaths } from '../../src/testing/own-paths.js';
import { type MachinePaths, pathsOf } from '../../src/testing/paths.js';
import { watchEdges } from '../../src/testing/taken-edges.js';
import { OWN_CHARTS } from '../../src/visualize/own-charts.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';

const OWN = { turn: turnPaths(), recovery: recoveryPaths(), call: callPaths() };

const edgesOn = ({ paths }: MachinePaths): Set<string> =>
  new Set(paths.flatMap(({ startEdges, steps }) => [...startEdges, ...steps.flatMap(({ edges }) => edges)]));

for (const [name, result] of Object.entries(OWN)) {
  const { machine } = OWN_CHARTS[name as keyof typeof OWN];

  describe(`the paths of ${name}`, () => {
    it('take every transition of the chart', () => {
      expect(result.uncovered).toEqual([]);
      expect([...edgesOn(result)].sort()).toEqual(
        readMachine(machine)
          .transitions.map(({ id }) => id)
          .sort(),
      );
    });

    it('lead, played again by XState itself, to the states they say', () => {
      for (const { start, startValue, steps, done } of result.paths) {
        let [snapshot] = initialTransition(machine, start.input as never);
        expect(snapshot.value).toEqual(startValue);
        for (const { event, value } of steps) {
          expect(snapshot.status).toBe('active');
          [snapshot] = transition(machine, snapshot, event as never);
          expect(snapshot.value).toEqual(value);
        }
        expect(snapshot.status !== 'active').toBe(done);
      }
    });

    it('are no beginnings of each other', () => {
      const keys = result.paths.map(({ start, steps }) =>
        JSON.stringify([start.name, ...steps.map(({ event }) => event)]),
      );
      const beginnings = keys.filter((key) =>
        keys.some((other) => other !== key && other.startsWith(`${key.slice(0, -1)},`)),
      );
      expect(beginnings).toEqual([]);
    });

    it('are the same in every run', () => {
      const again = { turn: turnPaths, recovery: recoveryPaths, call: callPaths }[name as keyof typeof OWN]();
      expect(again).toEqual(result);
    });
  });
}

describe('the paths of the turn', () => {
  const types = OWN.turn.paths.flatMap(({ steps }) => steps.map(({ event }) => event.type));

  it('let every time-out of the chart fire', () => {
    const timeOuts = new Set(types.filter((type) => type.startsWith('xstate.after.')));
    expect([...timeOuts].sort()).toEqual([
      'xstate.after.approvalDeadline.awaitingApproval',
      'xstate.after.backOff.retryingLLM',
      'xstate.after.compactionTimeout.compacting',
      'xstate.after.hardTimeout.awaitingLLMQuiet',
      'xstate.after.hardTimeout.forceStopQuiet',
      'xstate.after.setupTimeout.setup',
      'xstate.after.softTimeout.awaitingLLMQuiet',
      'xstate.after.softTimeout.forceStopQuiet',
    ]);
  });

  it('resume, hand over, cancel and fault a turn', () => {
    expect(types).toEqual(
      expect.arrayContaining(['turn.resumed', 'turn.handedOver', 'turn.cancelled', 'turn.faulted']),
    );
  });

  it('go through every branch of the dispatch point', () => {
    const branches = [...edgesOn(OWN.turn)].filter((edge) => edge.startsWith('recovering:'));
    expect(branches).toHaveLength(7);
  });

  it('follow guards that an application provides', () => {
    const never = turnPaths(turnMachine.provide({ guards: { nudgeable: () => false } }));
    const nudge = readMachine(turnMachine).transitions.find(({ guard }) => guard === 'nudgeable');
    expect(never.uncovered).toEqual([nudge?.id]);
  });
});

describe('the generator', () => {
  it('names a branch that no event can take', () => {
    const machine = createMachine({
      initial: 'a',
      states: { a: { on: { go: [{ target: 'b' }, { target: 'c' }] } }, b: {}, c: { on: { back: 'a' } } },
    });
    const { uncovered, paths } = pathsOf(machine, { events: [{ type: 'go' }, { type: 'back' }] });
    expect(uncovered).toEqual(['(machine).a:2', '(machine).c:1']);
    expect(paths).toHaveLength(1);
  });

  it('gives up on a state that grows without end rather than running for ever', () => {
    const counting = createMachine({ context: { n: 0 }, on: { more: { actions: 'x' } } });
    let n = 0;
    const growing = () => {
      n += 1;
      return `${n}`;
    };
    expect(() => pathsOf(counting, { events: [{ type: 'more' }], serialize: growing, limit: 50 })).toThrow();
  });

  it('asks for events state by state where it is given a function', () => {
    const machine = createMachine({ initial: 'a', states: { a: { on: { go: 'b' } }, b: { on: { back: 'a' } } } });
    const asked: unknown[] = [];
    const events = ({ value }: { value: unknown }) => {
      asked.push(value);
      return [{ type: value === 'a' ? 'go' : 'back' }];
    };
    expect(pathsOf(machine, { events }).uncovered).toEqual([]);
    expect(new Set(asked)).toEqual(new Set(['a', 'b']));
  });

  it('executes no action, starts no actor, and takes nothing after the end', () => {
    const ran: string[] = [];
    const machine = createMachine({
      initial: 'a',
      entry: () => ran.push('entry'),
      states: { a: { on: { go: { target: 'b', actions: () => ran.push('go') } } }, b: { type: 'final' } },
    });
    const watch = watchEdges(machine);
    const begun = watch.start(undefined);
    const ended = watch.take(begun.snapshot, { type: 'go' });
    expect([begun.edges, ended.edges, ended.snapshot.status]).toEqual([[], ['(machine).a:1'], 'done']);
    expect(watch.take(ended.snapshot, { type: 'go' })).toEqual({ snapshot: ended.snapshot, edges: [] });
    expect(ran).toEqual([]);
  });

  it('sees the immediate transitions of a start', () => {
    const { edges } = watchEdges(recoveryMachine).start({ owned: true });
    expect(edges).toEqual(['owner:1']);
  });
});
