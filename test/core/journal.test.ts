// Why: the journal is the truth about calls. A step it allows beside the chart, or a count that is wrong by one, makes a
// healthy session look damaged after a crash, or hides that a call may have happened (I15).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transition } from 'xstate';
import { type CallEvent, callMachine, type Effect, LOOP_WINDOW } from '../../machines/index.js';
import { identityOf, isSettled, Journal, nextCallState } from '../../src/core/journal.js';
import type { CallRecord, CallState } from '../../src/core/records.js';
import { callOf } from './arbitraries.js';

const STATES = Object.keys(callMachine.states) as CallState[];
const EVENTS: readonly CallEvent['type'][] = [
  'call.dispatched',
  'call.succeeded',
  'call.failed',
  'call.lost',
  'call.notStarted',
];
const EFFECTS: readonly Effect[] = ['none', 'idempotent', 'external'];

function chartSays(state: CallState, event: CallEvent['type'], effect: Effect): CallState | undefined {
  const [next] = transition(callMachine, callMachine.resolveState({ value: state, context: { effect } }), {
    type: event,
  });
  return next.value === state ? undefined : (next.value as CallState);
}

describe('the steps of a call', () => {
  it('are those of the chart, every one of them and no other (I15)', () => {
    const rows = STATES.flatMap((state) =>
      EVENTS.flatMap((event) => EFFECTS.map((effect) => ({ state, event, effect }))),
    );
    const table = rows.map(({ state, event, effect }) => nextCallState(state, event, effect));
    expect(table).toEqual(rows.map(({ state, event, effect }) => chartSays(state, event, effect)));
    expect(table.filter((state) => state !== undefined)).toHaveLength(32);
  });

  it('know all events of the chart', () => {
    expect(new Set(callMachine.events)).toEqual(new Set(EVENTS));
  });

  it('never lead an external call in doubt straight back to its tool (I5)', () => {
    expect(nextCallState('inDoubt', 'call.dispatched', 'external')).toBeUndefined();
    expect(nextCallState('inDoubt', 'call.dispatched', 'idempotent')).toBe('dispatched');
    expect(nextCallState('inDoubt', 'call.notStarted', 'external')).toBe('notStarted');
  });

  it('end: a settled call has none', () => {
    for (const state of STATES.filter((name) => isSettled(callOf('c', { state: name })))) {
      for (const event of EVENTS) expect(nextCallState(state, event, 'none')).toBeUndefined();
    }
  });

  it('do not exist for names that only JavaScript knows', () => {
    expect(nextCallState('constructor' as CallState, 'call.lost', 'none')).toBeUndefined();
    expect(nextCallState('prepared', 'toString' as CallEvent['type'], 'none')).toBeUndefined();
  });
});

describe('the journal', () => {
  it('counts every dispatch, and no other step', () => {
    const journal = new Journal([callOf('c', { effect: 'idempotent' })]);
    const dispatchAfter = (event: CallEvent['type']) => journal.advance('c', event, {}).dispatch;
    expect([dispatchAfter('call.dispatched'), dispatchAfter('call.lost'), dispatchAfter('call.dispatched')]).toEqual([
      1, 1, 2,
    ]);
    expect([
      dispatchAfter('call.lost'),
      dispatchAfter('call.notStarted'),
      dispatchAfter('call.dispatched'),
      dispatchAfter('call.succeeded'),
    ]).toEqual([2, 2, 3, 3]);
  });

  it('refuses a step that the chart does not have, and leaves the record as it was', () => {
    const call = callOf('c');
    const journal = new Journal([call]);
    expect(() => journal.advance('c', 'call.succeeded', { settledAt: 1 })).toThrow(
      'c is prepared; call.succeeded is no step of its life',
    );
    expect(() => journal.advance('d', 'call.failed', {})).toThrow('no call d');
    expect(() => journal.amend('d', {})).toThrow('no call d');
    expect(journal.get('c')).toBe(call);
    expect(journal.changedAll()).toEqual([]);
  });

  it('keeps the calls of an answer in the order of the model, and those of other answers apart', () => {
    const journal = new Journal([callOf('b'), callOf('x', { messageId: 'm2' })]);
    journal.add(callOf('a'));
    journal.advance('b', 'call.failed', {});
    expect(journal.batch('m1').map(({ callId, state }) => [callId, state])).toEqual([
      ['b', 'failed'],
      ['a', 'prepared'],
    ]);
    expect(journal.batch('m3')).toEqual([]);
    expect([...journal.all()]).toHaveLength(3);
  });

  it('takes for identical what has the same tool and the same input, whatever the order of its keys', () => {
    const journal = new Journal([callOf('a', { input: { x: 1, y: [2] } })]);
    journal.add(callOf('b', { input: { y: [2], x: 1 } }));
    journal.add(callOf('c', { input: { x: 1, y: [2] }, toolName: 'other' }));
    journal.advance('b', 'call.failed', {});
    const found = journal.identicalTo(identityOf('send', { y: [2], x: 1 }));
    expect(found.map(({ callId, state }) => [callId, state])).toEqual([
      ['a', 'prepared'],
      ['b', 'failed'],
    ]);
    expect(journal.identicalTo(identityOf('send', { x: 1 }))).toEqual([]);
  });

  it('loses what was handed to tools when the process died: in doubt, with the cause, and nothing else (I5)', () => {
    const journal = new Journal(STATES.map((state) => callOf(state, { state })));
    journal.add(callOf('second', { state: 'dispatched', dispatch: 2, effect: 'none' }));
    const lost = journal.loseDispatched('crash');
    expect(lost.map(({ callId, state, doubt, dispatch }) => [callId, state, doubt, dispatch])).toEqual([
      ['dispatched', 'inDoubt', 'crash', 0],
      ['second', 'inDoubt', 'crash', 2],
    ]);
    for (const state of STATES.filter((name) => name !== 'dispatched')) expect(journal.get(state)?.state).toBe(state);
    expect(journal.loseDispatched('cancel')).toEqual([]);
  });
});

const dispatched = (calls: Iterable<CallRecord>) => [...calls].filter((call) => call.dispatch > 0).length;
const settled = (calls: Iterable<CallRecord>) => [...calls].filter(isSettled).length;

type Act = readonly [kind: 'add' | 'step' | 'note' | 'writeStored' | 'writeAll', a: number, b: number];
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.tuple(
    fc.constantFrom<Act[0]>('add', 'step', 'step', 'step', 'note', 'writeStored', 'writeAll'),
    fc.nat(50),
    fc.nat(EVENTS.length - 1),
  ),
  { maxLength: 60 },
);

/** Plays acts on a journal and the store it writes to; `check` looks at both after every act. */
function play(sequence: readonly Act[], check: (journal: Journal, disk: ReadonlyMap<string, CallRecord>) => void) {
  const disk = new Map<string, CallRecord>();
  let journal = new Journal([]);
  let ids: string[] = [];
  for (const [kind, a, b] of sequence) {
    const id = ids[a % Math.max(1, ids.length)];
    const call = id === undefined ? undefined : journal.get(id);
    if (kind === 'add') {
      const added = callOf(`c${ids.length}`, { effect: EFFECTS[a % 3] as Effect });
      ids.push(added.callId);
      journal.add(added);
    } else if (kind === 'step' && call !== undefined) {
      const { state, effect } = call;
      const legal = EVENTS.filter((event) => nextCallState(state, event, effect) !== undefined);
      const event = legal[b % Math.max(1, legal.length)];
      if (event !== undefined) journal.advance(call.callId, event, {});
    } else if (kind === 'note' && call !== undefined) {
      journal.amend(call.callId, { notes: [...call.notes, a] });
    } else if (kind === 'writeStored' || kind === 'writeAll') {
      const written = kind === 'writeAll' ? journal.changedAll() : journal.changedStored();
      const promised = journal.countsWith(written);
      for (const record of written) disk.set(record.callId, record);
      expect(promised).toEqual({ dispatched: dispatched(disk.values()), settled: settled(disk.values()) });
      journal.written(written);
      if (b === 0) {
        // Another process goes on with what is on disk.
        journal = new Journal([...disk.values()]);
        ids = [...disk.keys()];
      }
    }
    check(journal, disk);
  }
}

describe('what the journal writes', () => {
  it('is counted as a recount of the disk would count it, after any sequence of writes', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        play(sequence, (journal, disk) => {
          const nothing = journal.countsWith([]);
          expect(nothing).toEqual({ dispatched: dispatched(disk.values()), settled: settled(disk.values()) });
        });
      }),
      { numRuns: 100 },
    );
  });

  it('is everything that differs from the disk, and nothing else', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        play(sequence, (journal, disk) => {
          const different = [...journal.all()].filter((call) => disk.get(call.callId) !== call);
          expect(new Set(journal.changedAll())).toEqual(new Set(different));
          const known = different.filter((call) => disk.has(call.callId));
          expect(new Set(journal.changedStored())).toEqual(new Set(known));
          for (const { callId } of journal.all()) expect(journal.isStored(callId)).toBe(disk.has(callId));
        });
      }),
      { numRuns: 100 },
    );
  });

  it('is counted once, however often a record is written', () => {
    const journal = new Journal([callOf('c', { state: 'succeeded', dispatch: 1 })]);
    journal.amend('c', { notes: [1] });
    expect(journal.countsWith(journal.changedStored())).toEqual({ dispatched: 1, settled: 1 });
    journal.written(journal.changedStored());
    expect(journal.countsWith([])).toEqual({ dispatched: 1, settled: 1 });
  });

  it('stays to be written where it changed while its commit was under way', () => {
    const journal = new Journal([]);
    journal.add(callOf('c'));
    const written = journal.changedAll();
    journal.amend('c', { notes: [1] });
    journal.written(written);
    expect(journal.changedStored().map(({ notes }) => notes)).toEqual([[1]]);
  });

  const settledCall = (n: number, messageId = `m${n}`): CallRecord =>
    callOf(`c${n}`, { state: 'succeeded', dispatch: 1, messageId, output: { type: 'text', value: `${n}` } });
  const outputsOf = (journal: Journal): boolean[] => [...journal.all()].map(({ output }) => output !== null);

  it('keeps the outputs of the last calls and of the newest answer, and lets go of the others once they are on disk', () => {
    const journal = new Journal([]);
    const calls = Array.from({ length: LOOP_WINDOW + 3 }, (_, n) => settledCall(n));
    for (const call of calls) journal.add(call);
    expect(outputsOf(journal)).not.toContain(false);
    journal.written(journal.changedAll());
    expect(outputsOf(journal)).toEqual(calls.map((_, n) => n >= 3));
    expect(journal.storedAs('c0')?.output).toBeNull();
    expect(journal.changedAll()).toEqual([]);
    const wide = new Journal(calls.map((_, n) => settledCall(n, 'one answer')));
    expect(outputsOf(wide)).not.toContain(false);
  });

  it('lets go of nothing behind a call that is still open', () => {
    const open = { ...settledCall(0), state: 'inDoubt', output: null } as const;
    const journal = new Journal([open, ...Array.from({ length: LOOP_WINDOW + 3 }, (_, n) => settledCall(n + 1))]);
    expect(outputsOf(journal).slice(1)).not.toContain(false);
  });

  it('takes no note for a call whose output is on disk only: it would be overwritten by nothing', () => {
    const journal = new Journal(Array.from({ length: LOOP_WINDOW + 1 }, (_, n) => settledCall(n)));
    journal.amend('c0', { notes: ['late'] });
    expect(journal.changedAll()).toEqual([]);
    journal.amend('c1', { notes: ['late'] });
    expect(journal.changedAll().map(({ callId, output }) => [callId, output !== null])).toEqual([['c1', true]]);
  });
});
