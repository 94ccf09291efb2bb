/**
 * Owns the types, guards, assigns, delays and named effects of the turn chart.
 * Must not know how effects are performed: their bodies are empty on purpose, the engine performs them by name.
 * Everything here is pure: moments come in with events, as data.
 */
import { assign, setup } from 'xstate';
import {
  COMPACTION_MS,
  type Limits,
  NUDGE_WINDOW,
  NUDGES,
  OFF_MS,
  RETRY_BASE_MS,
  RETRY_CALLS,
  RETRY_CAP_MS,
  RETRY_RATE_LIMITED_BASE_MS,
  SETUP_MS,
  UNATTENDED_LIMITS,
} from './limits.js';

/** What a tool call does to the world outside; decided once per call and stored with it. */
export type Effect = 'none' | 'idempotent' | 'external';

/** Why a model call failed. `rateLimited`, `overloaded` and `network` are worth another try. */
export type ModelErrorKind = 'rateLimited' | 'overloaded' | 'network' | 'contextLength' | 'rejected' | 'auth' | 'other';

/** What was wrong with an answer, or with the calls it keeps making. */
export type ModelFault = 'empty' | 'cutOff' | 'filtered' | 'noCallCanRun' | 'invalidAnswer' | 'loop';

/** The two facts about a call that the chart decides by; the calls themselves are in the journal. */
export interface CallFacts {
  readonly effect: Effect;
  /** A person has to decide before the call may start. */
  readonly needsDecision: boolean;
}

/** Why the turn is in `recovering`, and later why it failed. Written by every edge into `recovering`. */
export type Cause =
  | { readonly kind: 'hardIdle' }
  | {
      readonly kind: 'modelError';
      readonly error: ModelErrorKind;
      readonly reason: string;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'modelFault'; readonly fault: ModelFault }
  | { readonly kind: 'stop' }
  | { readonly kind: 'compactionRefused'; readonly reason: string }
  | { readonly kind: 'setup'; readonly reason: string }
  | { readonly kind: 'policy'; readonly reason: string };

/** Ids, limits, counters and reasons; never messages or the state of single calls. */
export interface TurnContext {
  readonly turnId: string;
  readonly limits: Limits;
  readonly cause: Cause | null;
  /** Model calls that failed in a row. */
  readonly modelFailures: number;
  /** When that row began, in ms since the epoch. */
  readonly failingSince: number | null;
  /** When the latest of them failed, in ms since the epoch. */
  readonly failedAt: number | null;
  /** Answers the model gave. */
  readonly iterations: number;
  /** The iterations at which the model was nudged, the latest few only. */
  readonly nudges: readonly number[];
  /** A stop somebody asked for; the first reason counts. */
  readonly stopAsked: string | null;
  /** The stop under way: the turn goes through `forceStop` and ends as `stopped`. */
  readonly stopping: string | null;
  /** The list was compacted because it was too long for the model: allowed once per turn. */
  readonly compactedForLength: boolean;
  /** Accepted input that waits to join. */
  readonly pendingInput: number;
}

export type TurnEvent =
  | { readonly type: 'session.loaded' }
  | { readonly type: 'session.failed'; readonly reason: string }
  | {
      readonly type: 'model.answered';
      readonly calls: readonly CallFacts[];
      readonly fault: ModelFault | null;
      readonly goesOn: boolean;
    }
  | {
      readonly type: 'model.failed';
      readonly kind: ModelErrorKind;
      readonly reason: string;
      readonly retryAfterMs: number | null;
      readonly at: number;
    }
  | { readonly type: 'model.progressed' }
  | { readonly type: 'approvals.decided' }
  | { readonly type: 'approvals.needed' }
  | {
      readonly type: 'calls.settled';
      readonly stop: string | null;
      readonly nudge: boolean;
      readonly compact: boolean;
    }
  | { readonly type: 'calls.inDoubt' }
  | { readonly type: 'calls.reviewed' }
  | { readonly type: 'compaction.applied' }
  | { readonly type: 'compaction.refused'; readonly reason: string }
  | { readonly type: 'stop.requested'; readonly reason: string }
  | { readonly type: 'input.arrived'; readonly waiting: number }
  | { readonly type: 'turn.resumed'; readonly limits: Limits }
  | { readonly type: 'turn.cancelled' }
  | { readonly type: 'turn.handedOver' }
  | { readonly type: 'turn.faulted'; readonly reason: string };

export interface TurnInput {
  readonly turnId: string;
  readonly limits: Limits;
}

/** XState calls this again at every `transition()`, without input: it has to be cheap and total. */
export const initialContext = ({ input }: { input: TurnInput | undefined }): TurnContext => ({
  turnId: input?.turnId ?? '',
  limits: input?.limits ?? UNATTENDED_LIMITS,
  cause: null,
  modelFailures: 0,
  failingSince: null,
  failedAt: null,
  iterations: 0,
  nudges: [],
  stopAsked: null,
  stopping: null,
  compactedForLength: false,
  pendingInput: 0,
});

const RETRYABLE: ReadonlySet<ModelErrorKind> = new Set(['rateLimited', 'overloaded', 'network']);

/** What is left of `retryElapsedMs` for the failures in a row so far. A clock that was set back gives no more time. */
const retryTimeLeftMs = (c: TurnContext): number =>
  c.limits.retryElapsedMs - Math.max(0, (c.failedAt ?? 0) - (c.failingSince ?? 0));

/** What the provider asks for. "At once" (0, or a moment that has passed) says nothing: obeyed, it is a loop without a pause. */
function retryAfterMs(c: TurnContext): number | null {
  const asked = c.cause?.kind === 'modelError' ? c.cause.retryAfterMs : null;
  return asked !== null && asked > 0 ? Math.ceil(asked) : null;
}

function backOffMs(c: TurnContext): number {
  const error = c.cause?.kind === 'modelError' ? c.cause : null;
  const askedMs = retryAfterMs(c);
  if (askedMs !== null) return askedMs;
  const base = error?.error === 'rateLimited' ? RETRY_RATE_LIMITED_BASE_MS : RETRY_BASE_MS;
  return Math.min(RETRY_CAP_MS, base * 2 ** Math.max(0, c.modelFailures - 1));
}

/** A provider that asks for more patience than the turn may have is not worth the wait. */
function isRetryable(c: TurnContext): boolean {
  if (c.cause?.kind !== 'modelError' || !RETRYABLE.has(c.cause.error) || c.stopping !== null) return false;
  const leftMs = retryTimeLeftMs(c);
  if (c.modelFailures >= RETRY_CALLS && leftMs <= 0) return false;
  const askedMs = retryAfterMs(c);
  return askedMs === null || askedMs <= Math.max(RETRY_CAP_MS, leftMs);
}

const isTooLong = (c: TurnContext): boolean => c.cause?.kind === 'modelError' && c.cause.error === 'contextLength';

/** The machine's effects and directives are names only; the engine reads them from the plan of a step. */
const byEngine = (): void => undefined;

export const turnSetup = setup({
  types: { context: {} as TurnContext, events: {} as TurnEvent, input: {} as TurnInput | undefined },
  delays: {
    setupTimeout: SETUP_MS,
    softTimeout: ({ context: c }) => c.limits.idleSoftMs || OFF_MS,
    hardTimeout: ({ context: c }) => c.limits.idleHardMs || OFF_MS,
    backOff: ({ context: c }) => backOffMs(c),
    compactionTimeout: COMPACTION_MS,
    approvalDeadline: ({ context: c }) => c.limits.approvalMs || OFF_MS,
  },
  guards: {
    softOn: ({ context: c }) => c.limits.idleSoftMs > 0,
    hardOn: ({ context: c }) => c.limits.idleHardMs > 0,
    approvalDeadlineOn: ({ context: c }) => c.limits.approvalMs > 0,
    // the dispatch point
    hardIdle: ({ context: c }) => c.cause?.kind === 'hardIdle',
    contextLengthOnce: ({ context: c }) => isTooLong(c) && !c.compactedForLength,
    retryable: ({ context: c }) => isRetryable(c),
    stopAsked: ({ context: c }) => c.stopAsked !== null && c.stopping === null,
    nudgeable: ({ context: c }) =>
      c.cause?.kind === 'modelFault' &&
      c.cause.fault !== 'filtered' &&
      c.stopping === null &&
      c.nudges.filter((at) => at > c.iterations - NUDGE_WINDOW).length < NUDGES,
    stopping: ({ context: c }) => c.stopping !== null,
    // the model's answer
    answerIsFault: ({ event: e }) => e.type === 'model.answered' && e.fault !== null,
    needsDecision: ({ event: e }) => e.type === 'model.answered' && e.calls.some((call) => call.needsDecision),
    hasEffects: ({ event: e }) => e.type === 'model.answered' && e.calls.some((call) => call.effect !== 'none'),
    hasCalls: ({ event: e }) => e.type === 'model.answered' && e.calls.length > 0,
    goesOn: ({ context: c, event: e }) => (e.type === 'model.answered' && e.goesOn) || c.pendingInput > 0,
    // the batch
    stopDue: ({ context: c, event: e }) =>
      c.stopping === null && (c.stopAsked !== null || (e.type === 'calls.settled' && e.stop !== null)),
    nudgeDue: ({ event: e }) => e.type === 'calls.settled' && e.nudge,
    compactionDue: ({ event: e }) => e.type === 'calls.settled' && e.compact,
    tooLong: ({ context: c }) => isTooLong(c),
    inputPending: ({ context: c }) => c.pendingInput > 0,
  },
  actions: {
    // checkpoint directives
    checkpointNow: byEngine,
    checkpoint: byEngine,
    // effects of a phase
    loadSession: byEngine,
    callModel: byEngine,
    compact: byEngine,
    runCalls: byEngine,
    askPerson: byEngine,
    // edits of transcript and journal, made in the commit of the step
    joinInput: byEngine,
    nudge: byEngine,
    expireApprovals: byEngine,
    // announcements
    announceSoftIdle: byEngine,
    // assigns
    recordHardIdle: assign({ cause: { kind: 'hardIdle' } }),
    recordModelError: assign(({ context: c, event: e }) =>
      e.type === 'model.failed'
        ? {
            cause: { kind: 'modelError', error: e.kind, reason: e.reason, retryAfterMs: e.retryAfterMs },
            modelFailures: c.modelFailures + 1,
            failingSince: c.failingSince ?? e.at,
            failedAt: e.at,
          }
        : {},
    ),
    recordModelFault: assign(({ context: c, event: e }) => ({
      cause: {
        kind: 'modelFault',
        fault: e.type === 'model.answered' ? (e.fault ?? 'empty') : 'empty',
      },
      modelFailures: 0,
      failingSince: null,
      failedAt: null,
      iterations: c.iterations + 1,
    })),
    recordLoop: assign({ cause: { kind: 'modelFault', fault: 'loop' } }),
    recordStop: assign(({ context: c, event: e }) => ({
      cause: { kind: 'stop' },
      stopAsked: c.stopAsked ?? (e.type === 'stop.requested' ? e.reason : e.type === 'calls.settled' ? e.stop : null),
    })),
    recordCompactionRefused: assign(({ event: e }) => ({
      cause: { kind: 'compactionRefused', reason: e.type === 'compaction.refused' ? e.reason : 'timeout' },
    })),
    recordSetupFailed: assign(({ event: e }) => ({
      cause: { kind: 'setup', reason: e.type === 'session.failed' ? e.reason : 'timeout' },
    })),
    recordFault: assign(({ event: e }) => ({
      cause: { kind: 'policy', reason: e.type === 'turn.faulted' ? e.reason : '' },
    })),
    recordSuccess: assign(({ context: c }) => ({
      cause: null,
      modelFailures: 0,
      failingSince: null,
      failedAt: null,
      iterations: c.iterations + 1,
    })),
    recordCompacted: assign({ compactedForLength: true }),
    countNudge: assign(({ context: c }) => ({ nudges: [...c.nudges, c.iterations].slice(-NUDGES) })),
    beginStopping: assign(({ context: c }) => ({ stopping: c.stopAsked })),
    askStop: assign(({ context: c, event: e }) => ({
      stopAsked: c.stopAsked ?? (e.type === 'stop.requested' ? e.reason : null),
    })),
    noteInput: assign(({ context: c, event: e }) => ({
      pendingInput: e.type === 'input.arrived' ? e.waiting : c.pendingInput,
    })),
    inputJoined: assign({ pendingInput: 0 }),
    assignLimits: assign(({ context: c, event: e }) => ({
      limits: e.type === 'turn.resumed' ? e.limits : c.limits,
    })),
  },
});
