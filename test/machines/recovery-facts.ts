// Facts for the gates of recovery: a turn that goes on without trouble, and what is different about the others.
import { DEFAULT_RECOVERY_POLICY, type RecoveryFacts, STALENESS_MS } from '../../machines/index.js';

/** Some moment; far from zero, so that a mistaken zero is noticed. */
export const NOW = 1_800_000_000_000;

/** An interrupted turn that every gate lets pass. */
export const INTERRUPTED: RecoveryFacts = {
  policy: DEFAULT_RECOVERY_POLICY,
  byPerson: false,
  owned: false,
  current: true,
  outcomeDue: false,
  waiting: null,
  handedOver: false,
  lastProgressAt: NOW - 60_000,
  now: NOW,
  attempts: 0,
  recoveries: 0,
};

export const facts = (changed: Partial<RecoveryFacts> = {}): RecoveryFacts => ({ ...INTERRUPTED, ...changed });

/** What makes each gate decide, in the order in which they are asked; the verdict is the name of the final state. */
export const DECIDING: readonly (readonly [gate: number, verdict: string, Partial<RecoveryFacts>])[] = [
  [1, 'leftAlone', { owned: true }],
  [2, 'supersededTurn', { current: false, outcomeDue: false }],
  [3, 'deliverOutcome', { current: false, outcomeDue: true }],
  [4, 'parked', { waiting: { until: NOW + 1 } }],
  [5, 'held', { policy: { ...DEFAULT_RECOVERY_POLICY, enabled: false } }],
  [6, 'abandonedStale', { lastProgressAt: NOW - STALENESS_MS - 1 }],
  [7, 'abandonedAttempts', { attempts: 3 }],
];

/** Facts that lead to every verdict, for whoever walks the whole chart. */
export const FACT_SETS: readonly RecoveryFacts[] = [
  INTERRUPTED,
  facts({ byPerson: true }),
  facts({ waiting: { until: NOW } }),
  ...DECIDING.map(([, , changed]) => facts(changed)),
];
