// The tables a pull request is read by: one line for each transition, and for every phase what it does with an event.
import { describe, expect, it } from 'vitest';
import { turnMachine } from '../../machines/index.js';
import { chartOf, notationOf } from '../../src/visualize/options.js';
import { OWN_CHARTS } from '../../src/visualize/own-charts.js';
import {
  boundaryTable,
  childrenOf,
  decisionTable,
  phaseTable,
  timeOutTable,
} from '../../src/visualize/review-tables.js';
import { eventTable, transitionTable } from '../../src/visualize/tables.js';
import { oddNames, shop } from './foreign-machines.js';

const turn = chartOf(turnMachine, OWN_CHARTS.turn.options);
const notation = notationOf({});
const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
const rowsOf = (table: string) => table.split('\n').slice(2).map(cellsOf);
const columnOf = (table: string, phase: string) => {
  const column = cellsOf(table.split('\n')[0] ?? '').indexOf(phase);
  expect(column).toBeGreaterThan(0);
  return Object.fromEntries(rowsOf(table).map((row) => [row[0], row[column]]));
};

describe('the transition table', () => {
  const rows = rowsOf(transitionTable(turn, notation));

  it('has a line for every transition and every start', () => {
    const starts = turn.states.filter(({ initial }) => initial !== null).length;
    expect(rows).toHaveLength(turn.transitions.length + starts);
    expect(new Set(rows.map((row) => row.length))).toEqual(new Set([7]));
  });

  it('tells source, event, priority, guard, target, actions and checkpoint', () => {
    expect(rows).toContainEqual([
      '`running.awaitingLLM`',
      'model.answered',
      '3 of 6',
      '`hasEffects`',
      '`executingTools`',
      '`recordSuccess`',
      '`checkpointNow`',
    ]);
    expect(rows).toContainEqual(['`running`', 'turn.handedOver', '', '', 'stays', '', '`checkpointNow`']);
    expect(rows).toContainEqual(['`running`', '*initial*', '', '', '`setup`', '', '`checkpointNow`']);
  });

  it('changes in one line when one transition of the chart changes', () => {
    const changed = {
      ...turn,
      transitions: turn.transitions.map((transition) =>
        transition.guard === 'nudgeable' ? { ...transition, guard: 'neverAgain' } : transition,
      ),
    };
    const [before, after] = [turn, changed].map((chart) => transitionTable(chart, notation).split('\n'));
    expect(before?.filter((line, k) => line !== after?.[k])).toHaveLength(1);
  });

  it('keeps its columns whatever states and events are called', () => {
    const odd = rowsOf(transitionTable(chartOf(oddNames, {}), notation));
    expect(new Set(odd.map((row) => row.length))).toEqual(new Set([7]));
  });
});

describe('the table of phases and events', () => {
  const table = eventTable(turn);

  it('has a column for every phase one can rest in, and a line for every event and time-out', () => {
    expect(cellsOf(table.split('\n')[0] ?? '')).toEqual([
      'event',
      'setup',
      'awaitingLLM',
      'retryingLLM',
      'compacting',
      'awaitingApproval',
      'executingTools',
      'awaitingReview',
      'forceStop',
    ]);
    const events = new Set(turn.transitions.map(({ trigger }) => JSON.stringify(trigger)));
    events.delete(JSON.stringify({ kind: 'always' }));
    expect(rowsOf(table)).toHaveLength(events.size);
  });

  it('marks what is ignored, and says where everything else leads', () => {
    expect(columnOf(table, 'awaitingReview')).toMatchObject({
      'calls.reviewed': 'executingTools',
      'model.answered': '·',
      'turn.cancelled': 'cancelled',
      'input.arrived': '*stays*',
    });
    expect(columnOf(table, 'forceStop')['model.answered']).toBe('recovering<br>stopped');
  });

  it('says that an event is ignored when no guard passes', () => {
    expect(columnOf(table, 'awaitingLLM')['after hardTimeout 9 min, attended: off']).toBe('recovering<br>·');
  });

  it('lets the inner state answer before the outer one', () => {
    expect(columnOf(table, 'awaitingLLM')['stop.requested']).toBe('recovering');
    expect(columnOf(table, 'executingTools')['stop.requested']).toBe('*stays*');
  });

  it('knows wild cards, events ignored on purpose, several targets and several regions', () => {
    const foreign = eventTable(chartOf(shop, {}));
    expect(columnOf(foreign, 'editing').checkout).toBe('frozen + paying');
    expect(columnOf(foreign, 'frozen')).toMatchObject({ forbidden: 'ignored on purpose', checkout: '*stays*' });
    expect(columnOf(foreign, 'waiting').start).toBe('paying<br>*stays*');
    expect(columnOf(foreign, 'waiting')['done(till)']).toBe('·');
  });
});

describe('the tables of a review', () => {
  it('list the order of recovery', () => {
    const order = rowsOf(decisionTable(turn, 'recovering', notation)).map((row) => [row[0], row[1], row[2]]);
    expect(order).toEqual([
      ['1', '`hardIdle`', '`failed`'],
      ['2', '`contextLengthOnce`', '`compacting`'],
      ['3', '`retryable`', '`retryingLLM`'],
      ['4', '`stopAsked`', '`forceStop`'],
      ['5', '`nudgeable`', '`injectingMessage`'],
      ['6', '`stopping`', '`stopped`'],
      ['7', '*else*', '`failed`'],
    ]);
  });

  it('list every checkpoint boundary once, the forced ones first', () => {
    const directives = rowsOf(boundaryTable(turn, notation)).map(([directive]) => directive);
    const lists = [
      ...turn.states.map(({ initial }) => initial?.actions ?? []),
      ...turn.transitions.map((t) => t.actions),
    ];
    const count = (directive: string) => lists.filter((actions) => actions.includes(directive)).length;
    expect(directives.filter((directive) => directive === '`checkpointNow`')).toHaveLength(count('checkpointNow'));
    expect(directives.filter((directive) => directive === '`checkpoint`')).toHaveLength(count('checkpoint'));
    expect(directives.lastIndexOf('`checkpointNow`')).toBeLessThan(directives.indexOf('`checkpoint`'));
  });

  it('list every time-out with what it comes to', () => {
    const rows = rowsOf(timeOutTable(turn));
    expect(rows).toHaveLength(turn.transitions.filter(({ trigger }) => trigger.kind === 'after').length);
    expect(rows).toContainEqual(['`hardTimeout`', '9 min, attended: off', '`forceStop`', '`hardOn`', '`recovering`']);
  });

  it('list the phases with what bounds them', () => {
    const rows = rowsOf(phaseTable(turn, childrenOf(turn, 'running')));
    const approval = rows.find(([phase]) => phase === '`awaitingApproval`');
    expect(approval?.slice(1, 4)).toEqual(['', 'approvalDeadline off, attended: 5 min', '`runCalls`, `askPerson`']);
  });
});
