/**
 * Owns which events a step of the chart is worth. Must not know who listens or when they are told.
 */
import type { Approval, EventBody, Review } from '../core/events.js';
import { inputOf } from '../core/journal.js';
import type { CallRecord, ReviewRecord } from '../core/records.js';
import { type Plan, phaseOf, type TurnSnapshot } from '../core/step.js';
import type { Durable } from './written.js';

/** What happened in a step, for people: told after its commit. */
export function announcementsOf(before: TurnSnapshot | null, plan: Plan): readonly EventBody[] {
  const { cause, limits, stopping } = plan.next.context;
  const events: EventBody[] = [];
  const moved = before === null || phaseOf(before) !== plan.phase;
  if (plan.softIdle && before !== null) {
    events.push({ type: 'softIdle', phase: phaseOf(before), idleMs: limits.idleSoftMs });
  }
  if (moved && cause?.kind === 'hardIdle') events.push({ type: 'hardIdle', idleMs: limits.idleHardMs });
  if (plan.edits.includes('nudge') && cause?.kind === 'modelFault') events.push({ type: 'nudge', fault: cause.fault });
  if (moved && plan.phase === 'retryingLLM' && cause?.kind === 'modelError') {
    const delayMs = plan.timers.find((timer) => timer.kind === 'arm')?.delayMs ?? 0;
    events.push({ type: 'retry', kind: cause.error, reason: cause.reason, delayMs });
  }
  if (moved && plan.phase === 'forceStop') events.push({ type: 'stopping', reason: stopping ?? '' });
  if (plan.entered) events.push({ type: 'phase', phase: plan.phase });
  return events;
}

/** What a commit made durable. */
export function writtenEvents(sessionId: string, { messages, calls, reviews }: Durable): readonly EventBody[] {
  return [
    ...messages.map(({ message, meta }): EventBody => ({ type: 'message', message, meta })),
    ...calls.map(callEvent),
    ...reviews.map((review): EventBody => ({ type: 'reviewRequested', review: reviewOf(sessionId, review) })),
  ];
}

export const callEvent = (call: CallRecord): EventBody => ({
  type: 'call',
  callId: call.callId,
  toolName: call.toolName,
  effect: call.effect,
  state: call.state,
});

export const approvalOf = (sessionId: string, call: CallRecord): Approval => ({
  id: call.callId,
  sessionId,
  turnId: call.turnId,
  callId: call.callId,
  toolName: call.toolName,
  input: inputOf(call),
  effect: call.effect,
  requestedAt: call.approval?.requestedAt ?? call.preparedAt,
  expiresAt: call.approval?.expiresAt ?? null,
});

/** What a person is asked to settle, as it is stored. */
export const reviewRecord = (call: CallRecord): ReviewRecord => ({
  callId: call.callId,
  turnId: call.turnId,
  toolName: call.toolName,
  input: call.input,
  ...(call.editedInput === undefined ? {} : { editedInput: call.editedInput }),
  idempotencyKey: call.idempotencyKey,
  dispatch: call.dispatch,
  dispatchedAt: call.dispatchedAt ?? call.preparedAt,
  doubt: call.doubt ?? 'crash',
  notes: call.notes,
});

export const reviewOf = (
  sessionId: string,
  call: Pick<CallRecord, 'turnId' | 'callId' | 'toolName' | 'input' | 'editedInput' | 'idempotencyKey' | 'notes'> & {
    readonly dispatchedAt: number | null;
  },
): Review => ({
  sessionId,
  turnId: call.turnId,
  callId: call.callId,
  toolName: call.toolName,
  input: inputOf(call),
  idempotencyKey: call.idempotencyKey,
  dispatchedAt: call.dispatchedAt ?? 0,
  notes: call.notes,
});
