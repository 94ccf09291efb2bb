/**
 * Owns the events a service can see. Facts are announced after their commit; progress is marked `durable: false` (I9).
 * Must not know who listens.
 */
import type { Effect, ModelErrorKind, ModelFault } from '../../machines/index.js';
import type { Json } from './json.js';
import type { Message, MessageMeta, Usage } from './messages.js';
import type { ModelDelta } from './model.js';
import type { CallState, OutcomeStatus, Phase } from './records.js';

/** How a turn ended. */
export interface TurnOutcome {
  readonly status: OutcomeStatus;
  /** Why, where it did not complete. */
  readonly reason?: string;
  /** A stable code beside the reason, where there is one. */
  readonly code?: string;
  /** A stop was under way and its last answer never came whole. */
  readonly partial?: true;
  /** The text of the last answer. */
  readonly text: string;
  /** The final answer in the form that was asked for; absent where the turn did not complete. */
  readonly answer?: Json;
  readonly usage: Usage;
  readonly lastMessageId?: string;
}

/** Where a turn came to rest: an outcome, a wait for a person, or another process. */
export type TurnRest =
  | TurnOutcome
  | {
      readonly status: 'parked';
      readonly phase: 'awaitingApproval' | 'awaitingReview';
      readonly ids: readonly string[];
    }
  | { readonly status: 'handedOver' };

/** A call a person is asked about. */
export interface Approval {
  /** The call's id: it contains turn and session. */
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly input: Json;
  readonly effect: Effect;
  readonly requestedAt: number;
  readonly expiresAt: number | null;
}

/** A call a person has to settle. */
export interface Review {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly input: Json;
  readonly idempotencyKey: string;
  readonly dispatchedAt: number;
  readonly notes: readonly Json[];
}

/** Every gate's word about an interrupted turn is an event. */
export type InterruptedEventType =
  | 'interrupted_turn_resuming'
  | 'interrupted_turn_resumed'
  | 'interrupted_turn_held'
  | 'interrupted_turn_abandoned'
  | 'interrupted_turn_review_required';

export type EventBody =
  | { readonly type: 'phase'; readonly phase: Phase }
  | { readonly type: 'delta'; readonly delta: ModelDelta }
  /** Deltas since this message count for nothing: the turn goes on behind it. null: from its input. */
  | { readonly type: 'deltasDiscarded'; readonly afterMessageId: string | null }
  | { readonly type: 'message'; readonly message: Message; readonly meta: MessageMeta }
  | {
      readonly type: 'call';
      readonly callId: string;
      readonly toolName: string;
      readonly effect: Effect;
      readonly state: CallState;
    }
  | { readonly type: 'progress'; readonly callId: string; readonly value: Json }
  | { readonly type: 'approvalRequested'; readonly approval: Approval }
  | { readonly type: 'approvalDecided'; readonly approvalId: string; readonly allow: boolean; readonly by: string }
  | { readonly type: 'reviewRequested'; readonly review: Review }
  | { readonly type: 'softIdle'; readonly phase: Phase; readonly idleMs: number }
  | { readonly type: 'hardIdle'; readonly idleMs: number }
  | { readonly type: 'retry'; readonly kind: ModelErrorKind; readonly reason: string; readonly delayMs: number }
  | { readonly type: 'nudge'; readonly fault: ModelFault }
  | { readonly type: 'stopping'; readonly reason: string }
  /** Numbers of messages. */
  | { readonly type: 'compacted'; readonly messages: { readonly before: number; readonly after: number } }
  | { readonly type: 'compactionRefused'; readonly reason: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'outcome'; readonly outcome: TurnOutcome }
  /** `onOutcome` rejected; the next `recover()` tries again. */
  | { readonly type: 'outcomeUndelivered'; readonly reason: string }
  /** A commit failed; the turn does nothing further until it is durable. */
  | { readonly type: 'storeFailed'; readonly reason: string }
  /** This process stopped driving the turn: somebody else owns it, or it cannot go on here. */
  | { readonly type: 'driverLost'; readonly reason: string }
  | { readonly type: InterruptedEventType; readonly gate: string; readonly reason: string };

export type TurnEvent = EventBody & {
  readonly sessionId: string;
  readonly turnId: string;
  /** ms since the epoch. */
  readonly at: number;
  /** On disk when it is announced. */
  readonly durable: boolean;
};
