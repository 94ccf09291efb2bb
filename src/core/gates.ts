/**
 * Owns the walk of one interrupted turn through the gates of recovery.machine.ts.
 * Must not know how facts are found or verdicts carried out.
 */
import type { SnapshotFrom } from 'xstate';
import { type RecoveryEvent, type RecoveryFacts, recoveryMachine } from '../../machines/index.js';
import { firstMove, move } from './moves.js';

export type Verdict =
  | 'leftAlone'
  | 'superseded'
  | 'deliverOutcome'
  | 'parked'
  | 'held'
  | 'abandoned'
  | 'reviewRequired'
  | 'resumed';

/** Where the walk is: at a gate that needs something done, or at its end. */
export type GateStep =
  | { readonly kind: 'do'; readonly effect: 'countAttempt' | 'decodeCheckpoint' | 'findDoubts'; readonly gates: Gates }
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly gate: string; readonly reason: string };

/** An opaque position in the walk. */
export type Gates = SnapshotFrom<typeof recoveryMachine>;

const DAY_MS = 86_400_000;

/** What each final state of the chart means: the verdict, the gate that gave it, and the reason for a person. */
const ENDS: Readonly<Record<string, { verdict: Verdict; gate: string; reason: (gates: Gates) => string }>> = {
  leftAlone: { verdict: 'leftAlone', gate: 'owner', reason: () => 'its owner is alive' },
  supersededTurn: { verdict: 'superseded', gate: 'identity', reason: () => 'another turn took its place' },
  deliverOutcome: { verdict: 'deliverOutcome', gate: 'outcome', reason: () => 'it ended and its outcome is due' },
  parked: { verdict: 'parked', gate: 'person', reason: () => 'it waits for a person' },
  held: { verdict: 'held', gate: 'switch', reason: () => 'recovery is switched off' },
  abandonedStale: { verdict: 'abandoned', gate: 'staleness', reason: staleness },
  abandonedAttempts: { verdict: 'abandoned', gate: 'attempts', reason: attempts },
  abandonedUnreadable: { verdict: 'abandoned', gate: 'checkpoint', reason: (gates) => gates.context.reason },
  reviewRequired: {
    verdict: 'reviewRequired',
    gate: 'doubts',
    reason: () => 'a call in doubt that only a person can settle',
  },
  resumed: { verdict: 'resumed', gate: 'resumed', reason: () => 'every gate let it pass' },
};

function staleness({ context: c }: Gates): string {
  // A wait that only its deadline ended comes here: that deadline counts as its last progress.
  const at = c.waiting === null ? c.lastProgressAt : c.waiting.until;
  if (at === null) return 'the time of its last progress is unknown';
  if (at > c.now) return 'its last progress lies far in the future, so nobody knows how old it is';
  const hours = (ms: number): string =>
    ms > 2 * DAY_MS ? `${Math.round(ms / DAY_MS)} days` : `${(ms / 3_600_000).toFixed(2)} hours`;
  return `its last progress is ${hours(c.now - at)} old, the staleness window ${hours(c.policy.stalenessMs)}`;
}

function attempts({ context: c }: Gates): string {
  return c.attempts >= c.policy.attemptsWithoutProgress
    ? `${c.attempts} attempts without progress`
    : `${c.recoveries} recoveries of one turn`;
}

export function firstGate(facts: RecoveryFacts): GateStep {
  const [gates] = firstMove(recoveryMachine, facts);
  return stepOf(gates);
}

export function nextGate(gates: Gates, event: RecoveryEvent): GateStep {
  const [next] = move(recoveryMachine, gates, event);
  return stepOf(next);
}

const EFFECTS: Readonly<Record<string, 'countAttempt' | 'decodeCheckpoint' | 'findDoubts'>> = {
  attempt: 'countAttempt',
  checkpoint: 'decodeCheckpoint',
  doubts: 'findDoubts',
};

function stepOf(gates: Gates): GateStep {
  const state = gates.value as string;
  const effect = EFFECTS[state];
  if (effect !== undefined) return { kind: 'do', effect, gates };
  const end = ENDS[state];
  if (end === undefined) throw new Error(`the gates stand still in "${state}"`);
  return { kind: 'verdict', verdict: end.verdict, gate: end.gate, reason: end.reason(gates) };
}
