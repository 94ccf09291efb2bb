/**
 * Owns the face of the engine: every method a service can call, with its units, defaults and errors.
 * Must not hold code.
 */
import type { DecisionResult } from '../core/batch.js';
import type { ToolDescription } from '../core/describe-tools.js';
import type { Approval, FollowEvent, Review, SessionEvents, TurnOutcome } from '../core/events.js';
import type { Json } from '../core/json.js';
import type { Message, StoredMessage, ToolOutput, Usage } from '../core/messages.js';
import type { BackupProgress } from '../core/ports.js';
import type { Phase } from '../core/records.js';
import type { ApprovalDecision } from './approvals.js';
import type { FollowOptions } from './follow.js';
import type { Accepted, Input } from './input.js';
import type { SettleBy } from './people.js';
import type { RecoveryReport } from './recovery.js';
import type { CancelOptions, Turn } from './turn-handles.js';

/** A turn that is in progress on disk and has no driver in this process. */
export interface InterruptedTurn {
  readonly sessionId: string;
  readonly turnId: string;
  readonly phase: Phase;
  /** Recoveries since its last progress. */
  readonly attempts: number;
  /** ms since the epoch. */
  readonly lastProgressAt: number | null;
  /** It waits for a person, who has until then (ms since the epoch), or as long as they like. */
  readonly waiting: { readonly until: number | null } | null;
}

/** A conversation as it is on disk. */
export interface Session {
  readonly id: string;
  /** What all its turns used. */
  readonly usage: Usage;
  readonly inProgress: boolean;
  /** The latest turn; null before the first. */
  readonly turnId: string | null;
  readonly phase: Phase | null;
  /** @throws {TurnError} TURN_DAMAGED */
  messages(): Promise<readonly StoredMessage[]>;
  /** What compactions took out of the list, oldest first. */
  archive(): Promise<readonly StoredMessage[]>;
  /**
   * The whole output of a call, which the transcript may hold cut. undefined: no such call, none yet, or the message that
   * made the call was rewound.
   */
  output(callId: string): Promise<ToolOutput | undefined>;
}

export interface RecoverOptions {
  /** Turns taken up at the same time. Default 8. */
  readonly concurrency?: number;
  /**
   * Does the same again, so many ms after each round, until `close()`: turns that were held and outcomes that were not
   * taken get another chance. The first round is the one that is awaited; later ones tell what they do by events (a
   * turn that is held as before is no news), spend no attempt of a turn whose `dependencies` fail, and keep no process
   * alive. Default: one round.
   */
  readonly everyMs?: number;
}

export interface TurnEngine<X = Json> {
  /**
   * The one way in: durable and de-duplicated by `messageId` before it resolves. Starts a turn, joins the running one
   * at its next boundary, or waits for its route.
   * @throws {TypeError} names the field. @throws {TurnError} TURN_INBOX_FULL, TURN_ENGINE_CLOSING, TURN_STORE_FAILED,
   * TURN_TOO_LARGE, TURN_OUTCOMES_DUE.
   */
  sendMessage(input: Input<X>): Promise<Accepted>;
  /** The same, refused where the session or its route has anything else to do. @throws {TurnError} also TURN_BUSY. */
  startTurn(input: Input<X>): Promise<Turn>;
  /** The turn that is in progress in this process, running or parked. @throws {TypeError} names the field. */
  activeTurn(sessionId: string): Turn | undefined;
  /** undefined: there is none. @throws {TypeError} also for a session of another agent. @throws {TurnError} TURN_DAMAGED. */
  session(sessionId: string): Promise<Session | undefined>;
  /**
   * One call for a new reader, a second one, and one that comes back: a `snapshot` with the answer as far as it has
   * come, then every event behind it, over as many turns as there are. A session that does not exist yet is an empty
   * one. No reader makes a turn wait; one that is too slow gets `lagged` and a new snapshot. Ends with `signal`, with
   * `return()`, and when the engine has closed. Iterating throws: @throws {TurnError} TURN_DAMAGED, TURN_STORE_FAILED,
   * TURN_ENGINE_CLOSING once the engine is closed. @throws {TypeError} also for a session of another agent.
   */
  follow(sessionId: string, options?: FollowOptions): AsyncIterableIterator<FollowEvent> & SessionEvents;
  /**
   * Gives every interrupted turn of this agent its verdict, newest first; call it at start-up.
   * @throws {TypeError} names the option. @throws {TurnError} TURN_STORE_FAILED where the turns cannot even be found,
   * TURN_ENGINE_CLOSING.
   */
  recover(options?: RecoverOptions): Promise<RecoveryReport>;
  /** The turns that the next `recover()` would look at, parked ones included. */
  interrupted(): Promise<readonly InterruptedTurn[]>;
  /** A person says: go on. Skips the gates that ask whether it is wise. @throws {TurnError} TURN_NOT_RESUMABLE, TURN_NOT_FOUND. */
  resumeTurn(turnId: string, by: { readonly person: string }): Promise<Turn>;
  /**
   * An interrupted or parked turn is given up: its calls under way are in doubt and listed, its outcome is `abandoned`.
   * @throws {TurnError} TURN_NOT_FOUND; TURN_BUSY while it runs: cancel it instead.
   */
  abandonTurn(turnId: string, reason: string): Promise<void>;
  /**
   * Durable when it resolves: a cancelled turn never comes back. Running, parked, interrupted and unreadable turns
   * alike; one that waits for its route takes its input with it; one that ended before keeps its outcome. @throws {TurnError} TURN_NOT_FOUND, TURN_STORE_FAILED.
   */
  cancelTurn(turnId: string, options?: CancelOptions): Promise<TurnOutcome>;
  /**
   * For each tool: what happens if the turn that called it is resumed? @throws {TypeError} where `tools` is a function;
   * give its set to the exported `describeTools()` then.
   */
  describeTools(): readonly ToolDescription[];
  /** Calls that wait for a decision, of all turns of this agent, running and parked. */
  approvals(filter?: { readonly sessionId?: string }): Promise<readonly Approval[]>;
  /**
   * Durable when it resolves. A decision is used up by the dispatch it allowed. `expired`: the deadline had passed.
   * @throws {TypeError} also when the edited input is not one the tool takes. @throws {TurnError} TURN_NOT_FOUND.
   */
  decideApproval(id: string, decision: ApprovalDecision): Promise<DecisionResult>;
  /**
   * Somebody is there, as an authenticated request shows: approvals may be asked, grants hold. For this process and
   * this time (ms; 0 ends it) only; never stored.
   */
  attend(sessionId: string, by: { readonly person: string; readonly forMs: number }): Promise<void>;
  /** Calls whose outcome only a person can tell, of all turns of this agent. */
  reviews(filter?: { readonly sessionId?: string }): Promise<readonly Review[]>;
  /** Durable when it resolves; a turn that waits for it goes on. @throws {TurnError} TURN_NOT_FOUND, TURN_CALL_NOT_IN_DOUBT. */
  settleCall(turnId: string, callId: string, settlement: SettleBy): Promise<void>;
  /**
   * Takes back input that has not joined a turn. @throws {TurnError} TURN_NOT_FOUND for a message nobody knows.
   */
  withdrawMessage(sessionId: string, messageId: string): Promise<'withdrawn' | 'alreadyJoined'>;
  /**
   * Everything of a session goes, bytes that cannot be read included. @throws {TurnError} TURN_BUSY while a turn is in
   * progress, which can be cancelled even where it is damaged, or input or an outcome waits. Not for input that waits
   * in a session that cannot be read, or whose inbox is not what its head says, nor for an outcome that cannot be read:
   * they go with it. A turn that was promised to such input is `cancelled` then, with the reason `deleted`.
   */
  deleteSession(sessionId: string): Promise<void>;
  /** Deletes idle sessions of this agent without open doubts whose last activity is older, in ms; gives their number. */
  pruneSessions(options: { readonly olderThanMs: number }): Promise<number>;
  /** JSON lines: `session`, then `archived` and `message` records. @throws {TurnError} TURN_NOT_FOUND. */
  exportSession(sessionId: string): AsyncIterable<string>;
  /** Makes a new session from a history; whatever its calls lack is repaired. @throws {TurnError} TURN_BUSY. */
  importSession(sessionId: string, messages: readonly Message[]): Promise<void>;
  /**
   * Copies everything in the store, of all agents and of one moment, while turns run. To restore, open the copy.
   * Before it is whole and was read back, there is nothing under that name; what a crash leaves is called
   * `<folder>.unfinished-…` and may be deleted.
   * @param folder A new one, or an empty one.
   * @throws {TypeError} the folder is not empty, or the store makes no backups. @throws {TurnError} TURN_STORE_FAILED,
   * TURN_DAMAGED.
   */
  backup(folder: string, options?: { onProgress?(progress: BackupProgress): void }): Promise<BackupProgress>;
  /**
   * Hands over: refuses new input, lets tools settle up to `graceMs` (default 5,000), checkpoints, keeps the markers.
   * Spends no attempt. The store stays open.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
