/**
 * Owns which files a chart becomes, and what they are called.
 * Must not know where they are written.
 */
import type { AnyStateMachine } from 'xstate';
import { type Chart, rootOf } from './chart.js';
import { layoutChart } from './layout.js';
import { literalOf } from './literal.js';
import { mermaidOf } from './mermaid.js';
import { chartOf, notationOf, type StatechartOptions } from './options.js';
import { phaseTable } from './review-tables.js';
import { scxmlOf } from './scxml.js';
import { drawChart } from './svg.js';
import { eventTable, IGNORED, transitionTable } from './tables.js';
import type { Notation } from './wording.js';

/** A name for files and headings: XState calls a machine without an id `(machine)`. */
const fileName = (chart: Chart): string => chart.id.replace(/[^\w.-]+/g, '') || 'machine';

/** The comment at the top of every text that is generated. */
export const GENERATED = 'Generated from the machine: change that, not this.';

function tablesPage(chart: Chart, notation: Notation): string {
  const root = rootOf(chart).id;
  const inner = chart.states.filter((state) => state.id !== root);
  return [
    `# The chart \`${fileName(chart)}\` in tables`,
    `<!-- ${GENERATED} -->`,
    ...(chart.description === null ? [] : [chart.description]),
    ...(inner.length === 0 ? [] : ['## States', phaseTable(chart, inner)]),
    '## Transitions',
    'One line for each. Where an event has several, the first whose guard passes is taken.',
    transitionTable(chart, notation),
    '## Phases and events',
    `Where the event leads in each phase one can rest in. Several lines: in this order, as the guards say. *stays*: only ` +
      `actions. ${IGNORED}: ignored.`,
    eventTable(chart),
  ]
    .join('\n\n')
    .concat('\n');
}

/** Contents by file name: picture, tables, mermaid, SCXML and the literal. */
export async function chartFiles(
  machine: AnyStateMachine,
  options: StatechartOptions = {},
): Promise<Map<string, string>> {
  const chart = chartOf(machine, options);
  const notation = notationOf(options);
  const name = fileName(chart);
  const svg = drawChart(chart, await layoutChart(chart, notation), notation, options.scheme ?? 'auto');
  return new Map([
    [`${name}.svg`, svg],
    [`${name}.md`, tablesPage(chart, notation)],
    [`${name}.mmd`, mermaidOf(chart)],
    [`${name}.scxml`, scxmlOf(chart)],
    [`${name}.machine.ts`, literalOf(machine)],
  ]);
}
