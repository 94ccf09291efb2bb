/**
 * Owns what a crash leaves of the simulated turn: the part of the head that gates read, the journal, the checkpoint.
 * Must not know the store. It is the model the design describes, small enough to read beside the picture.
 */
import type { Effect } from '../../machines/index.js';
import { encodeCheckpoint } from '../../src/core/checkpoint.js';
import type { Checkpoint } from '../../src/core/records.js';
import type { TurnSnapshot } from '../../src/core/step.js';
import { turn } from './guards.js';

export interface Timer {
  readonly id: string;
  readonly dueAt: number;
}

export interface Call {
  readonly name: string;
  readonly effect: Effect;
  readonly state: 'prepared' | 'dispatched' | 'settled';
}

export interface Disk {
  readonly revision: number;
  readonly phase: string;
  readonly inProgress: boolean;
  readonly outcomeDue: boolean;
  readonly handedOver: boolean;
  readonly waiting: { readonly until: number | null } | null;
  readonly lastProgressAt: number;
  readonly attempts: number;
  readonly recoveries: number;
  readonly ended: string | null;
  readonly calls: readonly Call[];
  readonly checkpoint: Checkpoint;
}

/** What is in memory at the moment of a commit. */
export interface Live {
  readonly now: number;
  readonly snapshot: TurnSnapshot;
  readonly phase: string;
  readonly final: boolean;
  readonly timers: readonly Timer[];
  readonly calls: readonly Call[];
  readonly handedOver: boolean;
  /** A new message or the outcome of a call: recovery's own commits are no progress. */
  readonly progress: boolean;
}

const dueAt = (timers: readonly Timer[], part: string): number | null =>
  timers.find(({ id }) => id.includes(part))?.dueAt ?? null;

/** Parked once nothing but a person's word is open. */
export function waitingFor({ phase, calls, timers }: Pick<Live, 'phase' | 'calls' | 'timers'>): Disk['waiting'] {
  if (phase === 'awaitingReview') return { until: null };
  if (phase !== 'awaitingApproval' || calls.some(({ state }) => state === 'dispatched')) return null;
  return { until: dueAt(timers, 'approvalDeadline') };
}

export function commit(before: Disk | null, live: Live): Disk {
  const revision = (before?.revision ?? 0) + 1;
  const deadlines = Object.fromEntries(live.timers.map(({ id, dueAt: at }) => [id, at]));
  const progress = before === null || live.progress;
  return {
    revision,
    phase: live.phase,
    inProgress: !live.final,
    // The application takes the outcome at once here; a crash in between would leave it due.
    outcomeDue: false,
    handedOver: live.handedOver,
    waiting: waitingFor(live),
    lastProgressAt: progress ? live.now : before.lastProgressAt,
    attempts: progress ? 0 : before.attempts,
    recoveries: before?.recoveries ?? 0,
    ended: live.final ? live.phase : null,
    calls: live.calls,
    checkpoint: encodeCheckpoint(turn, live.snapshot, { turnId: 'turn', revision, savedAt: live.now, deadlines }),
  };
}

/** A call that is on disk has come further since. */
export const storedChanged = (disk: Disk | null, calls: readonly Call[]): boolean =>
  (disk?.calls ?? []).some((stored, k) => stored.state !== calls[k]?.state);
