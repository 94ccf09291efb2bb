/**
 * Owns the tables a design review asks for: the phases and what bounds them, the order of a decision, the checkpoint
 * boundaries and the time-outs. All are read from the chart, so none can be out of date.
 * Must not know which chart it is.
 */
import { type Chart, type ChartState, type ChartTransition, isEdge, outgoing, shortName, stateOf } from './chart.js';
import { cell, guardCell, leanTable, phaseName, table, targetCell } from './tables.js';
import { directiveOf, type Notation, plainActions, triggerText } from './wording.js';

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** The states directly below one, each a phase of it. */
export function childrenOf(chart: Chart, id: string): ChartState[] {
  return stateOf(chart, id).children.map((child) => stateOf(chart, child));
}

function withDescendants(chart: Chart, state: ChartState): ChartState[] {
  return [state, ...state.children.flatMap((child) => withDescendants(chart, stateOf(chart, child)))];
}

function timeOutsOf(chart: Chart, state: ChartState): ChartTransition[] {
  return withDescendants(chart, state)
    .flatMap((inner) => outgoing(chart, inner.id))
    .filter((transition) => transition.trigger.kind === 'after');
}

function kindOf(state: ChartState): string {
  if (state.type === 'final') return 'final';
  return state.transient ? 'transient' : '';
}

export function phaseTable(chart: Chart, phases: readonly ChartState[]): string {
  const rows = phases
    .filter((state) => state.type !== 'history')
    .map((state) => {
      const bounds = timeOutsOf(chart, state).map((t) => cell(triggerText(t.trigger).replace(/^after /, '')));
      return [
        code(phaseName(chart, state)),
        [...state.tags, kindOf(state)].filter((word) => word !== '').join(', '),
        [...new Set(bounds)].join('<br>'),
        state.entry.map(code).join(', '),
        cell(state.description ?? ''),
      ];
    });
  return leanTable(['phase', 'kind', 'time-outs', 'effect on entry', 'what it is'], rows);
}

/** The candidates of a state's `always`, in their order. */
export function decisionTable(chart: Chart, id: string, notation: Notation): string {
  const rows = outgoing(chart, id)
    .filter((transition) => transition.trigger.kind === 'always')
    .map((transition) => [
      `${transition.priority}`,
      guardCell(transition),
      targetCell(chart, transition),
      plainActions(transition.actions, notation).map(code).join(', '),
      code(directiveOf(transition.actions, notation) ?? ''),
    ]);
  return table(['order', 'guard', 'leads to', 'actions', 'checkpoint'], rows);
}

export function boundaryTable(chart: Chart, notation: Notation): string {
  const starts = chart.states.flatMap((state) => {
    const directive = directiveOf(state.initial?.actions ?? [], notation);
    if (directive === null) return [];
    const targets = (state.initial?.targets ?? []).map((target) => code(shortName(chart, target))).join(', ');
    return [{ directive, cells: [code(shortName(chart, state.id)), '*initial*', '', targets] }];
  });
  const edges = chart.transitions.flatMap((transition) => {
    const directive = directiveOf(transition.actions, notation);
    if (directive === null) return [];
    const source = code(shortName(chart, transition.source));
    const cells = [source, cell(triggerText(transition.trigger)), guardCell(transition), targetCell(chart, transition)];
    return [{ directive, cells }];
  });
  const rows = notation.directives.flatMap((directive) =>
    [...starts, ...edges]
      .filter((boundary) => boundary.directive === directive)
      .map(({ cells }) => [code(directive), ...cells]),
  );
  return table(['directive', 'from', 'event', 'guard', 'to'], rows);
}

export function timeOutTable(chart: Chart): string {
  const rows = chart.transitions.flatMap((transition) => {
    const { trigger } = transition;
    if (trigger.kind !== 'after') return [];
    const does = isEdge(transition) ? targetCell(chart, transition) : transition.actions.map(code).join(', ');
    const phase = phaseName(chart, stateOf(chart, transition.source));
    return [[code(trigger.delay), cell(trigger.resolved ?? ''), code(phase), guardCell(transition), does]];
  });
  return table(['time-out', 'after', 'phase', 'guard', 'leads to'], rows);
}

/** States with the question each asks, as a chart of gates has them. */
export function gateTable(chart: Chart, gates: readonly ChartState[]): string {
  const rows = gates.map((state) => [
    code(shortName(chart, state.id)),
    cell(state.description ?? ''),
    outgoing(chart, state.id)
      .map((transition) => {
        const guard = guardCell(transition);
        const event = transition.trigger.kind === 'always' ? '' : cell(triggerText(transition.trigger));
        return [event, guard, '→', targetCell(chart, transition)].filter((word) => word !== '').join(' ');
      })
      .join('<br>'),
  ]);
  return table(['gate', 'asks', 'verdict'], rows);
}
