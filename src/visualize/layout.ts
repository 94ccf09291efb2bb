/**
 * Owns where everything of a picture stands: it runs the layout engine and reads its answer.
 * Must not know colours or markup. The engine (elkjs, an optional peer of over a megabyte) is loaded here, only when
 * a picture is asked for.
 */
import { type Arrow, anywhereNodeId, arrowsOf, initialNodeId } from './arrows.js';
import type { Chart, ChartState } from './chart.js';
import { type BoxContent, boxContent } from './contents.js';
import { type ElkEdge, type ElkNode, elkGraph } from './elk-graph.js';
import type { Notation } from './wording.js';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface PlacedState {
  readonly state: ChartState;
  readonly box: Box;
  readonly content: BoxContent;
}

export interface PlacedArrow {
  readonly arrow: Arrow;
  readonly lines: readonly (readonly Point[])[];
  /** Where the arrow's rows stand; `null` where it has none. */
  readonly label: Box | null;
}

export interface ChartLayout {
  readonly width: number;
  readonly height: number;
  /** Outer states before the ones inside them. */
  readonly states: readonly PlacedState[];
  readonly initials: readonly Box[];
  readonly rings: readonly Box[];
  readonly arrows: readonly PlacedArrow[];
}

interface Engine {
  layout(graph: ElkNode): Promise<ElkNode>;
}

async function loadEngine(): Promise<Engine> {
  try {
    const module = await import('elkjs/lib/elk.bundled.js');
    const Elk = (module as unknown as { default: { new (): Engine } | { default: new () => Engine } }).default;
    return typeof Elk === 'function' ? new Elk() : new Elk.default();
  } catch (error) {
    throw new Error('drawing a statechart needs the package elkjs: npm install --save-dev elkjs@0.12.1', {
      cause: error,
    });
  }
}

function boxesById(root: ElkNode): Map<string, Box> {
  const found = new Map<string, Box>();
  const visit = (node: ElkNode): void => {
    found.set(node.id, { x: node.x ?? 0, y: node.y ?? 0, width: node.width ?? 0, height: node.height ?? 0 });
    node.children?.forEach(visit);
  };
  visit(root);
  return found;
}

function edgesById(root: ElkNode): Map<string, ElkEdge> {
  const found = new Map<string, ElkEdge>();
  const visit = (node: ElkNode): void => {
    for (const edge of node.edges ?? []) found.set(edge.id, edge);
    node.children?.forEach(visit);
  };
  visit(root);
  return found;
}

function placedArrow(arrow: Arrow, edge: ElkEdge | undefined): PlacedArrow {
  const [label] = edge?.labels ?? [];
  const lines = (edge?.sections ?? []).map((section) => {
    const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
    return arrow.back ? points.reverse() : points;
  });
  const box =
    label === undefined ? null : { x: label.x ?? 0, y: label.y ?? 0, width: label.width, height: label.height };
  return { arrow, lines, label: box };
}

export async function layoutChart(chart: Chart, notation: Notation): Promise<ChartLayout> {
  const contents = new Map(chart.states.map((state) => [state.id, boxContent(chart, state, notation)]));
  const arrows = arrowsOf(chart, notation);
  const engine = await loadEngine();
  const root = await engine.layout(elkGraph(chart, contents, arrows));
  const boxes = boxesById(root);
  const edges = edgesById(root);
  return {
    width: root.width ?? 0,
    height: root.height ?? 0,
    states: chart.states.map((state) => ({
      state,
      box: boxes.get(state.id) as Box,
      content: contents.get(state.id) as BoxContent,
    })),
    initials: chart.states.flatMap((state) => boxes.get(initialNodeId(state.id)) ?? []),
    rings: chart.states.flatMap((state) => boxes.get(anywhereNodeId(state.id)) ?? []),
    arrows: arrows.map((arrow) => placedArrow(arrow, edges.get(arrow.id))),
  };
}
