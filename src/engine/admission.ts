/**
 * Owns what applies to a call at the moment it could start: free, to be asked about, or refused. Asked anew by every
 * recovery, since presence belongs to the moment (I6). Must not know answers or the chart.
 */

import { REASON_BYTES } from '../../machines/index.js';
import type { Admission } from '../core/batch.js';
import { messageOf } from '../core/errors.js';
import { identityOf, inputOf } from '../core/journal.js';
import { cutText } from '../core/json.js';
import type { CallRecord, ReviewRecord } from '../core/records.js';
import { shown } from '../core/shown.js';
import { isVerdict } from '../core/tool-check.js';
import { type AnyTool, type ToolContext, type ToolSet, validate } from '../core/tools.js';
import { warnOfTool } from './tool-warning.js';

/** One call of an answer: its record, and what only this process knows about it. */
export interface ReadCall {
  readonly record: CallRecord;
  readonly tool: AnyTool | undefined;
  /** As the schema gave it; the journal and the key keep the raw one. */
  readonly input: unknown;
  readonly admission: Admission;
  /** Whether somebody was there when that was decided. */
  readonly attended: boolean;
}

export interface AdmissionFor {
  /** Open doubts of the session: an identical external call waits until a person has settled them. */
  readonly reviews: readonly ReviewRecord[];
  readonly attended: boolean;
  /** A person said that this tool needs no more asking. */
  isGranted(toolName: string): boolean;
  context(call: Pick<CallRecord, 'callId' | 'idempotencyKey'>): ToolContext;
}

export function findTool(tools: ToolSet, name: string): AnyTool | undefined {
  if (Object.hasOwn(tools, name)) return tools[name];
  return Object.values(tools).find((tool) => tool.formerNames?.includes(name));
}

/**
 * Asked when a call is prepared, and again by every recovery: presence belongs to the moment (I6). An approval
 * function that throws refuses.
 */
export async function admissionOf(
  tool: AnyTool,
  record: CallRecord,
  input: unknown,
  { reviews, attended, isGranted, context }: AdmissionFor,
): Promise<Admission> {
  if (record.effect === 'external' && hasOpenTwin(record, reviews)) {
    return {
      kind: 'refuse',
      reason: 'The outcome of an identical earlier call is unknown. A person has to settle it before this one may run.',
    };
  }
  let verdict: unknown = tool.approval ?? 'never';
  try {
    if (typeof verdict === 'function') verdict = await verdict(input, context(record));
  } catch (thrown) {
    const why = cutText(messageOf(thrown), REASON_BYTES);
    return { kind: 'refuse', reason: `Whether this call may run could not be decided: ${why}` };
  }
  if (!isVerdict(verdict)) {
    warnOfTool(record.toolName, 'approval', `gave ${shown(verdict)}`, 'The call did not run.');
    const why = `the approval of its tool gave ${shown(verdict)}`;
    return { kind: 'refuse', reason: `Whether this call may run could not be decided: ${why}. It did not run.` };
  }
  if (verdict === 'never') return { kind: 'free' };
  if (verdict === 'required') {
    // A grant holds only while somebody is there (I6).
    if (attended && isGranted(record.toolName)) return { kind: 'free' };
    if (attended || tool.unattended === 'park') return { kind: 'ask' };
    return { kind: 'refuse', reason: 'This call needs the approval of a person, and nobody is there. It did not run.' };
  }
  return { kind: 'refuse', reason: cutText(verdict.deny, REASON_BYTES) };
}

/**
 * A call of an interrupted batch, read again for this process. undefined: its tool is gone, and nobody guesses what
 * the call may have done.
 */
export async function rereadCall(
  record: CallRecord,
  tools: ToolSet,
  admission: AdmissionFor,
): Promise<ReadCall | undefined> {
  const tool = findTool(tools, record.toolName);
  if (tool === undefined) return undefined;
  const { attended } = admission;
  const valid = await validate(tool.input, inputOf(record));
  if (!valid.ok) {
    const reason = `The input is not valid any more: ${cutText(valid.error, REASON_BYTES)}`;
    return { record, tool, input: record.input, admission: { kind: 'refuse', reason }, attended };
  }
  return {
    record,
    tool,
    input: valid.value,
    attended,
    admission: await admissionOf(tool, record, valid.value, admission),
  };
}

function hasOpenTwin(record: CallRecord, reviews: readonly ReviewRecord[]): boolean {
  // Nearly always: a large input need not be looked at for it.
  if (reviews.length === 0) return false;
  const identity = identityOf(record.toolName, record.input);
  for (const review of reviews) {
    if (review.turnId !== record.turnId && identityOf(review.toolName, review.input) === identity) return true;
  }
  return false;
}

/** What could not be decided in time is decided against the call. */
export function undecided(record: CallRecord, known: ReadCall | undefined, attended: boolean): ReadCall {
  const reason = 'Whether this call may run could not be decided. It did not run.';
  return { record, tool: known?.tool, input: known?.input, attended, admission: { kind: 'refuse', reason } };
}
