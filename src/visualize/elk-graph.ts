/**
 * Owns the graph that the layout engine is given: sizes, nesting, edges with room for their labels, and its options.
 * Must not know how the engine is run, nor what the picture looks like.
 */
import { type Arrow, anywhereNodeId, initialNodeId } from './arrows.js';
import { type Chart, type ChartState, rootOf, stateOf } from './chart.js';
import { type BoxContent, TITLE_HEIGHT } from './contents.js';
import { blockHeight, blockWidth, type Row } from './rows.js';

export interface ElkNode {
  id: string;
  width?: number;
  height?: number;
  x?: number;
  y?: number;
  layoutOptions?: Record<string, string>;
  children?: ElkNode[];
  edges?: ElkEdge[];
}

export interface ElkPoint {
  readonly x: number;
  readonly y: number;
}

export interface ElkEdge {
  id: string;
  sources: string[];
  targets: string[];
  labels?: {
    text: string;
    width: number;
    height: number;
    x?: number;
    y?: number;
    layoutOptions?: Record<string, string>;
  }[];
  layoutOptions?: Record<string, string>;
  sections?: { startPoint: ElkPoint; endPoint: ElkPoint; bendPoints?: ElkPoint[] }[];
}

export const BOX_PADDING_X = 10;
export const LABEL_PADDING_X = 6;
export const LABEL_PADDING_Y = 2;
/** Between the title of a state and its first line runs a rule. */
export const RULE_GAP = 5;
const BOX_PADDING_BOTTOM = 7;
const TITLE_TO_BADGES = 14;
const DOT_SIZE = 12;
const HISTORY_SIZE = 30;
const CHILD_MARGIN = 18;

/** Root options are not inherited: the engine wants them on every node that has children. */
const SPACING: Record<string, string> = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.randomSeed': '1',
  'elk.layered.cycleBreaking.strategy': 'GREEDY',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.thoroughness': '30',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '18',
  'elk.spacing.edgeEdge': '14',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.labelLabel': '6',
  'elk.layered.spacing.nodeNodeBetweenLayers': '26',
  'elk.layered.spacing.edgeNodeBetweenLayers': '16',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
};

export type Contents = ReadonlyMap<string, BoxContent>;

/** The height of title and lines, below which children may stand. */
export function headHeight(content: BoxContent): number {
  return content.lines.length === 0 ? TITLE_HEIGHT + 4 : TITLE_HEIGHT + RULE_GAP + blockHeight(content.lines);
}

function boxSize(content: BoxContent): { width: number; height: number } {
  const badges = content.badges.width === 0 ? 0 : TITLE_TO_BADGES + content.badges.width;
  const width = 2 * BOX_PADDING_X + Math.max(content.title.width + badges, blockWidth(content.lines), 40);
  return {
    width: Math.ceil(width),
    height: headHeight(content) + (content.lines.length === 0 ? 4 : BOX_PADDING_BOTTOM),
  };
}

function nodeOf(chart: Chart, state: ChartState, contents: Contents, arrows: readonly Arrow[]): ElkNode {
  if (state.type === 'history') return { id: state.id, width: HISTORY_SIZE, height: HISTORY_SIZE };
  const content = contents.get(state.id);
  if (content === undefined) throw new TypeError(`no content for ${state.id}`);
  const size = boxSize(content);
  if (state.children.length === 0) return { id: state.id, ...size };
  const children = state.children.map((child) => nodeOf(chart, stateOf(chart, child), contents, arrows));
  // Both stand inside their state, and are there only when an arrow begins at them.
  for (const id of [initialNodeId(state.id), anywhereNodeId(state.id)]) {
    if (arrows.some((arrow) => arrow.source === id)) children.unshift({ id, width: DOT_SIZE, height: DOT_SIZE });
  }
  return {
    id: state.id,
    children,
    layoutOptions: {
      ...SPACING,
      'elk.padding': `[top=${headHeight(content) + 14},left=${CHILD_MARGIN},bottom=${CHILD_MARGIN},right=${CHILD_MARGIN}]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      // The engine reads the minimum of a compound state as (height, width) when the direction is DOWN.
      'elk.nodeSize.minimum': `(${size.height},${size.width})`,
    },
  };
}

function labelsOf(rows: readonly Row[]): NonNullable<ElkEdge['labels']> {
  if (rows.length === 0) return [];
  const width = Math.ceil(blockWidth(rows)) + 2 * LABEL_PADDING_X;
  // An empty text would lose its place.
  const height = blockHeight(rows) + 2 * LABEL_PADDING_Y;
  return [{ text: 'label', width, height, layoutOptions: { 'elk.edgeLabels.inline': 'true' } }];
}

const edgeOf = (arrow: Arrow): ElkEdge => ({
  id: arrow.id,
  sources: [arrow.back ? arrow.target : arrow.source],
  targets: [arrow.back ? arrow.source : arrow.target],
  labels: labelsOf(arrow.rows),
});

export function elkGraph(chart: Chart, contents: Contents, arrows: readonly Arrow[]): ElkNode {
  return {
    id: 'picture',
    layoutOptions: {
      ...SPACING,
      'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
      'elk.json.shapeCoords': 'ROOT',
      'elk.json.edgeCoords': 'ROOT',
      'elk.padding': '[top=12,left=12,bottom=12,right=12]',
    },
    children: [nodeOf(chart, rootOf(chart), contents, arrows)],
    edges: arrows.map(edgeOf),
  };
}
