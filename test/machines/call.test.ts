// The life of one tool call, as a table of every step that is legal and every step that is not (DESIGN section 7).

import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import { type CallEvent, callMachine, type Effect } from '../../machines/index.js';
import { statesOf } from './chart.js';

const EFFECTS: readonly Effect[] = ['none', 'idempotent', 'external'];

/** From each state, what an outcome or a dispatch leads to. What is not here is not legal. */
const LEGAL: Readonly<Record<string, Partial<Record<CallEvent['type'], string>>>> = {
  prepared: { 'call.dispatched': 'dispatched', 'call.failed': 'failed' },
  dispatched: { 'call.succeeded': 'succeeded', 'call.failed': 'failed', 'call.lost': 'inDoubt' },
  inDoubt: {
    'call.succeeded': 'succeeded',
    'call.failed': 'failed',
    'call.notStarted': 'notStarted',
    // Same key, next dispatch number; for `external` the only way back to the tool is notStarted (I5).
    'call.dispatched': 'dispatched',
  },
  notStarted: { 'call.dispatched': 'dispatched', 'call.failed': 'failed' },
  succeeded: {},
  failed: {},
};

const EVENTS: readonly CallEvent['type'][] = [
  'call.dispatched',
  'call.succeeded',
  'call.failed',
  'call.lost',
  'call.notStarted',
];

const inState = (value: string, effect: Effect) =>
  callMachine.resolveState({ value: value as never, context: { effect } });

/** Where the step leads, null where it is not legal. */
function stepFrom(value: string, type: CallEvent['type'], effect: Effect): string | null {
  const before = inState(value, effect);
  const [after] = transition(callMachine, before, { type });
  return after === before ? null : String(after.value);
}

const steps = Object.keys(LEGAL).flatMap((from) =>
  EFFECTS.flatMap((effect) => EVENTS.map((type) => [from, type, effect] as const)),
);

describe('a tool call', () => {
  it('has the states of the design and no others', () => {
    const states = statesOf(callMachine).filter(({ type }) => type === 'atomic' || type === 'final');
    expect(states.map(({ id }) => id)).toEqual(Object.keys(LEGAL));
  });

  it('begins as prepared, and as external where nobody said what it does', () => {
    const [snapshot] = initialTransition(callMachine);
    expect([snapshot.value, snapshot.context.effect]).toEqual(['prepared', 'external']);
  });

  it.each(steps)('that is %s takes %s as the table says, with effect %s', (from, type, effect) => {
    const barred = from === 'inDoubt' && type === 'call.dispatched' && effect === 'external';
    expect(stepFrom(from, type, effect)).toBe(barred ? null : (LEGAL[from]?.[type] ?? null));
  });

  it('in doubt with effect external comes back to the tool only when somebody says it was not started (I5)', () => {
    expect(stepFrom('inDoubt', 'call.dispatched', 'external')).toBe(null);
    expect(stepFrom('inDoubt', 'call.notStarted', 'external')).toBe('notStarted');
    expect(stepFrom('notStarted', 'call.dispatched', 'external')).toBe('dispatched');
  });

  it.each(['none', 'idempotent'] as const)('in doubt with effect %s may run again: it does no harm', (effect) => {
    expect(stepFrom('inDoubt', 'call.dispatched', effect)).toBe('dispatched');
  });

  it('that is dispatched is never prepared again, and one in doubt never doubted twice', () => {
    for (const effect of EFFECTS) {
      const reached = steps.map(([from, type]) => stepFrom(from, type, effect));
      expect(reached).not.toContain('prepared');
      expect(stepFrom('inDoubt', 'call.lost', effect)).toBe(null);
    }
  });

  it('that is settled stays as it is: a late result of an older dispatch changes nothing', () => {
    for (const from of ['succeeded', 'failed']) {
      for (const type of EVENTS) expect(stepFrom(from, type, 'idempotent')).toBe(null);
    }
  });
});
