/**
 * Owns the entry point `durable-turn/testing/paths`: paths through the charts of this package, or through a machine of
 * yours, and tests made of them. It alone of the kit needs `@xstate/graph`, an optional peer.
 * Must not know what a path is run against.
 */
import { AssertionError } from 'node:assert';
import type { AnyEventObject, StateValue } from 'xstate';
import { equalJson } from '../core/json.js';
import type { MachinePath } from './paths.js';

export {
  callPathOptions,
  callPaths,
  recoveryPathOptions,
  recoveryPaths,
  turnPathOptions,
  turnPaths,
} from './own-paths.js';
export {
  type MachinePath,
  type MachinePaths,
  type PathOptions,
  type PathStart,
  type PathStep,
  pathsOf,
} from './paths.js';

/** What a path is run against: something real that should go the way the chart says. */
export interface PathWorld {
  /** Starts it in one of the ways the path options name. */
  start(input: unknown): unknown;
  /** Makes each event of the chart happen, by its type; time-outs are `xstate.after.<delay>.<state>`. */
  readonly events: { readonly [type: string]: (event: AnyEventObject) => unknown };
  /** Where it is, as a state value of the chart. */
  state(): StateValue | Promise<StateValue>;
}

export interface PathTest {
  readonly name: string;
  /**
   * Goes along the path and compares the state after the start and after every event.
   * @throws {TypeError} an event has no entry in `world.events`: a path that does nothing must not pass.
   * @throws {AssertionError} the world is not where the chart is.
   */
  run(world: PathWorld): Promise<void>;
}

/**
 * One test for each path; their names are unique.
 * @throws {TypeError} it is no list.
 */
export function pathTests(paths: readonly MachinePath[]): readonly PathTest[] {
  if (!Array.isArray(paths)) throw new TypeError('pathTests needs a list of paths: turnPaths(machine).paths.');
  return paths.map((path, index) => ({ name: nameOf(path, index), run: (world) => runPath(path, world) }));
}

function nameOf({ start, startValue, steps }: MachinePath, index: number): string {
  const began = start.name === '' ? '' : ` ${start.name}:`;
  const last = steps.at(-1)?.value ?? startValue;
  const events = steps.map(({ event }) => event.type).join(', ');
  return `path ${index + 1}:${began} ${events === '' ? 'start' : events} -> ${shown(last)}`;
}

async function runPath({ start, startValue, steps }: MachinePath, world: PathWorld): Promise<void> {
  await world.start(start.input);
  await expectState(world, startValue, 'after the start');
  for (const [index, { event, value }] of steps.entries()) {
    const make = Object.hasOwn(world.events, event.type) ? world.events[event.type] : undefined;
    if (make === undefined) throw new TypeError(`world.events has no "${event.type}", which the path needs.`);
    await make(event);
    await expectState(world, value, `after event ${index + 1}, ${event.type}`);
  }
}

async function expectState(world: PathWorld, expected: StateValue, when: string): Promise<void> {
  const actual = await world.state();
  if (equalJson(actual, expected)) return;
  const message = `${when}: the state is ${shown(actual)}, the chart is in ${shown(expected)}`;
  throw new AssertionError({ message, actual, expected });
}

const shown = (value: StateValue): string => (typeof value === 'string' ? value : JSON.stringify(value));
