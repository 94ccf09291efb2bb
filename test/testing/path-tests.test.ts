// Tests made of paths: of a door, and of the turn chart with conditions of an application's own.
import { describe, expect, it } from 'vitest';
import { type AnyEventObject, createMachine, initialTransition, type SnapshotFrom, transition } from 'xstate';
import type { TurnEvent, TurnInput } from '../../machines/index.js';
import { type TurnMachine, turnMachine } from '../../src/index.js';
import { type MachinePaths, type PathWorld, pathsOf, pathTests, turnPaths } from '../../src/testing/path-tests.js';

const door = createMachine({
  id: 'door',
  initial: 'shut',
  states: {
    shut: { on: { 'door.opened': 'open' }, after: { 1000: 'locked' } },
    open: { on: { 'door.shut': 'shut' } },
    locked: { type: 'final' },
  },
});

/** Something real that is meant to be a door. */
function realDoor(opens = true): PathWorld {
  let state = '';
  return {
    start: () => {
      state = 'shut';
    },
    events: {
      'door.opened': () => {
        if (opens) state = 'open';
      },
      'door.shut': () => {
        state = 'shut';
      },
      'xstate.after.1000.door.shut': () => {
        state = 'locked';
      },
    },
    state: () => state,
  };
}

describe('tests made of paths', () => {
  const tests = pathTests(pathsOf(door, { events: [{ type: 'door.opened' }, { type: 'door.shut' }] }).paths);

  it('take every arrow, and have names that say which', () => {
    expect(tests.map(({ name }) => name).sort()).toEqual([
      'path 1: xstate.after.1000.door.shut -> locked',
      'path 2: door.opened, door.shut -> shut',
    ]);
  });

  it('pass where the world goes the way of the chart', async () => {
    for (const { run } of tests) await run(realDoor());
  });

  it('fail where it does not, and say at which event', async () => {
    const failed = await Promise.allSettled(tests.map(({ run }) => run(realDoor(false))));
    const reasons = failed.flatMap((result) => (result.status === 'rejected' ? [String(result.reason.message)] : []));
    expect(reasons).toEqual(['after event 1, door.opened: the state is shut, the chart is in open']);
  });

  it('fail where nothing makes an event happen', async () => {
    const world = realDoor();
    const { 'door.opened': _opened, ...events } = world.events;
    const runs = tests.map(({ run }) => run({ ...world, events }));
    const failed = (await Promise.allSettled(runs)).filter(({ status }) => status === 'rejected');
    expect(failed).toEqual([
      expect.objectContaining({ reason: new TypeError('world.events has no "door.opened", which the path needs.') }),
    ]);
  });
});

it('a turn machine with a guard of its own has paths of its own, and it goes along them', async () => {
  const own = turnMachine.provide({ guards: { nudgeable: () => false } });
  const [all, its] = [turnPaths(), turnPaths(own)];
  expect(its.uncovered.length).toBeGreaterThan(all.uncovered.length);
  const tests = pathTests(its.paths);
  expect(new Set(tests.map(({ name }) => name)).size).toBe(tests.length);
  for (const { run } of tests) await run(pureWorld(own, its));
  const others = pathTests(all.paths).map(({ run }) => run(pureWorld(own, all)));
  const failed = (await Promise.allSettled(others)).filter(({ status }) => status === 'rejected');
  expect(failed.length).toBeGreaterThan(0);
});

/** The machine itself as the thing that is tested. */
function pureWorld(machine: TurnMachine, { paths }: MachinePaths): PathWorld {
  let at: SnapshotFrom<TurnMachine>;
  const take = (event: AnyEventObject): void => {
    [at] = transition(machine, at, event as TurnEvent);
  };
  return {
    start: (input) => {
      [at] = initialTransition(machine, input as TurnInput);
    },
    events: Object.fromEntries(paths.flatMap(({ steps }) => steps.map(({ event }) => [event.type, take]))),
    state: () => at.value,
  };
}

it('what is no list of paths, or no way to make one, is refused with what to give', () => {
  expect(() => pathTests({ paths: [], uncovered: [] } as never)).toThrow('pathTests needs a list of paths: turnPaths');
  expect(() => pathsOf(door, {} as never)).toThrow('pathsOf needs events');
  expect(() => pathsOf(door, { events: [], start: [] } as never)).toThrow('start is unknown; there are events,');
});
