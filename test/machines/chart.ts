// Reads a chart: its states, its edges with their targets resolved, and the names it uses. All that is not public in
// XState, or only half so, is touched in this file and nowhere else.
import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from 'xstate';

/** One branch of one transition, as the chart's literal has it. */
export interface Edge {
  readonly from: string;
  /** The event, `after <delay>`, `always` or `initial`. */
  readonly on: string;
  readonly guard: string | null;
  /** null: an edge without a target, which stays where it is. */
  readonly to: string | null;
  readonly actions: readonly string[];
  readonly reenter: boolean;
}

export interface State {
  readonly id: string;
  readonly type: string;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: number;
  /** Names of the delays of its delayed transitions. */
  readonly delays: readonly string[];
}

interface RawTransition {
  readonly guard?: unknown;
  readonly target?: readonly { readonly id: string }[] | undefined;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
}

function nodesOf(machine: AnyStateMachine): AnyStateNode[] {
  const walk = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(walk)];
  return walk(machine.root);
}

/** A name as it stands in the config; whatever is not a plain string is shown as what it is, so that a rule sees it. */
function nameOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'function' ? '<inline function>' : `<object ${JSON.stringify(value)}>`;
}

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

/** XState calls the event of `after: { soft: … }` on the state `a` "xstate.after.soft.a". */
const triggerOf = (eventType: string): string => eventType.replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1');

function edge(from: AnyStateNode, on: string, raw: RawTransition): Edge {
  const targets = raw.target ?? [];
  if (targets.length > 1) throw new Error(`${from.id}: an edge with two targets is not read here`);
  return {
    from: from.id,
    on,
    guard: raw.guard === undefined ? null : nameOf(raw.guard),
    to: targets[0]?.id ?? null,
    actions: raw.actions.map(nameOf),
    reenter: raw.reenter,
  };
}

export function statesOf(machine: AnyStateMachine): State[] {
  return nodesOf(machine).map((node) => ({
    id: node.id,
    type: node.type,
    description: node.description ?? node.config.description,
    tags: node.tags,
    // The node's own entry and exit also hold the raises and cancels of `after`; the literal's lists do not.
    entry: listOf(node.config.entry).map(nameOf),
    exit: listOf(node.config.exit).map(nameOf),
    invokes: node.invoke.length,
    delays: Object.keys(node.config.after ?? {}),
  }));
}

const edgesRead = new WeakMap<AnyStateMachine, readonly Edge[]>();

/** In the order of the chart: states in document order, and the branches of one event in the order they are asked. */
export function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  // A chart never changes, and the walks ask for its edges thousands of times.
  const read = edgesRead.get(machine) ?? readEdges(machine);
  edgesRead.set(machine, read);
  return read;
}

function readEdges(machine: AnyStateMachine): Edge[] {
  return nodesOf(machine).flatMap((node) => [
    ...(node.config.initial === undefined ? [] : [edge(node, 'initial', node.initial as unknown as RawTransition)]),
    ...[...node.transitions.entries()].flatMap(([type, list]) =>
      list.map((raw) => edge(node, triggerOf(type), raw as unknown as RawTransition)),
    ),
    ...(node.always ?? []).map((raw) => edge(node, 'always', raw as unknown as RawTransition)),
  ]);
}

export const edgesFrom = (machine: AnyStateMachine, from: string, on: string): Edge[] =>
  edgesOf(machine).filter((found) => found.from === from && found.on === on);

/** `from: on [guard] -> to`, as the tables of the tests write it. */
export const lineOf = ({ from, on, guard, to }: Edge): string =>
  `${from}: ${on}${guard === null ? '' : ` [${guard}]`} -> ${to ?? '(stays)'}`;

export interface Names {
  readonly guards: readonly string[];
  readonly actions: readonly string[];
  readonly delays: readonly string[];
}

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

export function usedNames(machine: AnyStateMachine): Names {
  const states = statesOf(machine);
  const edges = edgesOf(machine);
  return {
    guards: sorted(edges.flatMap(({ guard }) => (guard === null ? [] : [guard]))),
    actions: sorted([
      ...edges.flatMap(({ actions }) => actions),
      ...states.flatMap(({ entry, exit }) => [...entry, ...exit]),
    ]),
    delays: sorted(states.flatMap(({ delays }) => delays)),
  };
}

export function implementedNames(machine: AnyStateMachine): Names {
  const { guards, actions, delays } = machine.implementations;
  return {
    guards: sorted(Object.keys(guards)),
    actions: sorted(Object.keys(actions)),
    delays: sorted(Object.keys(delays)),
  };
}

/** Whether an implementation is an `assign`: XState marks it by a property of the function. */
export const isAssign = (machine: AnyStateMachine, name: string): boolean =>
  (machine.implementations.actions as Record<string, { readonly type?: unknown }>)[name]?.type === 'xstate.assign';

/** The event types that the active states of a snapshot know, `after` included. */
export const eventTypesOf = (snapshot: AnyMachineSnapshot): string[] =>
  sorted((snapshot._nodes as AnyStateNode[]).flatMap((node) => node.ownEvents as string[]));

/** The ids of the active states, outermost first: XState keeps no order of them that one could rely on. */
export const activeIds = (snapshot: AnyMachineSnapshot): string[] =>
  (snapshot._nodes as AnyStateNode[]).toSorted((a, b) => a.path.length - b.path.length).map((node) => node.id);

/** The edge that a transient state takes: the first whose guard passes, as XState asks them. */
export function alwaysTaken(machine: AnyStateMachine, snapshot: AnyMachineSnapshot, event: unknown): Edge | null {
  const guards = machine.implementations.guards as Record<string, (args: unknown) => boolean>;
  for (const id of activeIds(snapshot).reverse()) {
    for (const found of edgesFrom(machine, id, 'always')) {
      const passes = found.guard === null || guards[found.guard]?.({ context: snapshot.context, event });
      if (passes) return found;
    }
  }
  return null;
}

/** The edge that an event takes, null where it is not for the snapshot's states. */
export function edgeTaken(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  event: { type: string },
): Edge | null {
  const [taken] = machine.getTransitionData(snapshot, event) as unknown as (RawTransition & { source: AnyStateNode })[];
  return taken === undefined ? null : edge(taken.source, triggerOf(event.type), taken);
}

/** Loose on purpose: mutants are broken charts, and TypeScript would not let them be written. */
export type LooseConfig = Record<string, any>;

/**
 * The same chart with its literal changed: what the rules have to notice. Everything but `context` survives JSON,
 * because the chart is names only.
 */
export function mutantOf<M extends AnyStateMachine>(
  machine: M,
  create: (config: never) => unknown,
  change: (config: LooseConfig) => void,
): M {
  const config = { ...JSON.parse(JSON.stringify(machine.config)), context: machine.config.context };
  change(config);
  return create(config as never) as M;
}

/** The branch of the literal that an edge was read from. */
export function branchOf(config: LooseConfig, edge: Edge): LooseConfig {
  const running = config.states.running;
  const state = edge.from === 'running' ? running : running.states[edge.from];
  const under: unknown =
    edge.on === 'initial'
      ? state.initial
      : edge.on === 'always'
        ? state.always
        : edge.on.startsWith('after ')
          ? state.after[edge.on.slice('after '.length)]
          : state.on[edge.on];
  const branches = (Array.isArray(under) ? under : [under]) as LooseConfig[];
  const found = branches.find(({ guard }) => (guard ?? null) === edge.guard);
  if (found === undefined) throw new Error(`${lineOf(edge)} is not in the literal`);
  return found;
}
