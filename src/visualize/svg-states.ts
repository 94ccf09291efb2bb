/**
 * Owns how a state is drawn: its frame, and the text inside it.
 * Must not know arrows.
 */
import { type Chart, type ChartState, pathOf } from './chart.js';
import { TITLE_HEIGHT } from './contents.js';
import { BOX_PADDING_X, RULE_GAP } from './elk-graph.js';
import type { Box, PlacedState } from './layout.js';
import { blockHeight, blockWidth } from './rows.js';
import { drawRow, drawRows, escapeXml, inset, rect, round, tooltip } from './svg-parts.js';

const RADIUS = 7;
const DOUBLE_BORDER = 3;
const PLATE_MARGIN = 3;

function historyMark({ state, box }: PlacedState): string {
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  const words = state.history === 'deep' ? 'H*' : 'H';
  return (
    `<circle class="box" cx="${round(cx)}" cy="${round(cy)}" r="${round(box.width / 2)}"/>` +
    `<text class="strong" text-anchor="middle" x="${round(cx)}" y="${round(cy + 4)}">${words}</text>`
  );
}

function frame(chart: Chart, state: ChartState, box: Box): string {
  const parent = chart.states.find((other) => other.id === state.parent);
  const kind = state.children.length > 0 ? 'group' : 'box';
  const region = parent?.type === 'parallel' ? ' region' : '';
  const transient = state.transient ? ' transient' : '';
  if (state.type !== 'final') return rect(box, `${kind}${region}${transient}`, RADIUS);
  return rect(box, `${kind} final`, RADIUS) + rect(inset(box, DOUBLE_BORDER), 'box inner', RADIUS - 2);
}

function stateWords(chart: Chart, state: ChartState): string {
  const words = [state.description, state.type === 'history' ? `${state.history} history` : null];
  const about = words.filter((word) => word !== null).join(' ');
  return `${pathOf(chart, state.id)}${about === '' ? '' : `: ${about}`}`;
}

const open = (chart: Chart, state: ChartState): string =>
  `<g data-state="${escapeXml(state.id)}">${tooltip(stateWords(chart, state))}`;

function rule({ state, box }: PlacedState): string {
  const edge = state.type === 'final' ? DOUBLE_BORDER : 0;
  return `<path class="rule" d="M${round(box.x + edge)} ${round(box.y + TITLE_HEIGHT + 2)}H${round(box.x + box.width - edge)}"/>`;
}

function texts({ state, box, content }: PlacedState): string {
  const left = box.x + BOX_PADDING_X;
  const nothingBelow = content.lines.length === 0 && state.children.length === 0;
  const top = nothingBelow ? box.y + (box.height - TITLE_HEIGHT) / 2 : box.y + 2;
  const centred = nothingBelow && content.badges.width === 0;
  return [
    drawRow(content.title, centred ? box.x + (box.width - content.title.width) / 2 : left, top),
    drawRow(content.badges, box.x + box.width - BOX_PADDING_X - content.badges.width, top),
    drawRows(content.lines, left, box.y + TITLE_HEIGHT + RULE_GAP),
  ].join('');
}

/** A state without others inside it, whole. */
export function drawLeaf(chart: Chart, placed: PlacedState): string {
  const { state, box, content } = placed;
  if (state.type === 'history') return `${open(chart, state)}${historyMark(placed)}</g>`;
  const line = content.lines.length > 0 ? rule(placed) : '';
  return `${open(chart, state)}${frame(chart, state, box)}${line}${texts(placed)}</g>`;
}

/** The frame of a state with others inside it, which lies below all arrows. */
export function drawFrame(chart: Chart, placed: PlacedState): string {
  const line = placed.content.lines.length > 0 ? rule(placed) : '';
  return `${open(chart, placed.state)}${frame(chart, placed.state, placed.box)}${line}</g>`;
}

/**
 * The text of such a state, on plates of its own colour: an arrow that comes in from above may have to pass here, and
 * goes underneath.
 */
export function drawHead(placed: PlacedState): string {
  const { box, content } = placed;
  const left = box.x + BOX_PADDING_X - PLATE_MARGIN;
  const plate = (x: number, y: number, width: number, height: number): string =>
    width === 0 ? '' : rect({ x, y, width: width + 2 * PLATE_MARGIN, height }, 'plate', 0);
  const badgesX = box.x + box.width - BOX_PADDING_X - content.badges.width - PLATE_MARGIN;
  return [
    plate(left, box.y + 3, content.title.width, TITLE_HEIGHT - 2),
    plate(badgesX, box.y + 3, content.badges.width, TITLE_HEIGHT - 2),
    plate(left, box.y + TITLE_HEIGHT + RULE_GAP, blockWidth(content.lines), blockHeight(content.lines)),
    texts(placed),
  ].join('');
}
