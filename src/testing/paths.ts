/**
 * Owns the generation of test paths from a machine: few and short ones that together take every transition that can be
 * taken, delayed and immediate ones included. Pure: the machine is only asked, never started.
 * Must not know which machine it is, nor what runs the paths.
 */
import { getShortestPaths } from '@xstate/graph';
import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  getNextTransitions,
  type StateValue,
} from 'xstate';
import { checkFields } from '../core/fields.js';
import { readMachine } from '../visualize/xstate-fields.js';
import { type EdgeWatch, watchEdges } from './taken-edges.js';

export interface PathOptions {
  /** Events with payloads for every guard, or what may happen in a state. Time-outs are added by themselves. */
  readonly events: readonly AnyEventObject[] | ((snapshot: AnyMachineSnapshot) => readonly AnyEventObject[]);
  /** What makes two snapshots the same state. Default: the state's value. Keep it bounded: counters must not grow. */
  readonly serialize?: (snapshot: AnyMachineSnapshot) => string;
  /** The ways in which the machine is started. Default: once, without input. */
  readonly starts?: readonly PathStart[];
  /** How many steps the search may take before it gives up, as with a state that grows. Default 100,000. */
  readonly limit?: number;
}

export interface PathStart {
  readonly name: string;
  readonly input: unknown;
}

export interface PathStep {
  readonly event: AnyEventObject;
  /** Ids of the transitions that the event takes, in order. */
  readonly edges: readonly string[];
  /** The state after the event. */
  readonly value: StateValue;
}

export interface MachinePath {
  readonly start: PathStart;
  readonly startEdges: readonly string[];
  readonly startValue: StateValue;
  readonly steps: readonly PathStep[];
  /** Whether the machine has come to its end. */
  readonly done: boolean;
}

export interface MachinePaths {
  readonly paths: readonly MachinePath[];
  /** Transitions of the machine that no event of the options can take: a gap in the events or a dead branch. */
  readonly uncovered: readonly string[];
}

const FIELDS: Readonly<Record<keyof PathOptions, true>> = { events: true, serialize: true, starts: true, limit: true };
const LIMIT = 100_000;
const ONE_START: readonly PathStart[] = [{ name: '', input: undefined }];

/** The events that the timers of a state would send. */
function timeOuts(snapshot: AnyMachineSnapshot): AnyEventObject[] {
  const types = getNextTransitions(snapshot)
    .map((transition) => transition.eventType)
    .filter((type) => type.startsWith('xstate.after.'));
  return [...new Set(types)].map((type) => ({ type }));
}

/** A path as it is walked; every step makes a new one, so that many can begin alike. */
interface Walk {
  readonly path: MachinePath;
  readonly snapshot: AnyMachineSnapshot;
}

function begin(watch: EdgeWatch, start: PathStart): Walk {
  const { snapshot, edges } = watch.start(start.input);
  const done = snapshot.status !== 'active';
  return { snapshot, path: { start, startEdges: edges, startValue: snapshot.value, steps: [], done } };
}

function walk(watch: EdgeWatch, { path, snapshot }: Walk, event: AnyEventObject): Walk {
  const taken = watch.take(snapshot, event);
  const step: PathStep = { event, edges: taken.edges, value: taken.snapshot.value };
  const done = taken.snapshot.status !== 'active';
  return { snapshot: taken.snapshot, path: { ...path, steps: [...path.steps, step], done } };
}

/** The shortest way to every state that can be reached from a start, the nearest first. */
function routes(machine: AnyStateMachine, start: PathStart, search: Search): AnyEventObject[][] {
  const shortest = getShortestPaths(machine, {
    input: start.input as never,
    events: search.eventsIn as never,
    serializeState: search.serialize,
    stopWhen: (snapshot) => snapshot.status !== 'active',
    limit: search.limit,
  });
  return shortest
    .map(({ steps }) => steps.map(({ event }) => event as AnyEventObject).filter(({ type }) => type !== 'xstate.init'))
    .sort((a, b) => a.length - b.length);
}

interface Search {
  readonly eventsIn: (snapshot: AnyMachineSnapshot) => AnyEventObject[];
  readonly serialize: (snapshot: AnyMachineSnapshot) => string;
  readonly limit: number;
}

/** One object for each event, so that two paths that begin alike can be recognised. */
function searchOf(options: PathOptions): Search {
  const known = new Map<string, AnyEventObject>();
  const same = (event: AnyEventObject): AnyEventObject => {
    const key = JSON.stringify(event);
    const before = known.get(key) ?? event;
    known.set(key, before);
    return before;
  };
  return {
    eventsIn: (snapshot) => {
      const own = typeof options.events === 'function' ? options.events(snapshot) : options.events;
      return [...own, ...timeOuts(snapshot)].map(same);
    },
    serialize: options.serialize ?? ((snapshot) => JSON.stringify(snapshot.value)),
    limit: options.limit ?? LIMIT,
  };
}

const isPrefix = (short: MachinePath, long: MachinePath): boolean =>
  short.start === long.start &&
  short.steps.length < long.steps.length &&
  short.steps.every(({ event }, k) => event === long.steps[k]?.event);

/** @throws {TypeError} `events` is missing, or nobody knows an option. */
export function pathsOf(machine: AnyStateMachine, options: PathOptions): MachinePaths {
  checkFields(options, FIELDS);
  if (typeof options.events !== 'function' && !Array.isArray(options.events)) {
    throw new TypeError('pathsOf needs events: a list of them, or a function that gives those of a state.');
  }
  const search = searchOf(options);
  const watch = watchEdges(machine);
  const open = new Set(readMachine(machine).transitions.map((transition) => transition.id));
  const found: MachinePath[] = [];
  const keep = ({ path }: Walk): void => {
    const taken = [...path.startEdges, ...path.steps.flatMap(({ edges }) => edges)];
    if (!taken.some((edge) => open.has(edge))) return;
    for (const edge of taken) open.delete(edge);
    found.push(path);
  };
  for (const start of options.starts ?? ONE_START) {
    if (open.size === 0) break;
    for (const route of routes(machine, start, search)) {
      if (open.size === 0) break;
      const there = route.reduce((at, event) => walk(watch, at, event), begin(watch, start));
      keep(there);
      for (const event of search.eventsIn(there.snapshot)) keep(walk(watch, there, event));
    }
  }
  const paths = found.filter((path) => !found.some((other) => isPrefix(path, other)));
  return { paths, uncovered: [...open] };
}
