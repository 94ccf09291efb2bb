// Why: here it is decided which call may touch the world next. One call too many is a second mail; one that waits for
// nobody is a turn that never ends (I5, cases C2, C4, C15).
import { describe, expect, it, vi } from 'vitest';
import {
  type Admission,
  admitCalls,
  type BatchFacts,
  type BatchState,
  batchState,
  decidable,
  decide,
  expireApprovals,
  openDecisions,
  openDoubts,
  refuse,
} from '../../src/core/batch.js';
import { identityOf, Journal } from '../../src/core/journal.js';
import type { ApprovalRecord, CallRecord, CallState } from '../../src/core/records.js';
import { callOf } from './arbitraries.js';

const FREE: Admission = { kind: 'free' };
const ASK: Admission = { kind: 'ask' };
const REFUSE: Admission = { kind: 'refuse', reason: 'nobody is there' };
const NOW = 1000;

const facts = (changes: Partial<BatchFacts> = {}): BatchFacts => ({
  admission: () => FREE,
  isBeingReconciled: () => false,
  parallelCalls: 8,
  approvalMs: 50,
  now: NOW,
  ...changes,
});

const approval = (state: ApprovalRecord['state'], expiresAt: number | null = NOW + 50): ApprovalRecord => ({
  state,
  requestedAt: NOW,
  expiresAt,
});
const asked = approval('asked');
const allowed = approval('allowed');
const used = approval('used');

const call = (state: CallState, changes: Partial<CallRecord> = {}): CallRecord =>
  callOf('unnamed', { state, dispatch: ['prepared'].includes(state) ? 0 : 1, ...changes });

/** A journal with one batch; its calls are named a, b, c … in the model's order. */
function batchOf(...calls: CallRecord[]): Journal {
  return new Journal(calls.map((record, index) => ({ ...record, callId: 'abcdefgh'.charAt(index) })));
}
const statesOf = (journal: Journal): string =>
  journal
    .batch('m1')
    .map(({ state }) => state)
    .join(' ');
function admitted(journal: Journal, changes: Partial<BatchFacts> = {}): string {
  admitCalls(journal, 'm1', facts(changes));
  return statesOf(journal);
}

const doubt = call('inDoubt', { effect: 'external', doubt: 'crash' });
const readDoubt = call('inDoubt', { effect: 'none', doubt: 'crash' });
const done = call('succeeded');

describe('the state of a batch', () => {
  const RECONCILED = { isBeingReconciled: () => true };
  const TABLE: readonly [what: string, calls: CallRecord[], state: BatchState, changes?: Partial<BatchFacts>][] = [
    ['no call', [], 'settled'],
    ['every call over', [done, call('failed')], 'settled'],
    ['one runs', [done, call('dispatched')], 'open'],
    ['one may start', [done, call('prepared')], 'open'],
    ['one may start after all', [call('notStarted')], 'open'],
    ['a repeatable one in doubt', [readDoubt], 'open'],
    ['an external one in doubt', [done, doubt], 'needsReview'],
    ['an external one in doubt, while its tool is asked', [doubt], 'open', RECONCILED],
    ['an external one in doubt, while a sibling runs', [doubt, call('dispatched')], 'open'],
    ['an external one in doubt, and a sibling that may not start', [doubt, call('prepared')], 'needsReview'],
    ['an external one in doubt, and an open decision', [doubt, call('prepared', { approval: asked })], 'needsReview'],
    ['only decisions open', [done, call('prepared', { approval: asked })], 'needsDecision'],
    [
      'a decision open about one that was in doubt',
      [call('inDoubt', { effect: 'none', approval: asked })],
      'needsDecision',
    ],
    [
      'a decision open, and a sibling that may start',
      [call('prepared', { approval: asked }), call('prepared')],
      'open',
    ],
    ['a decision made', [call('prepared', { approval: allowed })], 'open'],
    ['a decision used up', [call('inDoubt', { effect: 'none', approval: used })], 'open'],
  ];
  it.each(TABLE)('%s', (_, calls, state, changes) => {
    expect(batchState(calls, facts(changes))).toBe(state);
  });

  it('lists what a person is waited for', () => {
    const open = call('prepared', { approval: asked });
    expect(openDecisions([done, open, call('failed', { approval: asked }), call('prepared')])).toEqual([open]);
    expect(openDoubts([done, doubt, readDoubt])).toEqual([doubt]);
  });
});

describe('admitCalls', () => {
  it('dispatches every call that may start, with the moment, and leaves the others alone', () => {
    const journal = batchOf(done, call('prepared'), call('notStarted'), call('failed'), readDoubt);
    expect(admitted(journal)).toBe('succeeded dispatched dispatched failed dispatched');
    expect(journal.get('b')).toMatchObject({ dispatch: 1, dispatchedAt: NOW, approval: null });
    expect(journal.get('e')).toMatchObject({ dispatch: 2, doubt: null });
  });

  it('keeps to the number of calls that run at the same time', () => {
    const journal = batchOf(call('dispatched'), call('prepared'), call('prepared'), call('prepared'));
    expect(admitted(journal, { parallelCalls: 3 })).toBe('dispatched dispatched dispatched prepared');
    expect(admitted(journal, { parallelCalls: 3 })).toBe('dispatched dispatched dispatched prepared');
    journal.advance('b', 'call.succeeded', {});
    expect(admitted(journal, { parallelCalls: 3 })).toBe('dispatched succeeded dispatched dispatched');
  });

  it('runs one after the other what excludes each other, and only that', () => {
    const journal = batchOf(
      call('prepared', { exclusive: 'git' }),
      call('prepared', { exclusive: 'git' }),
      call('prepared', { exclusive: 'db' }),
      call('prepared'),
    );
    expect(admitted(journal)).toBe('dispatched prepared dispatched dispatched');
    journal.advance('a', 'call.failed', {});
    expect(admitted(journal)).toBe('failed dispatched dispatched dispatched');
  });

  it('looks at a batch once, however many of its calls wait for one another', () => {
    for (const size of [2, 200]) {
      const waiting = Array.from({ length: size }, (_, index) =>
        callOf(`c${index}`, { state: 'prepared', dispatch: 0, exclusive: 'git' }),
      );
      const journal = new Journal(waiting);
      const looks = vi.spyOn(journal, 'batch');
      admitCalls(journal, 'm1', facts({ parallelCalls: size }));
      expect(looks).toHaveBeenCalledTimes(1);
      expect([...journal.all()].filter(({ state }) => state === 'dispatched')).toHaveLength(1);
    }
  });

  it('starts nothing beside a doubt, also where its tool is still asked', () => {
    for (const isBeingReconciled of [() => true, () => false]) {
      const journal = batchOf(doubt, call('prepared'), readDoubt);
      expect(admitted(journal, { isBeingReconciled })).toBe('inDoubt prepared inDoubt');
    }
  });

  it('never dispatches an external call in doubt, and does when it is known that nothing started (I5)', () => {
    const journal = batchOf(doubt);
    expect(admitted(journal)).toBe('inDoubt');
    journal.advance('a', 'call.notStarted', {});
    expect(admitted(journal)).toBe('dispatched');
    expect(journal.get('a')?.dispatch).toBe(2);
  });

  it('asks a person, once, and lets the siblings run meanwhile (case C4)', () => {
    const admission = ({ callId }: CallRecord) => (callId === 'a' ? ASK : FREE);
    const journal = batchOf(call('prepared'), call('prepared'));
    expect(admitted(journal, { admission })).toBe('prepared dispatched');
    expect(journal.get('a')?.approval).toEqual({ state: 'asked', requestedAt: NOW, expiresAt: NOW + 50 });
    admitted(journal, { admission, now: NOW + 10 });
    expect(journal.get('a')?.approval?.requestedAt).toBe(NOW);
  });

  it('asks without a deadline where that is off (case C9)', () => {
    const journal = batchOf(call('prepared'));
    admitted(journal, { admission: () => ASK, approvalMs: 0 });
    expect(journal.get('a')?.approval?.expiresAt).toBeNull();
  });

  it('leaves a call pending that was asked about, whatever would be said of it now', () => {
    for (const admission of [FREE, ASK, REFUSE]) {
      const journal = batchOf(call('prepared', { approval: asked }));
      expect(admitted(journal, { admission: () => admission })).toBe('prepared');
      expect(journal.get('a')?.approval).toBe(asked);
    }
  });

  it('refuses with a reason that the model reads (case C15)', () => {
    const journal = batchOf(call('prepared'), call('notStarted'));
    expect(admitted(journal, { admission: () => REFUSE })).toBe('failed failed');
    expect(journal.get('a')).toMatchObject({
      output: { type: 'execution-denied', reason: 'nobody is there' },
      settledAt: NOW,
      dispatch: 0,
    });
  });

  it('does not let the model believe that nothing happened, where a call in doubt is refused a second start', () => {
    const journal = batchOf(call('inDoubt', { effect: 'idempotent', doubt: 'crash', approval: used }));
    expect(admitted(journal, { admission: () => REFUSE })).toBe('failed');
    expect(journal.get('a')).toMatchObject({ definitive: false, doubt: null });
    expect(journal.get('a')?.output).toMatchObject({
      reason: expect.stringMatching(/^nobody is there An earlier start .* may have taken effect/),
    });
  });
});

describe('a decision', () => {
  const yes = { allow: true, by: 'ann' } as const;
  const admission = () => ASK;

  it('lets its call start once', () => {
    const journal = batchOf(call('prepared', { approval: asked, effect: 'idempotent' }));
    expect(decide(journal, 'a', yes, NOW)).toBe('applied');
    expect(journal.get('a')?.approval).toMatchObject({ state: 'allowed', by: 'ann' });
    expect(admitted(journal, { admission })).toBe('dispatched');
    expect(journal.get('a')?.approval?.state).toBe('used');
  });

  it('never covers a second dispatch: the person is asked again', () => {
    for (const lose of ['call.lost', 'call.notStarted'] as const) {
      const journal = batchOf(call('dispatched', { approval: used, effect: 'idempotent' }));
      journal.advance('a', 'call.lost', {});
      if (lose === 'call.notStarted') journal.advance('a', lose, {});
      admitted(journal, { admission, now: NOW + 7 });
      expect(journal.get('a')?.approval).toEqual({ state: 'asked', requestedAt: NOW + 7, expiresAt: NOW + 57 });
      expect(batchState(journal.batch('m1'), facts())).toBe('needsDecision');
    }
  });

  it('stays valid until its deadline while its call waits for a place, and not beyond it', () => {
    const waiting = () => batchOf(call('prepared', { approval: allowed }));
    expect(admitted(waiting(), { admission, parallelCalls: 0 })).toBe('prepared');
    expect(admitted(waiting(), { admission: () => REFUSE, now: NOW + 49 })).toBe('dispatched');
    const late = waiting();
    expect(admitted(late, { admission, now: NOW + 50 })).toBe('prepared');
    expect(late.get('a')?.approval?.state).toBe('asked');
    const endless = batchOf(call('prepared', { approval: approval('allowed', null) }));
    expect(admitted(endless, { admission: () => REFUSE, now: NOW + 1e12 })).toBe('dispatched');
  });

  it('against a call ends it, and the model reads why', () => {
    const journal = batchOf(call('prepared', { approval: asked }));
    expect(decide(journal, 'a', { allow: false, by: 'ann', reason: 'too dear' }, NOW)).toBe('applied');
    expect(journal.get('a')).toMatchObject({
      state: 'failed',
      approval: { state: 'refused', by: 'ann', reason: 'too dear' },
      output: { type: 'execution-denied', reason: 'too dear' },
    });
  });

  it('keeps the input of the model beside the one a person gave instead: the key is made of the first', () => {
    const journal = batchOf(call('prepared', { approval: asked, input: { to: 'all' } }));
    decide(journal, 'a', { ...yes, input: { to: 'ann' } }, NOW);
    expect(journal.get('a')).toMatchObject({ input: { to: 'all' }, editedInput: { to: 'ann' } });
    expect(journal.identicalTo(identityOf('send', { to: 'all' }))).toHaveLength(1);
  });

  it('is made once, in time, and only about what was asked', () => {
    const at = (record: CallRecord, now = NOW) => decidable(record, now);
    expect(at(call('prepared', { approval: asked }))).toBe('applied');
    expect(at(call('prepared', { approval: asked }), NOW + 49)).toBe('applied');
    expect(at(call('prepared', { approval: asked }), NOW + 50)).toBe('expired');
    expect(at(call('prepared', { approval: approval('asked', null) }), NOW + 1e12)).toBe('applied');
    expect(at(call('failed', { approval: approval('expired') }))).toBe('expired');
    for (const state of ['allowed', 'used', 'refused'] as const) {
      expect(at(call('prepared', { approval: approval(state) }))).toBe('alreadyDecided');
    }
    expect(at(call('failed', { approval: asked }))).toBe('alreadyDecided');
    expect(at(call('prepared'))).toBe('alreadyDecided');
    const journal = batchOf(call('prepared', { approval: asked }));
    expect(decide(journal, 'a', yes, NOW + 50)).toBe('expired');
    expect(journal.get('a')?.approval).toBe(asked);
  });

  it('that nobody makes in time ends its call, and no other', () => {
    const journal = batchOf(call('prepared', { approval: asked }), call('prepared', { approval: allowed }), done);
    expireApprovals(journal, 'm1', NOW + 50);
    expect(statesOf(journal)).toBe('failed prepared succeeded');
    expect(journal.get('a')).toMatchObject({ approval: { state: 'expired' }, output: { type: 'execution-denied' } });
  });
});

describe('refuse', () => {
  it('is a step of the chart: what runs or is over cannot be refused', () => {
    for (const state of ['succeeded', 'failed'] as const) {
      const journal = batchOf(call(state));
      expect(() => refuse(journal, journal.get('a') as CallRecord, 'no', NOW)).toThrow('is no step of its life');
    }
  });
});
