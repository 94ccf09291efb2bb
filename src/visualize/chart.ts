/**
 * Owns the plain description of a statechart that everything drawn, tabulated or exported is made from.
 * Must not know XState (xstate-fields.ts reads it) nor any output format.
 */

export type StateType = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';

/** What makes a transition possible. */
export type Trigger =
  | { readonly kind: 'event'; readonly name: string }
  | { readonly kind: 'after'; readonly delay: string; readonly resolved: string | null }
  | { readonly kind: 'always' }
  /** A compound or parallel state came to its end. */
  | { readonly kind: 'stateDone' }
  | { readonly kind: 'actorDone' | 'actorError' | 'actorSnapshot'; readonly actor: string };

export interface ChartTransition {
  /** Unique in the chart and stable as long as the transitions of its source keep their order. */
  readonly id: string;
  readonly source: string;
  readonly trigger: Trigger;
  /** Place among the candidates of the same trigger in the same state, from 1: the first whose guard passes wins. */
  readonly priority: number;
  /** How many candidates there are. */
  readonly candidates: number;
  readonly guard: string | null;
  /** Ids of states; empty when the transition only runs its actions. */
  readonly targets: readonly string[];
  readonly reenter: boolean;
  readonly actions: readonly string[];
  readonly description: string | null;
}

export interface ChartState {
  readonly id: string;
  readonly key: string;
  readonly parent: string | null;
  readonly children: readonly string[];
  readonly type: StateType;
  readonly history: 'shallow' | 'deep' | null;
  /** Cannot be rested in: one of its `always` transitions has no guard. */
  readonly transient: boolean;
  readonly tags: readonly string[];
  readonly description: string | null;
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: readonly string[];
  readonly initial: { readonly targets: readonly string[]; readonly actions: readonly string[] } | null;
}

export interface Chart {
  readonly id: string;
  readonly version: string | null;
  readonly description: string | null;
  /** In document order, the root first. */
  readonly states: readonly ChartState[];
  /** In document order of their sources, and per source in the order in which they are written. */
  readonly transitions: readonly ChartTransition[];
}

export function stateOf(chart: Chart, id: string): ChartState {
  const found = chart.states.find((state) => state.id === id);
  if (found === undefined) throw new TypeError(`the chart ${chart.id} has no state ${id}`);
  return found;
}

export function rootOf(chart: Chart): ChartState {
  const [root] = chart.states;
  if (root === undefined) throw new TypeError(`the chart ${chart.id} has no states`);
  return root;
}

/** The state itself, its parent, and so on to the root. */
export function lineage(chart: Chart, id: string): ChartState[] {
  const found: ChartState[] = [];
  for (let at: string | null = id; at !== null; ) {
    const state = stateOf(chart, at);
    found.push(state);
    at = state.parent;
  }
  return found;
}

/** Keys from below the root to the state: what a reader of the chart calls it. The root is called by the chart's id. */
export function pathOf(chart: Chart, id: string): string {
  const keys = lineage(chart, id).map((state) => state.key);
  return keys.slice(0, -1).reverse().join('.') || chart.id;
}

/** The key where it names only one state of the chart, and as much of the path as it takes otherwise. */
export function shortName(chart: Chart, id: string): string {
  const keys = lineage(chart, id)
    .map((state) => state.key)
    .slice(0, -1);
  const state = stateOf(chart, id);
  if (state.type === 'history' && state.parent !== null) {
    const mark = state.history === 'deep' ? 'H*' : 'H';
    return state.parent === rootOf(chart).id ? mark : `${shortName(chart, state.parent)}.${mark}`;
  }
  for (let n = 1; n < keys.length; n += 1) {
    const name = keys.slice(0, n).reverse().join('.');
    const same = chart.states.filter((other) => `.${pathOf(chart, other.id)}`.endsWith(`.${name}`));
    if (same.length === 1) return name;
  }
  return pathOf(chart, id);
}

export function outgoing(chart: Chart, id: string): ChartTransition[] {
  return chart.transitions.filter((transition) => transition.source === id);
}

/** A transition that leads out of its source or back into it; every other one only runs actions. */
export function isEdge(transition: ChartTransition): boolean {
  return transition.targets.some((target) => target !== transition.source);
}

/** Two transitions with the same key are candidates of one decision. */
export function triggerKey(trigger: Trigger): string {
  switch (trigger.kind) {
    case 'event':
      return `event ${trigger.name}`;
    case 'after':
      return `after ${trigger.delay}`;
    case 'always':
    case 'stateDone':
      return trigger.kind;
    default:
      return `${trigger.kind} ${trigger.actor}`;
  }
}
