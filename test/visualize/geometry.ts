// Reads a layout the way an eye does: where texts end, what lies on what, and which line crosses which box.
import { TITLE_HEIGHT } from '../../src/visualize/contents.js';
import {
  BOX_PADDING_X,
  headHeight,
  LABEL_PADDING_X,
  LABEL_PADDING_Y,
  RULE_GAP,
} from '../../src/visualize/elk-graph.js';
import type { Box, ChartLayout, PlacedArrow, PlacedState, Point } from '../../src/visualize/layout.js';
import type { Row } from '../../src/visualize/rows.js';

/** A box and what a failing test calls it. */
export interface Named {
  readonly name: string;
  readonly box: Box;
}

/** Half a pixel is no overlap that anybody could see. */
const TOLERANCE = 0.5;

export function overlap(a: Box, b: Box): boolean {
  return (
    a.x + a.width > b.x + TOLERANCE &&
    b.x + b.width > a.x + TOLERANCE &&
    a.y + a.height > b.y + TOLERANCE &&
    b.y + b.height > a.y + TOLERANCE
  );
}

export function contains(outer: Box, inner: Box): boolean {
  return (
    inner.x >= outer.x - TOLERANCE &&
    inner.y >= outer.y - TOLERANCE &&
    inner.x + inner.width <= outer.x + outer.width + TOLERANCE &&
    inner.y + inner.height <= outer.y + outer.height + TOLERANCE
  );
}

function stacked(rows: readonly Row[], x: number, y: number, name: string): Named[] {
  let top = y;
  return rows.map((row, k) => {
    const box = { x, y: top, width: row.width, height: row.height };
    top += row.height;
    return { name: `${name}, line ${k + 1}`, box };
  });
}

/** The lines of text in the box of a state: title, badges and everything below the rule. */
export function textsIn({ state, box, content }: PlacedState): Named[] {
  if (state.type === 'history') return [];
  const { title, badges, lines } = content;
  const left = box.x + BOX_PADDING_X;
  const right = box.x + box.width - BOX_PADDING_X - badges.width;
  return [
    { name: `title of ${state.id}`, box: { x: left, y: box.y + 2, width: title.width, height: TITLE_HEIGHT } },
    { name: `badges of ${state.id}`, box: { x: right, y: box.y + 2, width: badges.width, height: TITLE_HEIGHT } },
    ...stacked(lines, left, box.y + TITLE_HEIGHT + RULE_GAP, state.id),
  ];
}

export function textsOn({ arrow, label }: PlacedArrow): Named[] {
  if (label === null) return [];
  return stacked(arrow.rows, label.x + LABEL_PADDING_X, label.y + LABEL_PADDING_Y, `label of ${arrow.id}`);
}

const isLeaf = ({ state }: PlacedState): boolean => state.children.length === 0;

export const leaves = (layout: ChartLayout): Named[] =>
  layout.states.filter(isLeaf).map(({ state, box }) => ({ name: state.id, box }));

/** What no label may lie on: leaves whole, and of a state with others inside it the part that holds text. */
export function obstacles(layout: ChartLayout): Named[] {
  const heads = layout.states.filter((placed) => !isLeaf(placed));
  return [
    ...leaves(layout),
    ...heads.map(({ state, box, content }) => {
      const width = Math.max(content.title.width, ...content.lines.map((row) => row.width)) + BOX_PADDING_X;
      return { name: `head of ${state.id}`, box: { ...box, width, height: headHeight(content) } };
    }),
  ];
}

export const labels = (layout: ChartLayout): (Named & { readonly arrow: string })[] =>
  layout.arrows.flatMap(({ arrow, label }) =>
    label === null ? [] : [{ name: `label of ${arrow.id}`, arrow: arrow.id, box: label }],
  );

/** The straight pieces of an arrow, each as a box without thickness. */
export function segments({ lines }: PlacedArrow): Box[] {
  return lines.flatMap((points) => points.slice(1).map((end, k) => spanned(points[k] as Point, end)));
}

function spanned(a: Point, b: Point): Box {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}

/** A line has no area, so it crosses a box when it enters its inside. */
export function crosses(line: Box, box: Box): boolean {
  const inner = { x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2 };
  return (
    line.x < inner.x + inner.width &&
    line.x + line.width > inner.x &&
    line.y < inner.y + inner.height &&
    line.y + line.height > inner.y
  );
}

export function touches(point: Point, box: Box): boolean {
  const grown = { x: box.x - 1.5, y: box.y - 1.5, width: box.width + 3, height: box.height + 3 };
  return contains(grown, { ...point, width: 0, height: 0 });
}

export function pairs<T>(list: readonly T[]): [T, T][] {
  return list.flatMap((a, k) => list.slice(k + 1).map((b): [T, T] => [a, b]));
}
