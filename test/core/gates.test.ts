// Why: a verdict decides whether an interrupted turn lives, and a person reads its reason. Both come from the chart of
// the gates, asked in one order; here every way through is written down with what is said about it (C12, C17, C18, C27).
import { describe, expect, it } from 'vitest';
import { DEFAULT_RECOVERY_POLICY, type RecoveryFacts, recoveryMachine, STALENESS_MS } from '../../machines/index.js';
import { firstGate, type GateStep, nextGate } from '../../src/core/gates.js';
import { DECIDING, facts, NOW } from '../machines/recovery-facts.js';

const HOUR_MS = 3_600_000;

/** What is done at a gate, or `verdict (gate): reason`. */
const told = (step: GateStep): string =>
  step.kind === 'do' ? step.effect : `${step.verdict} (${step.gate}): ${step.reason}`;
const first = (changed: Partial<RecoveryFacts> = {}): string => told(firstGate(facts(changed)));

function gatesOf(step: GateStep) {
  if (step.kind === 'verdict') throw new Error(`the walk is over: ${told(step)}`);
  return step.gates;
}
/** The walk behind gate 8. */
const attempted = (changed: Partial<RecoveryFacts> = {}) =>
  nextGate(gatesOf(firstGate(facts(changed))), { type: 'attempt.committed' });
const decoded = () => nextGate(gatesOf(attempted()), { type: 'checkpoint.decoded' });

const off = { policy: { ...DEFAULT_RECOVERY_POLICY, enabled: false } };
const stale = { lastProgressAt: NOW - STALENESS_MS - 1 };
const usedUp = { attempts: 3 };

describe('the verdict of a gate', () => {
  const TABLE: readonly [gate: number, facts: Partial<RecoveryFacts>, said: string][] = [
    [1, { owned: true }, 'leftAlone (owner): its owner is alive'],
    [2, { current: false }, 'superseded (identity): another turn took its place'],
    [3, { current: false, outcomeDue: true }, 'deliverOutcome (outcome): it ended and its outcome is due'],
    [4, { waiting: { until: NOW + 1 } }, 'parked (person): it waits for a person'],
    [4, { waiting: { until: null } }, 'parked (person): it waits for a person'],
    [5, off, 'held (switch): recovery is switched off'],
    [6, stale, 'abandoned (staleness): its last progress is 4.00 hours old, the staleness window 4.00 hours'],
    [
      6,
      { lastProgressAt: NOW - 72 * HOUR_MS },
      'abandoned (staleness): its last progress is 3 days old, the staleness window 4.00 hours',
    ],
    [6, { lastProgressAt: null }, 'abandoned (staleness): the time of its last progress is unknown'],
    [7, usedUp, 'abandoned (attempts): 3 attempts without progress'],
    [7, { recoveries: 20 }, 'abandoned (attempts): 20 recoveries of one turn'],
  ];
  it.each(TABLE)('of gate %i, for %j: %s', (_, changed, said) => {
    expect(first(changed)).toBe(said);
  });

  it('comes from the first gate that decides, whatever the later ones would say', () => {
    for (const [index, [, , changed]] of DECIDING.entries()) {
      const later = DECIDING.slice(index + 1).map(([, , more]) => more);
      expect(first(Object.assign({}, ...later, changed))).toBe(first(changed));
    }
  });
});

describe('behind the gates that need the head only', () => {
  it('the attempt is counted before anything is decoded, and that before doubts are looked for (I4)', () => {
    expect(first()).toBe('countAttempt');
    expect(told(attempted())).toBe('decodeCheckpoint');
    expect(told(decoded())).toBe('findDoubts');
  });

  it('a checkpoint that cannot be read is abandoned with its reason (case C8)', () => {
    const step = nextGate(gatesOf(attempted()), { type: 'checkpoint.unreadable', reason: 'format 9 is unknown' });
    expect(told(step)).toBe('abandoned (checkpoint): format 9 is unknown');
  });

  it('a call in doubt that nobody can be asked about needs a review, and otherwise the turn goes on', () => {
    const found = (unreconcilable: number) =>
      told(nextGate(gatesOf(decoded()), { type: 'doubts.found', unreconcilable }));
    expect(found(1)).toBe('reviewRequired (doubts): a call in doubt that only a person can settle');
    expect(found(0)).toBe('resumed (resumed): every gate let it pass');
  });

  it('an event of another gate moves nothing', () => {
    expect(told(nextGate(gatesOf(firstGate(facts())), { type: 'checkpoint.decoded' }))).toBe('countAttempt');
    expect(told(nextGate(gatesOf(attempted()), { type: 'doubts.found', unreconcilable: 0 }))).toBe('decodeCheckpoint');
  });
});

describe('what changes the gates', () => {
  it('a hand-over is no attempt and cannot use them up', () => {
    expect(first({ handedOver: true, ...usedUp, recoveries: 99 })).toBe('countAttempt');
    expect(first({ handedOver: true, ...stale })).toMatch(/^abandoned \(staleness\)/);
  });

  it('a person skips gates 4 to 7, and only those', () => {
    for (const changed of [{ waiting: { until: null } }, off, stale, { lastProgressAt: null }, usedUp]) {
      expect(first({ byPerson: true, ...changed })).toBe('countAttempt');
    }
    expect(first({ byPerson: true, owned: true })).toMatch(/^leftAlone/);
    expect(first({ byPerson: true, current: false })).toMatch(/^superseded/);
    expect(first({ byPerson: true, current: false, outcomeDue: true })).toMatch(/^deliverOutcome/);
  });

  it('a wait that its deadline ended goes on, switched off or not, the deadline counting as progress (case C27)', () => {
    const old = { lastProgressAt: NOW - 100 * HOUR_MS };
    expect(first({ ...old, ...off, waiting: { until: NOW } })).toBe('countAttempt');
    expect(first({ ...old, waiting: { until: NOW - STALENESS_MS } })).toBe('countAttempt');
    expect(first({ ...old, waiting: { until: NOW - STALENESS_MS - 1 } })).toMatch(/^abandoned \(staleness\)/);
  });

  it('tells how old the progress is that counted: the deadline of the wait, not what was before it', () => {
    const changed = { lastProgressAt: NOW - 100 * HOUR_MS, waiting: { until: NOW - 5 * HOUR_MS } };
    expect(first(changed)).toBe(
      'abandoned (staleness): its last progress is 5.00 hours old, the staleness window 4.00 hours',
    );
  });

  it('a clock that was set back a little is no reason to give up, and a moment far ahead says nothing', () => {
    expect(first({ lastProgressAt: NOW + STALENESS_MS })).toBe('countAttempt');
    expect(first({ lastProgressAt: NOW + STALENESS_MS + 1 })).toBe(
      'abandoned (staleness): its last progress lies far in the future, so nobody knows how old it is',
    );
  });
});

it('every final state of the chart has its verdict, gate and reason', () => {
  const finals = Object.entries(recoveryMachine.states).filter(([, state]) => state.type === 'final');
  for (const [value] of finals) {
    const gates = recoveryMachine.resolveState({ value, context: { ...facts(), reason: 'why' } });
    const step = nextGate(gates, { type: 'attempt.committed' });
    expect(step).toMatchObject({
      kind: 'verdict',
      gate: expect.stringMatching(/./),
      reason: expect.stringMatching(/./),
    });
  }
  expect(finals).toHaveLength(10);
});
