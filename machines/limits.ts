/**
 * Owns every default and every bound of the product, with its unit in the name and the failure it prevents.
 * Must not know how a limit is enforced: the chart reads some of them as delays and guards, the engine the rest.
 */

/** What one turn may use. Resolved once, when the turn starts, and kept in the machine's context. 0 means "off". */
export interface Limits {
  /** Silence of the model, in ms, after which `softIdle` is announced once. Default 90,000. Prevents: a person who stares at nothing. */
  readonly idleSoftMs: number;
  /** Silence of the model, in ms, after which the call is aborted and the turn fails. Default 0 attended, 540,000 otherwise. Prevents: a turn that hangs where nobody looks. */
  readonly idleHardMs: number;
  /** Time with a driver, in ms, after which the turn is asked to stop. Default 0. Prevents: a turn without end. */
  readonly turnMs: number;
  /** Model calls of the turn, retries included, after which it is asked to stop. Default 0. Prevents: an open-ended bill. */
  readonly maxModelCalls: number;
  /** Answers of the model after which the turn is asked to stop. Default 200. Prevents: a loop that the detector does not see. */
  readonly maxIterations: number;
  /** Tokens in and out, summed over the turn, after which it is asked to stop. Default 0. Prevents: an open-ended bill. */
  readonly maxTokens: number;
  /** Time since the first failure of a series, in ms, within which a failing model call is tried again beyond the third. Default 0 attended, 900,000 otherwise. Prevents: a nightly job that dies of a short outage. */
  readonly retryElapsedMs: number;
  /** Time a person has to decide an approval, in ms. Default 300,000 attended, 0 otherwise (it waits until somebody comes). Prevents: a request that waits for ever. */
  readonly approvalMs: number;
  /** Time one tool call may take, in ms, unless the tool says otherwise. Default 120,000. Prevents: a tool that never returns. */
  readonly toolMs: number;
  /** Calls of one batch that run at the same time. Default 8. Prevents: 200 calls of one answer that start at once. */
  readonly parallelCalls: number;
  /** Bytes (UTF-8) of one result in the transcript; the whole is kept with the call. Default 60,000. Prevents: one result that fills the model's context. */
  readonly outputBytes: number;
}

export type LimitName = keyof Limits;

/** 2^31-1 ms: the longest delay a Node timer takes (a longer one fires after 1 ms). A delay that is off has this length and a guard. */
export const OFF_MS = 2 ** 31 - 1;

/** Defaults of a turn that a person started and watches: they stop it themselves. */
export const ATTENDED_LIMITS: Limits = {
  idleSoftMs: 90_000,
  idleHardMs: 0,
  turnMs: 0,
  maxModelCalls: 0,
  maxIterations: 200,
  maxTokens: 0,
  retryElapsedMs: 0,
  approvalMs: 300_000,
  toolMs: 120_000,
  parallelCalls: 8,
  outputBytes: 60_000,
};

/** Defaults of a turn that nobody watches: it has to end, and to outlast an outage, by itself. */
export const UNATTENDED_LIMITS: Limits = {
  ...ATTENDED_LIMITS,
  idleHardMs: 540_000,
  retryElapsedMs: 900_000,
  approvalMs: 0,
};

/** The unit of each limit, for messages and tables; `ms` limits are bounded by {@link OFF_MS}. */
export const LIMIT_UNITS: Readonly<Record<LimitName, 'ms' | 'count' | 'bytes'>> = {
  idleSoftMs: 'ms',
  idleHardMs: 'ms',
  turnMs: 'ms',
  maxModelCalls: 'count',
  maxIterations: 'count',
  maxTokens: 'count',
  retryElapsedMs: 'ms',
  approvalMs: 'ms',
  toolMs: 'ms',
  parallelCalls: 'count',
  outputBytes: 'bytes',
};

/** How long `setup` may take, and building `dependencies` and `tools` in a recovery. Prevents: a turn stuck before it began. */
export const SETUP_MS = 60_000;
/** How long one compaction may take. Prevents: a summary that never comes. */
export const COMPACTION_MS = 300_000;
/** Two debounced checkpoints are at least this far apart. Prevents: a burst of boundaries that becomes a burst of writes. */
export const CHECKPOINT_DEBOUNCE_MS = 2_000;

/** Back-off of `retryingLLM`: base * 2^n, at most the cap. A 429 asks for more patience than a broken line. */
export const RETRY_BASE_MS = 1_000;
export const RETRY_RATE_LIMITED_BASE_MS = 5_000;
export const RETRY_CAP_MS = 60_000;
/** Calls in a row that may fail before only `retryElapsedMs` allows another. Prevents: an endless retry. */
export const RETRY_CALLS = 3;

/** Nudges allowed within the last {@link NUDGE_WINDOW} iterations. A window, so that a long healthy turn is not ended by its third nudge of the day. */
export const NUDGES = 3;
export const NUDGE_WINDOW = 10;

/** Microsteps one transition may take. Prevents: replaced guards that loop in `always` and never give the thread back. */
export const MAX_MICROSTEPS = 100;

/** Recovery: a turn whose last progress is older is abandoned. Prevents: a stale intent executed with nobody present. */
export const STALENESS_MS = 4 * 3_600_000;
/** Recovery: attempts without progress. Prevents: a turn that kills the process at every start. */
export const ATTEMPTS_WITHOUT_PROGRESS = 3;
/** Recovery: recoveries of one turn in all. Prevents: a turn that makes a little progress and crashes, for ever. */
export const RECOVERIES = 20;
/** Recovery: turns taken up at the same time. Prevents: a start-up that loads a thousand transcripts at once. */
export const RECOVERY_CONCURRENCY = 8;

/** Input waiting in one session. Prevents: a client that fills the disk. */
export const INBOX_MESSAGES = 100;
/** Outcomes of one session that `onOutcome` has not taken yet. Prevents: a head that grows while the application is broken. */
export const OUTCOMES_DUE = 100;
/** Bytes (UTF-8) of an id the application chooses: session, message, agent, route key. Prevents: keys that collide or do not fit. */
export const ID_BYTES = 512;
/** Bytes (UTF-8) of a reason kept in context or head. Prevents: a provider's error page in every checkpoint. */
export const REASON_BYTES = 1_000;
/** Results of one batch together take at most this many times `outputBytes`. Prevents: many medium results that fill the context. */
export const BATCH_OUTPUTS = 4;
/** Calls the loop detector looks at. Prevents: a judgement over what happened an hour ago. */
export const LOOP_WINDOW = 20;
/** Dispatches of one call. Prevents: a tool that never knows and a reconcile that always says "not started", for ever. */
export const DISPATCHES = 20;
/** Characters of JSON in one note of a tool. Prevents: a journal record that no commit can hold. */
export const NOTE_CHARS = 1_000_000;
/** Events of one session kept for those who follow it. Prevents: a reader that stands still and fills the memory. */
export const FEED_EVENTS = 1_000;
/** Characters of JSON in the events kept. Prevents: the same by few events that are large. */
export const FEED_CHARS = 1_000_000;
/** How long they are kept when the last reader has gone. Prevents: a whole snapshot for every short loss of a connection. */
export const FEED_KEPT_MS = 60_000;
/** Sessions read at the same time for those who begin to follow them. Prevents: a thousand readers that come back at once and load a thousand transcripts. */
export const FOLLOW_CONCURRENCY = 8;
/** Bytes of one stored record: a message, a call, a checkpoint. Prevents: a write that stalls every session. */
export const RECORD_BYTES = 64 * 1024 * 1024;
