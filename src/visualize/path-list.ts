/**
 * Owns the list of generated test paths as a page to read: what happens, where it leads, which edges it is for.
 * Must not know how paths are found.
 */
import type { MachinePath, MachinePaths } from '../testing/paths.js';
import { type Chart, shortName } from './chart.js';
import { GENERATED } from './chart-files.js';
import { countOf, guardText, triggerText } from './wording.js';

/** Characters of an event's payload that are worth a reader's time. */
const PAYLOAD = 100;

/** `xstate.after.<delay>.<state>` as the chart says it; delays and ids of states may hold dots, so both are matched. */
function eventName(chart: Chart, type: string): string {
  for (const { trigger, source } of chart.transitions) {
    if (trigger.kind === 'after' && type === `xstate.after.${trigger.delay}.${source}`) return `after ${trigger.delay}`;
  }
  return type;
}

function payload(event: MachinePath['steps'][number]['event']): string {
  const { type: _, ...rest } = event;
  if (Object.keys(rest).length === 0) return '';
  const text = JSON.stringify(rest);
  return text.length <= PAYLOAD ? ` ${text}` : ` ${text.slice(0, PAYLOAD)}…`;
}

function stateText(value: MachinePath['startValue']): string {
  if (typeof value === 'string') return value;
  const parts = Object.entries(value).map(([key, inner]) => (inner === undefined ? key : `${key}.${stateText(inner)}`));
  return parts.length === 1 ? `${parts[0]}` : `{${parts.join(', ')}}`;
}

function edgeText(chart: Chart, id: string): string {
  const transition = chart.transitions.find((candidate) => candidate.id === id);
  if (transition === undefined) return id;
  const guard = guardText(transition);
  const where = shortName(chart, transition.source);
  return `${where}: ${triggerText(transition.trigger)}${guard === null ? '' : ` [${guard}]`}`;
}

function pathText(chart: Chart, path: MachinePath, n: number): string {
  const heading = `## ${n}. ${path.start.name}${path.start.name === '' ? '' : ' → '}${stateText(path.steps.at(-1)?.value ?? path.startValue)}`;
  const line = (words: string, value: MachinePath['startValue'], edges: readonly string[]) =>
    `${words} → \`${stateText(value)}\`${edges.length === 0 ? '' : `  \n   takes ${edges.map((id) => `\`${edgeText(chart, id)}\``).join(', ')}`}`;
  const lines = [
    line('start', path.startValue, path.startEdges),
    ...path.steps.map(({ event, value, edges }) =>
      line(`\`${eventName(chart, event.type)}${payload(event)}\``, value, edges),
    ),
  ];
  return `${heading}\n\n${lines.map((words, k) => `${k + 1}. ${words}`).join('\n')}`;
}

export function pathList(chart: Chart, name: string, { paths, uncovered }: MachinePaths): string {
  const total = chart.transitions.length;
  const covered = `${total - uncovered.length} of ${countOf(total, 'transition')}`;
  return [
    `# Test paths through \`${name}\``,
    `<!-- ${GENERATED} -->`,
    `${countOf(paths.length, 'path')} take ${covered}, time-outs and immediate ones included.`,
    ...(uncovered.length === 0 ? [] : [`Not taken: ${uncovered.map((id) => edgeText(chart, id)).join('; ')}.`]),
    ...paths.map((path, k) => pathText(chart, path, k + 1)),
  ]
    .join('\n\n')
    .concat('\n');
}
