/**
 * Owns which arrows a picture has: transitions of one kind between the same two states share one, and each arrow
 * knows whether it leads onward or back, seen from the start of the chart.
 * Must not know positions.
 */
import { type Chart, type ChartTransition, isEdge, lineage, stateOf } from './chart.js';
import { edgeContent, initialContent, SEPARATOR, toneOf } from './contents.js';
import type { Row, Tone } from './rows.js';
import type { Notation } from './wording.js';

export interface Arrow {
  readonly id: string;
  /** A state, an initial dot or an anywhere ring. */
  readonly source: string;
  readonly target: string;
  readonly tone: Tone;
  /** Empty for the arrow from an initial dot. */
  readonly transitions: readonly ChartTransition[];
  readonly rows: readonly Row[];
  /** Leads back towards the start: it is laid out the other way round, so that the picture reads downwards. */
  readonly back: boolean;
}

/** The ring that stands for wherever one is inside a state: what leads from a state to a part of it begins there. */
export const anywhereNodeId = (stateId: string): string => `anywhere in ${stateId}`;
export const initialNodeId = (stateId: string): string => `initial of ${stateId}`;

/** Leaves and history marks that a state can be left from or entered at. */
function leavesOf(chart: Chart, id: string): string[] {
  const state = stateOf(chart, id);
  return state.children.length === 0 ? [id] : state.children.flatMap((child) => leavesOf(chart, child));
}

/** Where one is on entering a state, without history. */
function entered(chart: Chart, id: string): string[] {
  const state = stateOf(chart, id);
  if (state.type === 'history') return [];
  const next = state.initial?.targets ?? state.children;
  return next.length === 0 ? [id] : next.flatMap((child) => entered(chart, child));
}

/** Steps from the start for every leaf that can be reached, breadth first. */
function distances(chart: Chart): Map<string, number> {
  const found = new Map<string, number>();
  let front = chart.states.slice(0, 1).flatMap((root) => entered(chart, root.id));
  for (let steps = 0; front.length > 0; steps += 1) {
    front = front.filter((id) => !found.has(id));
    for (const id of front) found.set(id, steps);
    const inside = new Set(front.flatMap((id) => lineage(chart, id).map((state) => state.id)));
    front = chart.transitions
      .filter((transition) => inside.has(transition.source))
      .flatMap((transition) => transition.targets.flatMap((target) => entered(chart, target)));
  }
  return found;
}

function ranks(chart: Chart): Map<string, number> {
  const steps = distances(chart);
  const rank = new Map<string, number>();
  chart.states.forEach((state, k) => {
    const near = Math.min(...leavesOf(chart, state.id).map((leaf) => steps.get(leaf) ?? chart.states.length));
    // Nothing leads onward from an end, however early it can be reached.
    const end = leavesOf(chart, state.id).every((leaf) => stateOf(chart, leaf).type === 'final');
    rank.set(state.id, (end ? 2 * chart.states.length : near) * chart.states.length + k);
  });
  return rank;
}

export const isInside = (chart: Chart, inner: string, outer: string): boolean =>
  lineage(chart, inner).some((state) => state.id === outer);

function isBack(chart: Chart, rank: ReadonlyMap<string, number>, source: string, target: string): boolean {
  // Between a state and what is inside it there is no direction.
  if (isInside(chart, target, source) || isInside(chart, source, target)) return false;
  return (rank.get(target) ?? 0) < (rank.get(source) ?? 0);
}

const joined = (before: readonly Row[], rows: readonly Row[]): Row[] =>
  before.length === 0 || rows.length === 0 ? [...before, ...rows] : [...before, SEPARATOR, ...rows];

export function arrowsOf(chart: Chart, notation: Notation): Arrow[] {
  const rank = ranks(chart);
  const arrows = new Map<string, Arrow>();
  for (const state of chart.states) {
    for (const target of state.initial?.targets ?? []) {
      const source = initialNodeId(state.id);
      const rows = initialContent(state.initial?.actions ?? [], notation);
      const id = `${source} to ${target}`;
      arrows.set(id, { id, source, target, tone: 'event', transitions: [], rows, back: false });
    }
  }
  for (const transition of chart.transitions.filter(isEdge)) {
    const { source } = transition;
    const tone = toneOf(transition.trigger);
    for (const target of transition.targets) {
      const id = `${source} to ${target} by ${tone}`;
      const before = arrows.get(id);
      arrows.set(id, {
        id,
        source: isInside(chart, target, source) ? anywhereNodeId(source) : source,
        target,
        tone,
        transitions: [...(before?.transitions ?? []), transition],
        rows: joined(before?.rows ?? [], edgeContent(transition, notation)),
        back: isBack(chart, rank, source, target),
      });
    }
  }
  return [...arrows.values()];
}
