/**
 * Owns the events a service can see. Facts are announced after their commit; progress is marked `durable: false` (I9).
 * Must not know who listens.
 */
import type { Effect, ModelErrorKind, ModelFault } from '../../machines/index.js';
import type { Json } from './json.js';
import type { Message, MessageMeta, StoredMessage, Usage } from './messages.js';
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
  /** Of the whole turn. */
  readonly usage: Usage;
  /** Of the last answer, where there is one. */
  readonly lastMessageId?: string;
}

/** Where a turn came to rest: an outcome, a wait for a person, or another process. */
export type TurnRest =
  | TurnOutcome
  | {
      readonly status: 'parked';
      readonly phase: 'awaitingApproval' | 'awaitingReview';
      /** Of the calls a person is waited for. */
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
  /** What would run. */
  readonly input: Json;
  readonly effect: Effect;
  /** ms since the epoch. */
  readonly requestedAt: number;
  /** ms since the epoch; null: it waits as long as people like. */
  readonly expiresAt: number | null;
}

/** A call a person has to settle. */
export interface Review {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  /** What ran. */
  readonly input: Json;
  readonly idempotencyKey: string;
  /** ms since the epoch. */
  readonly dispatchedAt: number;
  /** What the tool noted before its effect. */
  readonly notes: readonly Json[];
}

/** Every gate's word about an interrupted turn is an event. */
export type InterruptedEventType =
  | 'interrupted_turn_resuming'
  | 'interrupted_turn_resumed'
  | 'interrupted_turn_held'
  | 'interrupted_turn_abandoned'
  | 'interrupted_turn_review_required';

/** A piece of an answer that is on its way; it becomes the message with this id, or is discarded. */
export interface PartialAnswer {
  readonly messageId: string;
  readonly delta: ModelDelta;
}

export type EventBody =
  | { readonly type: 'phase'; readonly phase: Phase }
  | ({ readonly type: 'delta' } & PartialAnswer)
  /**
   * Deltas of the answer `messageId` count for nothing, null: those of every answer that has not become a message.
   * The turn goes on behind `afterMessageId`, null: from its input.
   */
  | { readonly type: 'deltasDiscarded'; readonly messageId: string | null; readonly afterMessageId: string | null }
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
  /**
   * A repair of the store found something of the session damaged: told by `recover()`, until it was told once. Or input
   * or an outcome waits where it cannot be read: told once in a process.
   */
  | { readonly type: 'sessionDamaged'; readonly reason: string }
  /** This process stopped driving the turn: somebody else owns it, or it cannot go on here. */
  | { readonly type: 'driverLost'; readonly reason: string }
  | { readonly type: InterruptedEventType; readonly gate: string; readonly reason: string };

/** What a session is at one moment. It takes the place of everything a reader knew of it. */
export interface SessionView {
  /** The list as it is on disk. */
  readonly messages: readonly StoredMessage[];
  /** Where the last turn is, or was when it ended. null: the session has had no turn. */
  readonly phase: Phase | null;
  /** A turn is running, parked or interrupted. */
  readonly inProgress: boolean;
  /** The turn that waiting input will start, where one was promised and has not begun. */
  readonly nextTurnId: string | null;
  /** How the last turn ended; null while one is in progress, and where there was none. */
  readonly outcome: TurnOutcome | null;
  /** What the model has said since the last message, in order; pieces of one part are one. */
  readonly partial: readonly PartialAnswer[];
  /** Calls that wait for a decision. */
  readonly approvals: readonly Approval[];
  /** Calls that wait to be settled. */
  readonly reviews: readonly Review[];
}

/** What only those learn who follow a session. */
export type FollowBody =
  | ({ readonly type: 'snapshot' } & SessionView)
  /** The reader was too slow: so many events are gone for it. A `snapshot` comes next. */
  | { readonly type: 'lagged'; readonly dropped: number };

interface Told {
  /** Its place among the events of its session in this process; `follow(…, { after })` goes on behind it. */
  readonly cursor: string;
  readonly sessionId: string;
  /** Empty where the event belongs to no turn. */
  readonly turnId: string;
  /** ms since the epoch. */
  readonly at: number;
  /** On disk when it is announced. */
  readonly durable: boolean;
}

export type TurnEvent = EventBody & Told;

export type FollowEvent = TurnEvent | (FollowBody & Told);

/** What `follow()` gives. */
export interface SessionEvents extends AsyncIterable<FollowEvent> {
  /**
   * What compactions had taken out of the list of the last `snapshot`, oldest first, redacted as it is.
   * @throws {TurnError} TURN_DAMAGED, TURN_STORE_FAILED.
   */
  archive(): Promise<readonly StoredMessage[]>;
}
