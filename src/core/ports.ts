/**
 * Owns the ports of the engine to the outside: store, clock, ids.
 * Must not know an adapter. Leases and fencing tokens are here from the start, for stores that many processes share.
 */
import type { Json } from './json.js';
import type { StoredMessage } from './messages.js';
import type {
  CallRecord,
  Checkpoint,
  Head,
  InboxRecord,
  Marker,
  OutcomeRecord,
  ReviewRecord,
  SeenRecord,
} from './records.js';

/** The right to drive what runs under one route key. A commit with a token that is no longer the newest is refused. */
export interface Lease {
  readonly routeKey: string;
  /** Grows with every acquisition of the route. */
  readonly token: number;
  /** Aborts when the lease is lost to somebody else; never for a store of one process. */
  readonly lost: AbortSignal;
}

/** How the transcript changes: new messages at the end, or another list in a new epoch. */
export type TranscriptWrite =
  | { readonly kind: 'append'; readonly from: number; readonly messages: readonly StoredMessage[] }
  | { readonly kind: 'rewrite'; readonly epoch: number; readonly messages: readonly StoredMessage[] };

/** Everything one commit changes, in one session. The store adds the marker by itself. */
export interface Commit {
  /** Its `revision` is `base` + 1. */
  readonly head: Head;
  /** The revision this is based on; 0 where the session is new. */
  readonly base: number;
  /** null where no driver is needed: input for a parked or queued session. */
  readonly lease: Lease | null;
  /** ms since the epoch. */
  readonly savedAt: number;
  readonly transcript?: TranscriptWrite;
  /** Messages a compaction took out of the list, with the `rewrite` that does: kept beside it, in their order. */
  readonly archive?: readonly StoredMessage[];
  /** null deletes the checkpoint. */
  readonly checkpoint?: Checkpoint | null;
  /** Of many removed calls that are not of the head's turn, a store may remove some a little later, or never in a crash. */
  readonly calls?: { readonly put: readonly CallRecord[]; readonly remove: readonly string[] };
  readonly inbox?: { readonly put: readonly InboxRecord[]; readonly remove: readonly InboxRecord[] };
  readonly seen?: readonly SeenRecord[];
  readonly outcomes?: readonly OutcomeRecord[];
  readonly reviews?: { readonly put: readonly ReviewRecord[]; readonly remove: readonly string[] };
}

/** Everything a driver works on. `checkpoint` is as it was stored: decoding is the core's business. */
export interface SessionRecords {
  readonly head: Head;
  readonly messages: readonly StoredMessage[];
  readonly checkpoint: Json | null;
  /**
   * The journal of the head's turn, oldest call first. Of settled calls that are not of the newest answer and not among
   * the last `LOOP_WINDOW`, the output may be null: nobody asks for it here, and a thousand may not fit into memory.
   */
  readonly calls: readonly CallRecord[];
  readonly inbox: readonly InboxRecord[];
  /** Of all turns of the session. */
  readonly reviews: readonly ReviewRecord[];
}

/** A session of which a repair of the store found something damaged. */
export interface DamagedSession {
  readonly sessionId: string;
  /** null where nothing tells any more. */
  readonly agent: string | null;
  /** Its latest turn; empty where nothing tells any more. */
  readonly turnId: string;
  readonly reason: string;
}

/** How much of a backup is written. */
export interface BackupProgress {
  readonly records: number;
  /** Of keys and values, before compression. */
  readonly bytes: number;
}

/**
 * Durable storage of turns. Every method may throw
 * `TURN_STORE_FAILED` (worth another try), `TURN_STORE_CLOSED`; reads throw `TURN_DAMAGED` with what is damaged.
 */
export interface TurnStore {
  /** What it is made of, for errors: `level`, `memory`. */
  readonly kind: string;

  /** undefined while somebody else holds the route. Never waits. */
  acquire(routeKey: string): Promise<Lease | undefined>;
  release(lease: Lease): Promise<void>;

  /**
   * The one write path: atomic and durable when it resolves, marker included (I2).
   * A commit that was reported as failed and is durable all the same counts as done.
   * @throws {TurnError} TURN_CONFLICT when `base` is not the session's revision or the lease is not the newest.
   */
  commit(commit: Commit): Promise<void>;

  head(sessionId: string): Promise<Head | undefined>;
  load(sessionId: string): Promise<SessionRecords | undefined>;
  messages(sessionId: string): Promise<readonly StoredMessage[]>;
  /** What compactions took out of the list, oldest first. */
  archive(sessionId: string): Promise<readonly StoredMessage[]>;
  inbox(sessionId: string): Promise<readonly InboxRecord[]>;
  call(callId: string): Promise<CallRecord | undefined>;
  /** The journal of any turn, the latest or an earlier one, in the order of the call ids. */
  callsOf(turnId: string): Promise<readonly CallRecord[]>;
  seen(sessionId: string, messageId: string): Promise<SeenRecord | undefined>;
  outcome(turnId: string): Promise<OutcomeRecord | undefined>;

  /** Sessions of an agent with a turn in progress or an outcome due, newest first. Costs what is interrupted, not what is stored. */
  markers(agent: string): Promise<readonly Marker[]>;
  /** Sessions of an agent with waiting input. */
  waitingInput(agent: string): Promise<readonly string[]>;
  /** Of one session, or of all: what of another session or agent is stored is not in it. */
  reviews(agent: string, sessionId?: string): Promise<readonly (ReviewRecord & { readonly sessionId: string })[]>;

  /**
   * The heads of an agent's sessions in the order of their keys, read piece by piece while it is iterated: what is
   * committed meanwhile is in it or not. A head that cannot be read is left out; `head` tells it.
   */
  sessions(agent: string): AsyncIterable<Head>;

  /**
   * Deletes everything of a session, quarantined bytes included; nothing for an unknown one. After a failure or a crash
   * the session is whole or gone for everybody, and what is left of it goes with the next try or the next opening.
   * A session that is created again under its id shares nothing with it.
   */
  remove(sessionId: string): Promise<void>;

  /**
   * Takes a session whose head cannot be read out of the way: its bytes are kept aside, its marker goes.
   * Nothing stored, whatever it is, may stop the others (I12).
   */
  quarantine(sessionId: string, reason: string): Promise<void>;

  /** What a repair found in sessions of the agent, or of nobody any more, and nobody was told of yet. */
  damagedSessions(agent: string): Promise<readonly DamagedSession[]>;
  /** It was told: `damagedSessions` gives it no more. */
  damageTold(sessionId: string): Promise<void>;

  /**
   * Copies everything, of all agents and of one moment, into a new folder that can be opened in place of this store.
   * A store that has tools of its own for that, as a database server has, leaves it out.
   * @param tell Called now and then.
   * @throws {TypeError} the folder is not empty.
   */
  backup?(folder: string, tell: (progress: BackupProgress) => void): Promise<BackupProgress>;

  close(): Promise<void>;
}

/** Time, injected. Delays are at most 2^31-1 ms. */
export interface Clock {
  /** ms since the epoch. */
  now(): number;
  /** Runs `fire` once, `ms` from now; the result cancels it. `background`: it need not keep the process alive. */
  after(ms: number, fire: () => void, background?: boolean): () => void;
}

/** A source of unguessable ids, injected: letters, digits, `-` and `_`. */
export type Ids = () => string;
