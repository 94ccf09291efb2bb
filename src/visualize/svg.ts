/**
 * Owns the picture of a chart: which mark stands where in the SVG, and the tooltips.
 * Must not know how positions were found.
 */
import type { Arrow } from './arrows.js';
import type { Chart, ChartState, ChartTransition } from './chart.js';
import { pathOf, shortName } from './chart.js';
import { TITLE_HEIGHT } from './contents.js';
import { BOX_PADDING_X, LABEL_PADDING_X, LABEL_PADDING_Y, RULE_GAP } from './elk-graph.js';
import type { Box, ChartLayout, PlacedArrow, PlacedState } from './layout.js';
import { legendOf } from './legend.js';
import { blockWidth, type Row } from './rows.js';
import { arrowHead, drawRow, drawRows, escapeXml, rect, round, roundedPath } from './svg-parts.js';
import { type Scheme, styleSheet } from './theme.js';
import { guardText, type Notation, triggerText } from './wording.js';

/** A picture of two states still has room for its legend. */
const NARROWEST = 480;
const SCOPE = 'statechart';
const RADIUS = 7;
const DOUBLE_BORDER = 3;

function inset(box: Box, by: number): Box {
  return { x: box.x + by, y: box.y + by, width: box.width - 2 * by, height: box.height - 2 * by };
}

const tooltip = (text: string | null): string => (text === null ? '' : `<title>${escapeXml(text)}</title>`);

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

function drawState(chart: Chart, placed: PlacedState): string {
  const { state, box, content } = placed;
  const words = [state.description, state.type === 'history' ? `${state.history} history` : null];
  const about = words.filter((word) => word !== null).join(' ');
  const title = tooltip(`${pathOf(chart, state.id)}${about === '' ? '' : `: ${about}`}`);
  const open = `<g data-state="${escapeXml(state.id)}">${title}`;
  if (state.type === 'history') return `${open}${historyMark(placed)}</g>`;
  const left = box.x + BOX_PADDING_X;
  const nothingBelow = content.lines.length === 0 && state.children.length === 0;
  const top = nothingBelow ? box.y + (box.height - TITLE_HEIGHT) / 2 : box.y + 2;
  const centred = nothingBelow && content.badges.width === 0;
  const parts = [
    frame(chart, state, box),
    drawRow(content.title, centred ? box.x + (box.width - content.title.width) / 2 : left, top),
    drawRow(content.badges, box.x + box.width - BOX_PADDING_X - content.badges.width, top),
  ];
  if (content.lines.length > 0) {
    const ruleY = round(box.y + TITLE_HEIGHT + 2);
    const edge = state.type === 'final' ? DOUBLE_BORDER : 0;
    const right = round(box.x + box.width - edge);
    parts.push(`<path class="rule" d="M${round(box.x + edge)} ${ruleY}H${right}"/>`);
    parts.push(drawRows(content.lines, left, box.y + TITLE_HEIGHT + RULE_GAP));
  }
  return `${open}${parts.join('')}</g>`;
}

function transitionWords(chart: Chart, transition: ChartTransition): string {
  const guard = guardText(transition);
  const targets = transition.targets.map((id) => shortName(chart, id)).join(', ');
  const parts = [
    `${shortName(chart, transition.source)} → ${targets}: ${triggerText(transition.trigger)}`,
    guard === null ? '' : `[${guard}]`,
    transition.actions.length === 0 ? '' : `/ ${transition.actions.join(', ')}`,
    transition.description === null ? '' : `– ${transition.description}`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function arrowWords(chart: Chart, arrow: Arrow): string {
  if (arrow.transitions.length === 0) return `starts in ${shortName(chart, arrow.target)}`;
  return arrow.transitions.map((transition) => transitionWords(chart, transition)).join('\n');
}

/** For whoever highlights a taken path: the ids of the transitions that an arrow stands for. */
const transitionIds = (arrow: Arrow): string =>
  escapeXml(JSON.stringify(arrow.transitions.map((transition) => transition.id)));

function drawArrow(chart: Chart, { arrow, lines }: PlacedArrow): string {
  const drawn = lines.map((points) => {
    const [tip, before] = [points.at(-1), points.at(-2)];
    return roundedPath(points) + (tip === undefined || before === undefined ? '' : arrowHead(before, tip));
  });
  return `<g class="edge ${arrow.tone}" data-edge="${transitionIds(arrow)}">${tooltip(arrowWords(chart, arrow))}${drawn.join('')}</g>`;
}

function drawLabel(chart: Chart, { arrow, label }: PlacedArrow): string {
  if (label === null) return '';
  const words = drawRows(arrow.rows, label.x + LABEL_PADDING_X, label.y + LABEL_PADDING_Y);
  // A lone number is its own label.
  const bare = blockWidth(arrow.rows) < 20 && arrow.rows.length === 1;
  const plate = bare ? '' : rect(label, `label ${arrow.tone}`, 5);
  const open = `<g data-label="${transitionIds(arrow)}">${tooltip(arrowWords(chart, arrow))}`;
  return `${open}${plate}${separators(arrow.rows, label)}${words}</g>`;
}

function separators(rows: readonly Row[], label: Box): string {
  let y = label.y + LABEL_PADDING_Y;
  const drawn = rows.map((row) => {
    const middle = round(y + row.height / 2);
    y += row.height;
    if (row.pieces.length > 0) return '';
    return `<path class="rule" d="M${round(label.x)} ${middle}H${round(label.x + label.width)}"/>`;
  });
  return drawn.join('');
}

export function drawChart(chart: Chart, layout: ChartLayout, notation: Notation, scheme: Scheme): string {
  const width = Math.ceil(Math.max(layout.width, NARROWEST));
  const legend = legendOf(chart, notation, width);
  const height = Math.ceil(layout.height + legend.height);
  const groups = layout.states.filter(({ state }) => state.children.length > 0);
  const leaves = layout.states.filter(({ state }) => state.children.length === 0);
  const dots = layout.initials.map(
    (box) =>
      `<circle class="dot" cx="${round(box.x + box.width / 2)}" cy="${round(box.y + box.height / 2)}" r="${round(box.width / 2)}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="${SCOPE}" role="img" aria-label="${escapeXml(`statechart ${chart.id}`)}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>\n${styleSheet(SCOPE, scheme)}\n</style>`,
    rect({ x: 0, y: 0, width, height }, 'page', 0),
    ...groups.map((placed) => drawState(chart, placed)),
    ...layout.arrows.map((arrow) => drawArrow(chart, arrow)),
    ...leaves.map((placed) => drawState(chart, placed)),
    ...dots,
    ...layout.arrows.map((arrow) => drawLabel(chart, arrow)).filter((label) => label !== ''),
    `<g class="legend">${legend.draw(0, layout.height)}</g>`,
    '</svg>',
    '',
  ].join('\n');
}
