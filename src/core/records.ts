/**
 * Owns the shape of everything durable: head, message, checkpoint, call, inbox, seen, outcome, review, marker. Every
 * moment in it (`at`, `…At`, `until`) is in ms since the epoch.
 * Must not know keys, bytes or a database: adapters encode these values, the core computes them.
 */
import type { Effect } from '../../machines/index.js';
import type { TurnOutcome } from './events.js';
import type { Json } from './json.js';
import type { ToolOutput, Usage, UserPart } from './messages.js';

export type Phase =
  | 'setup'
  | 'awaitingLLM'
  | 'retryingLLM'
  | 'compacting'
  | 'awaitingApproval'
  | 'executingTools'
  | 'awaitingReview'
  | 'forceStop'
  | 'completed'
  | 'stopped'
  | 'failed'
  | 'cancelled';

export type OutcomeStatus = 'completed' | 'stopped' | 'failed' | 'cancelled' | 'abandoned';

/** How the latest turn of a session ended. Abandoned is not a phase: only the head says it. */
export interface Ended {
  readonly kind: OutcomeStatus;
  /** The gate that abandoned it. */
  readonly gate?: string;
  readonly reason?: string;
  readonly at: number;
}

/** What a parked turn waits for; ids of calls. */
export interface Waiting {
  readonly approvals: readonly string[];
  readonly reviews: readonly string[];
  /** When the wait ends by itself, or null. */
  readonly until: number | null;
}

/** The small record of a session: gates need nothing else. */
export interface Head {
  readonly sessionId: string;
  readonly agent: string;
  /** Grows by one with every commit; a commit names the one it is based on. */
  readonly revision: number;
  readonly routeKey: string;

  /** The latest turn, in progress or ended; null before the first. */
  readonly turnId: string | null;
  readonly inProgress: boolean;
  readonly phase: Phase | null;
  readonly handedOver: boolean;
  readonly waiting: Waiting | null;
  readonly ended: Ended | null;
  /** Durable context of that turn, as the application gave it. */
  readonly context: Json;
  /** Limits that were given for it; the others follow from presence, which is never stored. */
  readonly limits: { readonly [name: string]: number };
  /** The name of the schema its final answer has to fit; a schema itself cannot be stored. */
  readonly answer: string | null;
  readonly startedAt: number | null;
  /** Time with a driver in ms, up to the last commit. */
  readonly activeMs: number;
  readonly lastProgressAt: number | null;
  /** Recovery attempts since the last progress. */
  readonly attempts: number;
  /** Recoveries of the turn in all. */
  readonly recoveries: number;
  readonly modelCalls: number;
  readonly usage: Usage;
  /** Of all turns of the session. */
  readonly sessionUsage: Usage;
  readonly grants: readonly Grant[];
  /** Size of the list when a compaction was refused, in characters: not tried again until it has grown by a tenth. */
  readonly compactionRefusedAt: number | null;

  /** Turns whose outcome `onOutcome` has not taken yet. */
  readonly outcomesDue: readonly string[];
  /** The turn that waiting input will start, once one was promised. */
  readonly nextTurnId: string | null;

  /** The transcript: its epoch and how many messages it has. A mismatch is damage. */
  readonly epoch: number;
  readonly count: number;
  /** Messages that compactions took out of the transcript, kept beside it. */
  readonly archived: number;
  /** The journal of the latest turn: records that were dispatched, and those that are settled. A mismatch is damage. */
  readonly dispatched: number;
  readonly settled: number;
  /** Input waiting in the inbox. A mismatch is damage. */
  readonly waitingInput: number;
  /**
   * The revision that wrote the checkpoint, or null where there is none; a checkpoint of another revision is damage.
   * Absent in heads that an older release wrote.
   */
  readonly checkpointAt?: number | null;
}

/** The envelope of one checkpoint. `snapshot` is what XState persisted. */
export interface Checkpoint {
  readonly format: number;
  readonly machineId: string;
  readonly machineVersion: string;
  readonly turnId: string;
  readonly revision: number;
  readonly savedAt: number;
  /** Absolute moments of the armed timers by id, ms since the epoch. */
  readonly deadlines: { readonly [timerId: string]: number };
  readonly snapshot: Json;
}

export type CallState = 'prepared' | 'dispatched' | 'inDoubt' | 'notStarted' | 'succeeded' | 'failed';
export type DoubtCause = 'crash' | 'timeout' | 'cancel' | 'unknown';

/** What a person was asked about a call, and what they said. An allowed one is used up by the dispatch it allows. */
export interface ApprovalRecord {
  readonly state: 'asked' | 'allowed' | 'used' | 'refused' | 'expired';
  readonly requestedAt: number;
  readonly expiresAt: number | null;
  /** Who decided. */
  readonly by?: string;
  readonly reason?: string;
}

/** A person said: this tool needs no more asking. Holds only while somebody is there. */
export interface Grant {
  readonly tool: string;
  readonly by: string;
  /** The turn it was given for; null: the whole session. */
  readonly turnId: string | null;
}

/** One call in the journal: the truth about it. */
export interface CallRecord {
  /** Engine id: turn, response, index. Providers number calls `call_0` in every response. */
  readonly callId: string;
  readonly turnId: string;
  /** The message whose call this is. */
  readonly messageId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** As the model gave it; the key is made of this one. */
  readonly input: Json;
  /** As a person changed it before they allowed the call; this one runs. */
  readonly editedInput?: Json;
  readonly effect: Effect;
  readonly idempotencyKey: string;
  /** Which of the identical calls of the turn this is. */
  readonly ordinal: number;
  /** Calls that name the same thing here never overlap. */
  readonly exclusive: string | null;
  readonly state: CallState;
  /** How often it was handed to the tool. A result names the dispatch it belongs to. */
  readonly dispatch: number;
  readonly preparedAt: number;
  readonly dispatchedAt: number | null;
  readonly settledAt: number | null;
  readonly approval: ApprovalRecord | null;
  readonly doubt: DoubtCause | null;
  /** The tool said that nothing happened: its key is used up. */
  readonly definitive: boolean;
  readonly notes: readonly Json[];
  /** What the model is told. On disk null for a settled call as well, where a message of the transcript has it whole. */
  readonly output: ToolOutput | null;
}

/** Accepted input that has not joined a transcript yet. */
export interface InboxRecord {
  readonly messageId: string;
  /** Order of acceptance within the session. */
  readonly seq: number;
  readonly turnId: string;
  readonly content: readonly UserPart[];
  readonly context: Json;
  readonly acceptedAt: number;
  /** What the application asked of the turn that this input starts; names of limits only. */
  readonly limits: { readonly [name: string]: number };
  readonly answer: string | null;
  readonly routeKey: string;
}

/** Joined input by message id: a duplicate is answered with its turn. */
export interface SeenRecord {
  readonly messageId: string;
  readonly turnId: string;
}

/** The outcome of one turn, for duplicates and for `onOutcome`. */
export interface OutcomeRecord extends TurnOutcome {
  readonly turnId: string;
  /** What `onOutcome` and `dependencies` need to know about the turn. */
  readonly context: Json;
  readonly startedAt: number;
  readonly modelCalls: number;
  readonly endedAt: number;
}

/** One call that a person has to settle; outlives its turn. */
export interface ReviewRecord {
  readonly callId: string;
  readonly turnId: string;
  readonly toolName: string;
  /** As the model gave it: identical calls are told by it. */
  readonly input: Json;
  /** As a person changed it: this one ran. */
  readonly editedInput?: Json;
  readonly idempotencyKey: string;
  readonly dispatch: number;
  readonly dispatchedAt: number;
  readonly doubt: DoubtCause;
  readonly notes: readonly Json[];
}

/** "This session has a turn in progress, or an outcome due." Written by the store only (I2). */
export interface Marker {
  readonly sessionId: string;
  readonly agent: string;
  readonly turnId: string;
  readonly savedAt: number;
}
