/**
 * Owns every look into an XState machine: the tree of state nodes, and how XState keeps built-in actions and guards.
 * None of that is a documented interface, so nothing outside this file may touch it, and a test holds it in place.
 * Must not know how a chart is drawn.
 */
import type { AnyStateMachine, InspectionEvent } from 'xstate';
import type { Chart, ChartState, ChartTransition, StateType, Trigger } from './chart.js';

/** The fields of XState 5's StateNode that a chart is made from. */
interface Node {
  readonly id: string;
  readonly key: string;
  readonly parent?: Node;
  readonly states: Readonly<Record<string, Node>>;
  readonly type: StateType;
  readonly history: false | 'shallow' | 'deep';
  readonly tags: readonly string[];
  readonly description?: string;
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly invoke: readonly { readonly id: string; readonly src: unknown }[];
  readonly initial?: { readonly target?: readonly Node[]; readonly actions: readonly unknown[] };
  readonly always?: readonly Transition[];
  readonly transitions: ReadonlyMap<string, readonly Transition[]>;
}

interface Transition {
  readonly target?: readonly Node[];
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
  readonly description?: string;
  /** Only on delayed transitions: milliseconds, or the name of a delay. */
  readonly delay?: number | string;
}

/** What a built-in action or guard carries besides being a function. */
interface BuiltIn {
  readonly type?: string;
  readonly name?: string;
  readonly event?: unknown;
  readonly src?: unknown;
  readonly guards?: readonly unknown[];
  readonly stateValue?: unknown;
  readonly delay?: unknown;
  readonly params?: unknown;
}

/** A function without a name worth showing. */
export const INLINE = 'ƒ';

/** Names that JavaScript gives to functions after the property they were written at. */
const PROPERTY_NAMES = new Set(['', 'actions', 'guard', 'entry', 'exit', 'src', 'delay', 'always', 'on', 'type']);

const inlineName = (name: string | undefined): string =>
  PROPERTY_NAMES.has(name ?? '') || name?.startsWith('(') ? INLINE : `${INLINE} ${name}`;

function eventText(event: unknown): string {
  const type = (event as { type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : INLINE;
}

function actionName(action: unknown): string {
  if (typeof action === 'string') return action;
  const { type, name, event, src } = action as BuiltIn;
  if (typeof action === 'object' && type !== undefined) return type;
  if (type === undefined || !type.startsWith('xstate.')) return inlineName(name);
  const kind = type.slice('xstate.'.length);
  if (kind === 'raise' || kind === 'sendTo' || kind === 'emit') return `${kind}(${eventText(event)})`;
  if (kind === 'spawnChild') return `spawnChild(${typeof src === 'string' ? src : INLINE})`;
  return `${kind} ${INLINE}`;
}

function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const { type, name, guards, stateValue } = guard as BuiltIn;
  if (typeof guard === 'object' && type !== undefined) return type;
  if (guards !== undefined) return `${name ?? INLINE}(${guards.map(guardName).join(', ')})`;
  if (stateValue !== undefined) {
    return `in ${typeof stateValue === 'string' ? stateValue.replace(/^#/, '') : JSON.stringify(stateValue)}`;
  }
  return inlineName(name);
}

/** Every `after` adds a raise to the entry and a cancel to the exit of its state, which no author wrote. */
function isTimer(action: unknown, node: Node): boolean {
  const { type, event, delay } = action as BuiltIn;
  if (type === 'xstate.raise') {
    const name = (event as { type?: unknown } | null)?.type;
    return (
      delay !== undefined && typeof name === 'string' && name.startsWith('xstate.after.') && name.endsWith(node.id)
    );
  }
  return type === 'xstate.cancel' && `${(action as { sendId?: unknown }).sendId}`.startsWith('xstate.after.');
}

const actionNames = (actions: readonly unknown[], node: Node): string[] =>
  actions.filter((action) => !isTimer(action, node)).map(actionName);

/** Ids that XState makes up begin with an ordinal, which says nothing to a reader. */
function invokeName(invoke: { readonly id: string; readonly src: unknown }): string {
  const src = typeof invoke.src === 'string' && !invoke.src.startsWith('xstate.invoke.') ? invoke.src : INLINE;
  return /^\d+\./.test(invoke.id) || invoke.id === src ? src : `${invoke.id} (${src})`;
}

function actorName(node: Node, id: string): string {
  const invoke = node.invoke.find((candidate) => candidate.id === id);
  return invoke === undefined ? id : invokeName(invoke).replace(/ \(.*\)$/, '');
}

function triggerOf(node: Node, descriptor: string, { delay }: Transition): Trigger {
  if (delay !== undefined) return { kind: 'after', delay: `${delay}`, resolved: null };
  if (descriptor === `xstate.done.state.${node.id}`) return { kind: 'stateDone' };
  for (const [prefix, kind] of [
    ['xstate.done.actor.', 'actorDone'],
    ['xstate.error.actor.', 'actorError'],
    ['xstate.snapshot.', 'actorSnapshot'],
  ] as const) {
    if (descriptor.startsWith(prefix)) return { kind, actor: actorName(node, descriptor.slice(prefix.length)) };
  }
  return { kind: 'event', name: descriptor };
}

/** The transitions of a node by descriptor, in the order in which they are written; those of `always` under `''`. */
function groupsOf(node: Node): (readonly [string, readonly Transition[]])[] {
  return node.always === undefined ? [...node.transitions] : [...node.transitions, ['', node.always]];
}

const transitionId = (node: Node, place: number): string => `${node.id}:${place}`;

/** For whoever meets XState's own transitions, as inspection does: the id that each has in the chart. */
export function transitionIds(machine: AnyStateMachine): ReadonlyMap<unknown, string> {
  const ids = new Map<unknown, string>();
  const visit = (node: Node): void => {
    const transitions = groupsOf(node).flatMap(([, candidates]) => candidates);
    for (const [k, transition] of transitions.entries()) ids.set(transition, transitionId(node, k + 1));
    Object.values(node.states).forEach(visit);
  };
  visit(machine.root as unknown as Node);
  return ids;
}

/** The transitions of XState's own that one microstep took; empty where the event tells of something else. */
export function takenIn(event: InspectionEvent): readonly unknown[] {
  return event.type === '@xstate.microstep' ? event._transitions : [];
}

function transitionsOf(node: Node): ChartTransition[] {
  const found: ChartTransition[] = [];
  for (const [descriptor, candidates] of groupsOf(node)) {
    candidates.forEach((transition, k) => {
      found.push({
        id: transitionId(node, found.length + 1),
        source: node.id,
        trigger: descriptor === '' ? { kind: 'always' } : triggerOf(node, descriptor, transition),
        priority: k + 1,
        candidates: candidates.length,
        guard: transition.guard === undefined ? null : guardName(transition.guard),
        targets: (transition.target ?? []).map((target) => target.id),
        reenter: transition.reenter,
        actions: actionNames(transition.actions, node),
        description: transition.description ?? null,
      });
    });
  }
  return found;
}

function stateFrom(node: Node): ChartState {
  const children = Object.values(node.states);
  const initial = node.type === 'compound' ? node.initial : undefined;
  return {
    id: node.id,
    key: node.key,
    parent: node.parent?.id ?? null,
    children: children.map((child) => child.id),
    type: node.type,
    history: node.type === 'history' ? node.history || 'shallow' : null,
    transient: (node.always ?? []).some((transition) => transition.guard === undefined),
    tags: [...node.tags],
    description: node.description ?? null,
    entry: actionNames(node.entry, node),
    exit: actionNames(node.exit, node),
    invokes: node.invoke.map(invokeName),
    initial:
      initial === undefined
        ? null
        : {
            targets: (initial.target ?? []).map((target) => target.id),
            actions: actionNames(initial.actions, node),
          },
  };
}

/** Whether a value is a machine of XState 5, whichever copy of the library made it. */
export function isMachine(value: unknown): value is AnyStateMachine {
  const machine = value as { root?: { transitions?: unknown }; config?: unknown; transition?: unknown } | null;
  return (
    typeof machine === 'object' &&
    machine !== null &&
    typeof machine.config === 'object' &&
    typeof machine.transition === 'function' &&
    machine.root?.transitions instanceof Map
  );
}

export function readMachine(machine: AnyStateMachine): Chart {
  const states: ChartState[] = [];
  const transitions: ChartTransition[] = [];
  const visit = (node: Node): void => {
    states.push(stateFrom(node));
    transitions.push(...transitionsOf(node));
    Object.values(node.states).forEach(visit);
  };
  visit(machine.root as unknown as Node);
  return {
    id: machine.id,
    version: machine.version ?? null,
    description: machine.root.description ?? null,
    states,
    transitions,
  };
}

/**
 * The value of a named delay in milliseconds, evaluated against the context that the machine has right after it
 * started with `input`; `null` where that says nothing, because the delay is unknown or needs more than that.
 */
export function delayMs(machine: AnyStateMachine, name: string, input: unknown): number | null {
  if (/^\d+$/.test(name)) return Number(name);
  const delay: unknown = machine.implementations.delays[name];
  if (typeof delay !== 'function') return typeof delay === 'number' ? delay : null;
  try {
    const { context } = machine.config as { context?: unknown };
    const initial = typeof context === 'function' ? context({ input, spawn: () => ({}), self: {} }) : context;
    const value: unknown = delay({ context: initial, event: { type: 'xstate.init', input } }, undefined);
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  } catch {
    // A delay that needs an event or a later context has no value that a picture could show.
    return null;
  }
}

/** Left out of a config that is to be read and not run: values, and types that exist only for the compiler. */
const VALUES = new Set(['context', 'types', 'input', 'output', 'params', 'systemId']);

/** The config a machine was made from, with a name in place of every function. */
export function namedConfig(machine: AnyStateMachine): Record<string, unknown> {
  return named(machine.config, '') as Record<string, unknown>;
}

function named(value: unknown, key: string): unknown {
  if (typeof value === 'function') return key === 'guard' ? guardName(value) : actionName(value);
  if (Array.isArray(value)) return value.map((item) => named(item, key));
  if (typeof value !== 'object' || value === null) return value;
  // An actor's logic is an object with behaviour, not a part of the chart.
  if (key === 'src') return INLINE;
  const entries = Object.entries(value)
    // A state or an event may be called like one of the values.
    .filter(([name, item]) => item !== undefined && (key === 'states' || key === 'on' || !VALUES.has(name)))
    .map(([name, item]) => [name, named(item, key === 'states' || key === 'on' ? '' : name)] as const);
  return Object.fromEntries(entries);
}
