/**
 * Owns what a batch of calls needs next: which calls may start, which wait for whom, and when it is settled.
 * Must not know tools or time-outs: what the tools say about a call comes in as facts.
 */
import { DISPATCHES } from '../../machines/index.js';
import type { Journal } from './journal.js';
import { isSettled } from './journal.js';
import type { Json } from './json.js';
import type { ToolOutput } from './messages.js';
import type { ApprovalRecord, CallRecord } from './records.js';

/** What applies to a call at the moment it could start, by presence and the tool's own word. */
export type Admission =
  | { readonly kind: 'free' }
  | { readonly kind: 'ask' }
  /** Presence has changed since it was decided: it is being decided anew. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'refuse'; readonly reason: string };

/** What the driver knows about the calls of a batch beside their records. */
export interface BatchFacts {
  admission(call: CallRecord): Admission;
  /** The call is in doubt and somebody other than a person can still say what became of it. */
  isBeingReconciled(call: CallRecord): boolean;
  readonly parallelCalls: number;
  readonly approvalMs: number;
  readonly now: number;
}

export type BatchState =
  /** Something runs, is being asked, or may start. */
  | 'open'
  /** Only a person can say what became of a call. */
  | 'needsReview'
  /** Only decisions are open. */
  | 'needsDecision'
  | 'settled';

/** In doubt, and running it again on its own is forbidden (I5). */
const isDoubt = (call: CallRecord): boolean => call.state === 'inDoubt' && call.effect === 'external';

/** Not running, not settled, and harmless to (re)start once it is admitted. */
const isWaiting = (call: CallRecord): boolean =>
  call.state === 'prepared' || call.state === 'notStarted' || (call.state === 'inDoubt' && !isDoubt(call));

const waitsForDecision = (call: CallRecord): boolean => isWaiting(call) && call.approval?.state === 'asked';

const mayStart = (call: CallRecord): boolean => isWaiting(call) && !waitsForDecision(call);

export function batchState(batch: readonly CallRecord[], facts: BatchFacts): BatchState {
  if (batch.some((call) => call.state === 'dispatched')) return 'open';
  const doubts = batch.filter(isDoubt);
  if (doubts.some((call) => facts.isBeingReconciled(call))) return 'open';
  if (doubts.length > 0) return 'needsReview';
  if (batch.some(mayStart)) return 'open';
  return batch.every(isSettled) ? 'settled' : 'needsDecision';
}

/** Whether anything could start if a driver came. */
export const canGoOn = (batch: readonly CallRecord[]): boolean => !batch.some(isDoubt) && batch.some(mayStart);

/** Decisions that are still open, whatever else runs. */
export const openDecisions = (batch: readonly CallRecord[]): readonly CallRecord[] => batch.filter(waitsForDecision);

/** Calls a person has to settle. */
export const openDoubts = (batch: readonly CallRecord[]): readonly CallRecord[] => batch.filter(isDoubt);

/**
 * Takes every call that may start one step further: dispatched, asked about, or refused. Siblings of a doubt wait:
 * nobody knows yet what the world looks like.
 */
export function admitCalls(journal: Journal, messageId: string, facts: BatchFacts): void {
  const batch = journal.batch(messageId);
  if (batch.some(isDoubt)) return;
  const running = batch.filter((call) => call.state === 'dispatched');
  const namesInUse = new Set(running.map(({ exclusive }) => exclusive));
  let runs = running.length;
  for (const call of batch) {
    if (!mayStart(call)) continue;
    const admission =
      call.dispatch >= DISPATCHES ? TOO_OFTEN : isAllowed(call, facts.now) ? FREE : facts.admission(call);
    if (admission.kind === 'pending') continue;
    if (admission.kind === 'refuse') {
      refuse(journal, call, admission.reason, facts.now);
    } else if (admission.kind === 'ask') {
      journal.amend(call.callId, { approval: askedApproval(facts) });
    } else if (runs < facts.parallelCalls && (call.exclusive === null || !namesInUse.has(call.exclusive))) {
      const approval: ApprovalRecord | null = call.approval === null ? null : { ...call.approval, state: 'used' };
      journal.advance(call.callId, 'call.dispatched', { dispatchedAt: facts.now, approval, doubt: null });
      namesInUse.add(call.exclusive);
      runs += 1;
    }
  }
}

const FREE: Admission = { kind: 'free' };
const TOO_OFTEN: Admission = {
  kind: 'refuse',
  reason: `This call was started ${DISPATCHES} times and never came to an end. It is not started again.`,
};
/** A decision not yet used stays valid until its deadline; one that was used never covers a second dispatch. */
const isAllowed = ({ approval }: CallRecord, now: number): boolean =>
  approval?.state === 'allowed' && (approval.expiresAt === null || now < approval.expiresAt);

const askedApproval = ({ now, approvalMs }: BatchFacts): ApprovalRecord => ({
  state: 'asked',
  requestedAt: now,
  expiresAt: approvalMs > 0 ? now + approvalMs : null,
});

/** A call that was handed to its tool before is refused a second dispatch only: the model must not read that nothing happened. */
export function refuse(journal: Journal, call: CallRecord, reason: string, at: number): void {
  const told = call.state === 'inDoubt' ? `${reason} ${STARTED_BEFORE}` : reason;
  const output: ToolOutput = { type: 'execution-denied', reason: told };
  journal.advance(call.callId, 'call.failed', { output, settledAt: at, doubt: null });
}

const STARTED_BEFORE =
  'An earlier start of it was interrupted and may have taken effect: check before you ask for it again.';

/** What a person decided about a call they were asked about. */
export interface Decision {
  readonly allow: boolean;
  readonly by: string;
  /** The model reads it. */
  readonly reason?: string;
  /** Instead of the model's input; the journal keeps both. */
  readonly input?: Json;
}

export type DecisionResult = 'applied' | 'alreadyDecided' | 'expired';

/** What a decision about this call would come to. */
export function decidable(call: CallRecord, now: number): DecisionResult {
  const { approval } = call;
  if (approval?.state === 'expired') return 'expired';
  if (approval?.state !== 'asked' || !waitsForDecision(call)) return 'alreadyDecided';
  return approval.expiresAt !== null && approval.expiresAt <= now ? 'expired' : 'applied';
}

/** A refused call is over; an allowed one may start, once. */
export function decide(journal: Journal, callId: string, decision: Decision, now: number): DecisionResult {
  const call = journal.get(callId) as CallRecord;
  const result = decidable(call, now);
  if (result !== 'applied') return result;
  const { allow, by, reason, input } = decision;
  const asked = call.approval as ApprovalRecord;
  const said = { ...asked, by, ...(reason === undefined ? {} : { reason }) };
  if (allow) {
    journal.amend(callId, {
      approval: { ...said, state: 'allowed' },
      ...(input === undefined ? {} : { editedInput: input }),
    });
  } else {
    journal.amend(callId, { approval: { ...said, state: 'refused' } });
    refuse(journal, call, reason ?? 'A person refused this call. It did not run.', now);
  }
  return 'applied';
}

/** A grant covers the other open calls of the same tool: the ids of those it allowed. */
export function allowTwins(
  journal: Journal,
  batch: readonly CallRecord[],
  callId: string,
  decision: Pick<Decision, 'by'>,
  now: number,
): readonly string[] {
  const toolName = journal.get(callId)?.toolName;
  const twins = openDecisions(batch).filter((call) => call.toolName === toolName && call.callId !== callId);
  for (const twin of twins) decide(journal, twin.callId, { allow: true, by: decision.by }, now);
  return twins.map((twin) => twin.callId);
}

/** Nobody decided in time. */
export function expireApprovals(journal: Journal, messageId: string, at: number): void {
  for (const call of openDecisions(journal.batch(messageId))) {
    journal.amend(call.callId, { approval: { ...(call.approval as ApprovalRecord), state: 'expired' } });
    refuse(journal, call, 'Nobody decided in time whether this call may run. It did not run.', at);
  }
}
