/**
 * Owns how an end reads: final phase and context become an outcome, and a record that outlives the turn.
 * Must not know how outcomes are delivered.
 */
import { type Cause, REASON_BYTES, type TurnContext } from '../../machines/index.js';
import type { TurnOutcome } from '../core/events.js';
import { cutText } from '../core/json.js';
import type { Head, OutcomeRecord, OutcomeStatus } from '../core/records.js';
import type { TurnRecords } from './turn-records.js';

/** Why a turn failed, for a person; `code` where a program may want to tell. */
export function reasonOf(cause: Cause | null): { readonly reason: string; readonly code?: string } {
  switch (cause?.kind) {
    case 'hardIdle':
      return { reason: 'hardIdle' };
    case 'modelError':
      return { reason: `${cause.error}: ${cause.reason}` };
    case 'modelFault':
      return { reason: cause.fault };
    case 'compactionRefused':
      // Only a list that the model refused has to be compacted; what was refused by itself does not end a turn.
      return { reason: `contextLength: ${cause.reason}` };
    case 'setup':
      return { reason: `setup: ${cause.reason}` };
    case 'policy':
      return { reason: cause.reason, code: 'TURN_POLICY' };
    default:
      return { reason: 'unknown' };
  }
}

/** What a final phase means, read from the context the chart ended with. */
export function outcomeOf(
  status: OutcomeStatus,
  context: TurnContext | null,
  records: TurnRecords,
  given: { readonly reason?: string | undefined },
): TurnOutcome {
  const last = records.lastAnswer();
  const why =
    status === 'failed'
      ? reasonOf(context?.cause ?? null)
      : { reason: status === 'stopped' ? (context?.stopping ?? undefined) : given.reason };
  return {
    status,
    ...(why.reason === undefined ? {} : { reason: cutText(why.reason, REASON_BYTES) }),
    ...('code' in why && why.code !== undefined ? { code: why.code } : {}),
    ...(status === 'stopped' && context?.cause !== null ? { partial: true as const } : {}),
    text: records.lastText(),
    ...(status === 'completed' && records.finalAnswer !== undefined ? { answer: records.finalAnswer } : {}),
    usage: records.usage,
    ...(last === undefined ? {} : { lastMessageId: last.meta.id }),
  };
}

export function outcomeRecord(
  outcome: TurnOutcome,
  turnId: string,
  head: Head,
  modelCalls: number,
  at: number,
): OutcomeRecord {
  return { ...outcome, turnId, context: head.context, startedAt: head.startedAt ?? at, modelCalls, endedAt: at };
}

/** A turn that a person revived may end twice; its outcome is due once. */
export const withDue = (due: readonly string[], turnId: string): readonly string[] => [
  ...due.filter((id) => id !== turnId),
  turnId,
];

/** The outcome a record stands for, without what only the engine needs. */
export function fromRecord(record: OutcomeRecord): TurnOutcome {
  const { turnId: _t, context: _c, startedAt: _s, modelCalls: _m, endedAt: _e, ...outcome } = record;
  return outcome;
}
