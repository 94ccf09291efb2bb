/**
 * Owns the events a reader can send, with payloads for every guard, short keys for the address and words for buttons.
 * Must not know what an event does: the charts do.
 */
import type { CallEvent, RecoveryEvent, TurnEvent } from '../../machines/index.js';
import { UNATTENDED_LIMITS } from '../../machines/index.js';

export interface Offer<E> {
  /** Stands in addresses that people share, so it never changes its meaning. */
  readonly key: string;
  readonly label: string;
  /** What tells two offers of one event apart. */
  readonly detail: string;
  readonly event: (now: number) => E;
}

const answer = { type: 'model.answered', calls: [], fault: null, goesOn: false } as const;
const failure = { type: 'model.failed', reason: 'simulated', retryAfterMs: null } as const;
const batch = { type: 'calls.settled', stop: null, nudge: false, compact: false } as const;

const offer = <E extends { type: string }>(key: string, detail: string, event: E | ((now: number) => E)): Offer<E> => {
  const make = typeof event === 'function' ? event : () => event;
  return { key, detail, label: make(0).type, event: make };
};

export const TURN_OFFERS: readonly Offer<TurnEvent>[] = [
  offer('loaded', '', { type: 'session.loaded' }),
  offer('nosession', '', { type: 'session.failed', reason: 'simulated' }),
  offer('done', 'the last word', answer),
  offer('send', 'a call with an effect', { ...answer, calls: [{ effect: 'external', needsDecision: false }] }),
  offer('read', 'a call without effects', { ...answer, calls: [{ effect: 'none', needsDecision: false }] }),
  offer('ask', 'a call a person has to allow', { ...answer, calls: [{ effect: 'external', needsDecision: true }] }),
  offer('more', 'goes on', { ...answer, goesOn: true }),
  offer('empty', 'nothing in it', { ...answer, fault: 'empty' }),
  offer('filtered', 'filtered', { ...answer, fault: 'filtered' }),
  offer('progress', '', { type: 'model.progressed' }),
  offer('overloaded', 'overloaded', (at) => ({ ...failure, kind: 'overloaded', at })),
  offer('limited', 'rate limited, in 20 s', (at) => ({ ...failure, kind: 'rateLimited', retryAfterMs: 20_000, at })),
  offer('toolong', 'context too long', (at) => ({ ...failure, kind: 'contextLength', at })),
  offer('rejected', 'rejected', (at) => ({ ...failure, kind: 'rejected', at })),
  offer('settled', '', batch),
  offer('nudged', 'the loop detector nudges', { ...batch, nudge: true }),
  offer('looped', 'the loop detector stops', { ...batch, stop: 'loop' }),
  offer('full', 'compaction is due', { ...batch, compact: true }),
  offer('needed', '', { type: 'approvals.needed' }),
  offer('decided', '', { type: 'approvals.decided' }),
  offer('doubt', '', { type: 'calls.inDoubt' }),
  offer('reviewed', '', { type: 'calls.reviewed' }),
  offer('shorter', '', { type: 'compaction.applied' }),
  offer('notshorter', '', { type: 'compaction.refused', reason: 'simulated' }),
  offer('input', '', { type: 'input.arrived', waiting: 1 }),
  offer('stop', '', { type: 'stop.requested', reason: 'simulated' }),
  offer('cancel', '', { type: 'turn.cancelled' }),
  offer('handover', '', { type: 'turn.handedOver' }),
  offer('fault', '', { type: 'turn.faulted', reason: 'simulated' }),
  offer('resumed', '', { type: 'turn.resumed', limits: UNATTENDED_LIMITS }),
];

export const RECOVERY_OFFERS: readonly Offer<RecoveryEvent>[] = [
  offer('counted', '', { type: 'attempt.committed' }),
  offer('decoded', '', { type: 'checkpoint.decoded' }),
  offer('unreadable', '', { type: 'checkpoint.unreadable', reason: 'simulated' }),
  offer('nodoubts', 'none without reconcile', { type: 'doubts.found', unreconcilable: 0 }),
  offer('doubts', 'one without reconcile', { type: 'doubts.found', unreconcilable: 1 }),
];

export const CALL_OFFERS: readonly Offer<CallEvent>[] = [
  offer('dispatch', '', { type: 'call.dispatched' }),
  offer('succeed', '', { type: 'call.succeeded' }),
  offer('fail', '', { type: 'call.failed' }),
  offer('lose', '', { type: 'call.lost' }),
  offer('notstarted', '', { type: 'call.notStarted' }),
];
