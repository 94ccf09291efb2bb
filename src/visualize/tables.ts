/**
 * Owns the tables of a chart in Markdown: every transition on a line of its own, and which phase does what with
 * which event, so that a pull request shows a change of the chart as a changed line.
 * Must not know XState or pictures.
 */
import {
  type Chart,
  type ChartState,
  type ChartTransition,
  lineage,
  outgoing,
  pathOf,
  rootOf,
  shortName,
  type Trigger,
  triggerKey,
} from './chart.js';
import { directiveOf, guardText, type Notation, plainActions, triggerText } from './wording.js';

/** Shown in a cell whose event changes nothing in that phase. */
export const IGNORED = '·';

/** A pipe would end the cell, an angle bracket begin a tag, an asterisk or underscore begin emphasis. */
export function cell(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/[\\|*_`[\]]/g, '\\$&')
    .replace(/\s+/g, ' ');
}

const code = (text: string): string => (text === '' ? '' : `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``);
const codes = (list: readonly string[]): string => list.map(code).join(', ');

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The same without columns that are empty in every row. */
export function leanTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = (_: string, column: number) => rows.some((row) => row[column] !== '');
  return table(
    head.filter(used),
    rows.map((row) => row.filter(used)),
  );
}

/** What an author writes after `target`. */
export function targetCell(chart: Chart, transition: ChartTransition): string {
  if (transition.targets.length === 0) return 'stays';
  const names = transition.targets.map((id) => code(shortName(chart, id))).join(', ');
  return transition.reenter ? `${names} (re-enters)` : names;
}

export function guardCell(transition: ChartTransition): string {
  const words = guardText(transition);
  if (words === null) return '';
  return transition.guard === null ? `*${words}*` : code(words);
}

const priorityCell = (t: ChartTransition): string => (t.candidates === 1 ? '' : `${t.priority} of ${t.candidates}`);

export function transitionTable(chart: Chart, notation: Notation): string {
  const starts = chart.states.flatMap((state) => {
    if (state.initial === null) return [];
    const { targets, actions } = state.initial;
    const names = targets.map((id) => code(shortName(chart, id))).join(', ');
    return [
      {
        state: state.id,
        cells: [code(pathOf(chart, state.id)), '*initial*', '', '', names, ...actionCells(actions, notation)],
      },
    ];
  });
  const rows = chart.states.flatMap((state) => [
    ...starts.filter((start) => start.state === state.id).map((start) => start.cells),
    ...outgoing(chart, state.id).map((transition) => [
      code(pathOf(chart, transition.source)),
      cell(triggerText(transition.trigger)),
      priorityCell(transition),
      guardCell(transition),
      targetCell(chart, transition),
      ...actionCells(transition.actions, notation),
    ]),
  ]);
  return table(['source', 'event', 'priority', 'guard', 'target', 'actions', 'checkpoint'], rows);
}

function actionCells(actions: readonly string[], notation: Notation): [string, string] {
  return [codes(plainActions(actions, notation)), code(directiveOf(actions, notation) ?? '')];
}

/** A descriptor with a star stands for every event that begins like it. */
function accepts(descriptor: string, event: string): boolean {
  if (descriptor === event || descriptor === '*') return true;
  return descriptor.endsWith('.*') && event.startsWith(descriptor.slice(0, -1));
}

const isExact = (trigger: Trigger): boolean => trigger.kind !== 'event' || !trigger.name.endsWith('*');

/** The candidates that a state itself has for a trigger, the most specific descriptor first. */
function ownCandidates(chart: Chart, state: ChartState, trigger: Trigger): ChartTransition[] {
  const own = outgoing(chart, state.id);
  const exact = own.filter((transition) => triggerKey(transition.trigger) === triggerKey(trigger));
  if (exact.length > 0 || trigger.kind !== 'event') return exact;
  const wild = own.filter(({ trigger: t }) => t.kind === 'event' && !isExact(t) && accepts(t.name, trigger.name));
  const nameLength = ({ trigger: t }: ChartTransition) => (t.kind === 'event' ? t.name.length : 0);
  return wild.sort((a, b) => nameLength(b) - nameLength(a));
}

/** A guard that says no hands the event to the next candidate, and the last of a state to the state around it. */
function candidates(chart: Chart, phase: ChartState, trigger: Trigger): ChartTransition[] {
  const found: ChartTransition[] = [];
  for (const state of lineage(chart, phase.id)) {
    for (const transition of ownCandidates(chart, state, trigger)) {
      found.push(transition);
      if (transition.guard === null) return found;
    }
  }
  return found;
}

function reaction(chart: Chart, phase: ChartState, trigger: Trigger): string {
  const found = candidates(chart, phase, trigger);
  if (found.length === 0) return IGNORED;
  const words = found.map((transition) => {
    if (transition.targets.length > 0) return transition.targets.map((id) => cell(shortName(chart, id))).join(' + ');
    return transition.actions.length === 0 ? 'ignored on purpose' : '*stays*';
  });
  const last = found.at(-1);
  return [...new Set([...words, ...(last?.guard === null ? [] : [IGNORED])])].join('<br>');
}

/** Phases one can rest in: the leaves but history marks, transient ones and the ends of the whole chart. */
function phasesOf(chart: Chart): ChartState[] {
  const root = rootOf(chart).id;
  return chart.states.filter(
    (state) =>
      state.children.length === 0 &&
      state.type !== 'history' &&
      !state.transient &&
      !(state.type === 'final' && state.parent === root) &&
      state.id !== root,
  );
}

/** A leaf that is the only one of its state goes by the name of that state. */
export function phaseName(chart: Chart, phase: ChartState): string {
  const parent = chart.states.find((state) => state.id === phase.parent);
  if (parent === undefined || parent.parent === null || parent.children.length > 1) return shortName(chart, phase.id);
  return shortName(chart, parent.id);
}

export function eventTable(chart: Chart): string {
  const phases = phasesOf(chart);
  const triggers = new Map<string, Trigger>();
  for (const { trigger } of chart.transitions) {
    if (trigger.kind !== 'always') triggers.set(triggerKey(trigger), trigger);
  }
  const rows = [...triggers.values()].map((trigger) => [
    cell(triggerText(trigger)),
    ...phases.map((phase) => reaction(chart, phase, trigger)),
  ]);
  return table(['event', ...phases.map((phase) => cell(phaseName(chart, phase)))], rows);
}
