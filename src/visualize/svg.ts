/**
 * Owns the picture of a chart: which mark stands where in the SVG, and the tooltips.
 * Must not know how positions were found.
 */
import type { Arrow } from './arrows.js';
import { type Chart, type ChartTransition, shortName } from './chart.js';
import { LABEL_PADDING_X, LABEL_PADDING_Y } from './elk-graph.js';
import type { Box, ChartLayout, PlacedArrow } from './layout.js';
import { legendOf } from './legend.js';
import type { Row } from './rows.js';
import { arrowHead, drawRows, escapeXml, inset, rect, round, roundedPath, tooltip } from './svg-parts.js';
import { drawFrame, drawHead, drawLeaf } from './svg-states.js';
import { type Scheme, styleSheet } from './theme.js';
import { guardText, type Notation, triggerText } from './wording.js';

/** A picture of two states still has room for its legend. */
const NARROWEST = 480;
const SCOPE = 'statechart';

function circle(className: string, box: Box): string {
  const r = box.width / 2;
  return `<circle class="${className}" cx="${round(box.x + r)}" cy="${round(box.y + r)}" r="${round(r)}"/>`;
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
  const [first, ...more] = arrow.rows.flatMap((row) => row.pieces);
  const bare = first?.piece.kind === 'number' && more.length === 0;
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
  const dots = [
    ...layout.initials.map((box) => circle('dot', box)),
    ...layout.rings.map((box) => circle('ring', inset(box, 1))),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="${SCOPE}" role="img" aria-label="${escapeXml(`statechart ${chart.id}`)}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>\n${styleSheet(SCOPE, scheme)}\n</style>`,
    rect({ x: 0, y: 0, width, height }, 'page', 0),
    ...groups.map((placed) => drawFrame(chart, placed)),
    ...layout.arrows.map((arrow) => drawArrow(chart, arrow)),
    ...groups.map(drawHead),
    ...leaves.map((placed) => drawLeaf(chart, placed)),
    ...dots,
    ...layout.arrows.map((arrow) => drawLabel(chart, arrow)).filter((label) => label !== ''),
    `<g class="legend">${legend.draw(0, layout.height)}</g>`,
    '</svg>',
    '',
  ].join('\n');
}
