/**
 * Owns how an answer of the model is read: what is stored of it, which of its calls can run and with which key,
 * effect and need of approval. Everything is decided here, before the event is sent; the chart only reads facts.
 * Must not know the chart's phases or how calls are run.
 */
import type { Effect, ModelFault } from '../../machines/index.js';
import type { Admission } from '../core/batch.js';
import { ModelError, messageOf } from '../core/errors.js';
import { callIdOf } from '../core/ids.js';
import { identityOf, type Journal, keyOf, takeOrdinal } from '../core/journal.js';
import { type Json, toJson } from '../core/json.js';
import type { AnswerFacts, AssistantPart, ToolCallPart } from '../core/messages.js';
import type { AnswerPart, ModelAnswer } from '../core/model.js';
import type { CallRecord, ReviewRecord } from '../core/records.js';
import { type Tool, type ToolContext, type ToolSet, validate } from '../core/tools.js';
import { errorText } from './tool-calls.js';

// biome-ignore lint/suspicious/noExplicitAny: each input is checked by its tool's schema.
type AnyTool = Tool<any, any>;

/** One call of an answer: its record, and what only this process knows about it. */
export interface ReadCall {
  readonly record: CallRecord;
  readonly tool: AnyTool | undefined;
  /** As the schema gave it; the journal and the key keep the raw one. */
  readonly input: unknown;
  readonly admission: Admission;
}

export interface ReadAnswer {
  readonly messageId: string;
  readonly content: readonly AssistantPart[];
  readonly facts: AnswerFacts;
  readonly calls: readonly ReadCall[];
  readonly fault: ModelFault | null;
  readonly goesOn: boolean;
}

export interface ReadingFor {
  readonly turnId: string;
  readonly messageId: string;
  /** Counts the answers of the turn, this one included. */
  readonly response: number;
  readonly now: number;
  readonly tools: ToolSet;
  readonly journal: Journal;
  /** Open doubts of the session: an identical external call waits until a person has settled them. */
  readonly reviews: Iterable<ReviewRecord>;
  readonly attended: boolean;
  /** A person said that this tool needs no more asking. */
  isGranted(toolName: string): boolean;
  context(call: Pick<CallRecord, 'callId' | 'idempotencyKey'>): ToolContext;
}

/** @throws {ModelError} when the port gave something that is no answer. */
export async function readAnswer(answer: ModelAnswer, reading: ReadingFor): Promise<ReadAnswer> {
  const { content, facts, malformed } = storable(answer);
  const calls = content.filter((part): part is ToolCallPart => part.type === 'tool-call' && !part.providerExecuted);
  const reason = facts.finish.reason;
  const mayRun = reason !== 'length' && reason !== 'content-filter';
  const taken = new Map<string, Set<number>>();
  const read: ReadCall[] = [];
  for (const [index, part] of calls.entries()) {
    const refusal = mayRun ? malformed.get(part) : 'The answer was not finished, so this call did not run.';
    read.push(await readCall(part, index, refusal, taken, reading));
  }
  const canRun = read.some((call) => call.record.output === null);
  return {
    messageId: reading.messageId,
    content,
    facts,
    calls: read,
    fault: faultOf(reason, content, calls.length, canRun),
    goesOn: reason === 'continue',
  };
}

function faultOf(
  reason: AnswerFacts['finish']['reason'],
  content: readonly AssistantPart[],
  calls: number,
  canRun: boolean,
): ModelFault | null {
  if (reason === 'content-filter') return 'filtered';
  if (reason === 'length') return 'cutOff';
  if (calls > 0) return canRun ? null : 'noCallCanRun';
  const says = content.some((part) => part.type !== 'reasoning' && (part.type !== 'text' || part.text.trim() !== ''));
  return says || reason === 'continue' ? null : 'empty';
}

const PARTS: ReadonlySet<unknown> = new Set<AssistantPart['type']>([
  'text',
  'file',
  'reasoning',
  'reasoning-file',
  'custom',
  'tool-call',
  'tool-result',
  'tool-approval-request',
]);

/** Text from models is made well formed; what has no JSON value is no answer. Call ids are made unique within it. */
function storable(answer: ModelAnswer): {
  content: readonly AssistantPart[];
  facts: AnswerFacts;
  malformed: ReadonlyMap<AssistantPart, string>;
} {
  const refuse = (what: string): never => {
    throw new ModelError('other', `the model port gave no answer: ${what}`);
  };
  if (!Array.isArray(answer?.content) || typeof answer.finish?.reason !== 'string') {
    return refuse('content must be an array and finish.reason a string');
  }
  const malformed = new Map<AssistantPart, string>();
  const ids = new Set<string>();
  const content = answer.content.map((given: AnswerPart, index): AssistantPart => {
    if (!PARTS.has(given?.type)) return refuse(`content[${index}].type is ${String(given?.type)}`);
    const { malformed: fault, ...part } = given;
    const stored = toJson(part, `content[${index}]`) as unknown as AssistantPart;
    if (stored.type !== 'tool-call') return stored;
    const call =
      stored.providerExecuted === true ? stored : { ...stored, toolCallId: uniqueId(stored.toolCallId, ids) };
    if (fault !== undefined) malformed.set(call, String(fault));
    return call;
  });
  const { content: _content, ...facts } = answer;
  const usage = { ...facts.usage, input: facts.usage?.input ?? {}, output: facts.usage?.output ?? {} };
  return { content, facts: toJson({ ...facts, usage }, 'answer') as unknown as AnswerFacts, malformed };
}

/** Some servers repeat an id within one answer; results are paired by id, so each call needs its own. */
function uniqueId(id: string, taken: Set<string>): string {
  let unique = String(id);
  for (let n = 2; taken.has(unique); n += 1) unique = `${id}#${n}`;
  taken.add(unique);
  return unique;
}

async function readCall(
  part: ToolCallPart,
  index: number,
  refusal: string | undefined,
  taken: Map<string, Set<number>>,
  reading: ReadingFor,
): Promise<ReadCall> {
  const callId = callIdOf(reading.turnId, reading.response, index);
  const found = findTool(reading.tools, part.toolName);
  const input = (part.input ?? {}) as Json;
  const failed = (error: string): ReadCall => ({
    record: { ...base, output: errorText(error) },
    tool: undefined,
    input: undefined,
    admission: { kind: 'free' },
  });
  const identity = identityOf(part.toolName, input);
  const base: CallRecord = {
    callId,
    turnId: reading.turnId,
    messageId: reading.messageId,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    input,
    effect: 'none',
    idempotencyKey: keyOf(reading.turnId, identity, 0),
    ordinal: 0,
    exclusive: null,
    state: 'prepared',
    dispatch: 0,
    preparedAt: reading.now,
    dispatchedAt: null,
    settledAt: null,
    approval: null,
    doubt: null,
    definitive: false,
    notes: [],
    output: null,
  };
  if (refusal !== undefined) return failed(refusal);
  if (found === undefined) {
    return failed(
      `There is no tool "${part.toolName}". There are: ${Object.keys(reading.tools).join(', ') || 'none'}.`,
    );
  }
  const valid = await validate(found.input, part.input);
  if (!valid.ok) return failed(`The input is not valid: ${valid.error}`);
  const ordinals = taken.get(identity) ?? new Set();
  const ordinal = takeOrdinal(reading.journal.identicalTo(part.toolName, input), ordinals);
  taken.set(identity, ordinals.add(ordinal));
  try {
    const own = found.idempotencyKey?.(valid.value);
    const record: CallRecord = {
      ...base,
      effect: effectOf(found, valid.value),
      exclusive: exclusiveOf(found, part.toolName, valid.value),
      ordinal,
      idempotencyKey: own ?? keyOf(reading.turnId, identity, ordinal),
    };
    const admission = await admissionOf(found, record, valid.value, reading);
    return { record, tool: found, input: valid.value, admission };
  } catch (thrown) {
    return failed(`The tool could not prepare this call: ${messageOf(thrown)}`);
  }
}

export function findTool(tools: ToolSet, name: string): AnyTool | undefined {
  if (Object.hasOwn(tools, name)) return tools[name];
  return Object.values(tools).find((tool) => tool.formerNames?.includes(name));
}

/** What a function of the application says that is no effect counts as the careful one. */
function effectOf(tool: AnyTool, input: unknown): Effect {
  const effect = typeof tool.effect === 'function' ? tool.effect(input) : tool.effect;
  return effect === 'none' || effect === 'idempotent' ? effect : 'external';
}

function exclusiveOf(tool: AnyTool, name: string, input: unknown): string | null {
  const exclusive = typeof tool.exclusive === 'function' ? tool.exclusive(input) : tool.exclusive;
  if (exclusive === undefined || exclusive === false) return null;
  return exclusive === true ? name : exclusive;
}

export type AdmissionFor = Pick<ReadingFor, 'reviews' | 'attended' | 'isGranted' | 'context'>;

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
    return { kind: 'refuse', reason: `Whether this call may run could not be decided: ${messageOf(thrown)}` };
  }
  if (verdict === 'never') return { kind: 'free' };
  if (verdict === 'required') {
    // A grant holds only while somebody is there (I6).
    if (attended && isGranted(record.toolName)) return { kind: 'free' };
    if (attended || tool.unattended === 'park') return { kind: 'ask' };
    return { kind: 'refuse', reason: 'This call needs the approval of a person, and nobody is there. It did not run.' };
  }
  const deny = (verdict as { deny?: unknown } | null)?.deny;
  return { kind: 'refuse', reason: typeof deny === 'string' ? deny : 'This call is not allowed.' };
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
  const valid = await validate(tool.input, record.editedInput ?? record.input);
  if (!valid.ok) {
    const reason = `The input is not valid any more: ${valid.error}`;
    return { record, tool, input: record.input, admission: { kind: 'refuse', reason } };
  }
  return { record, tool, input: valid.value, admission: await admissionOf(tool, record, valid.value, admission) };
}

function hasOpenTwin(record: CallRecord, reviews: Iterable<ReviewRecord>): boolean {
  const identity = identityOf(record.toolName, record.input);
  for (const review of reviews) {
    if (review.turnId !== record.turnId && identityOf(review.toolName, review.input) === identity) return true;
  }
  return false;
}
