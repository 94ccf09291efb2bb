/**
 * Owns how an answer of the model is read: what is stored of it, which of its calls can run and with which key,
 * effect and need of approval. Everything is decided here, before the event is sent; the chart only reads facts.
 * Must not know the chart's phases or how calls are run.
 */
import { type Effect, type ModelFault, RECORD_BYTES } from '../../machines/index.js';
import { ModelError, messageOf } from '../core/errors.js';
import { callIdOf } from '../core/ids.js';
import { identityOf, type Journal, keyOf, takeOrdinal } from '../core/journal.js';
import { isLongerThan, type Json, toJson } from '../core/json.js';
import { checkAssistantPart } from '../core/message-check.js';
import { type AnswerFacts, type AssistantPart, type ToolCallPart, textOf } from '../core/messages.js';
import type { AnswerPart, ModelAnswer } from '../core/model.js';
import { checkAnswerFacts } from '../core/model-check.js';
import type { CallRecord } from '../core/records.js';
import { shown } from '../core/shown.js';
import { isEffect } from '../core/tool-check.js';
import { type AnyTool, type Schema, type ToolSet, validate } from '../core/tools.js';
import { type AdmissionFor, admissionOf, findTool, type ReadCall } from './admission.js';
import { errorText } from './tool-calls.js';
import { warnOfTool } from './tool-warning.js';

export interface ReadAnswer {
  readonly messageId: string;
  readonly content: readonly AssistantPart[];
  readonly facts: AnswerFacts;
  readonly calls: readonly ReadCall[];
  readonly fault: ModelFault | null;
  readonly goesOn: boolean;
  /** The final answer in the form that was asked for. */
  readonly answer?: Json;
}

export interface ReadingFor extends AdmissionFor {
  readonly turnId: string;
  readonly messageId: string;
  /** Counts the answers of the turn, this one included. */
  readonly response: number;
  readonly now: number;
  readonly tools: ToolSet;
  readonly journal: Journal;
  /** What the final answer has to fit. */
  readonly answerSchema: Schema | undefined;
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
  const fault = faultOf(reason, content, calls.length, canRun);
  const goesOn = reason === 'continue';
  const common = { messageId: reading.messageId, content, facts, calls: read, goesOn };
  if (reading.answerSchema === undefined || fault !== null || goesOn || calls.length > 0) return { ...common, fault };
  const final = await finalAnswer(content, reading.answerSchema);
  return final === undefined ? { ...common, fault: 'invalidAnswer' } : { ...common, fault, answer: final.value };
}

/** The text as JSON that fits the schema; undefined where it is not. */
async function finalAnswer(content: readonly AssistantPart[], schema: Schema): Promise<{ value: Json } | undefined> {
  try {
    const text = textOf({ role: 'assistant', content });
    // Models like to wrap JSON in a fence.
    const valid = await validate(schema, JSON.parse(text.replace(/^\s*```(?:json)?\s*|\s*```\s*$/g, '')));
    return valid.ok ? { value: toJson(valid.value, 'answer') } : undefined;
  } catch {
    return undefined;
  }
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

/** A port that gives no answer gives none the next time either: this kind of error is not tried again. */
const noAnswer = (why: string): ModelError => new ModelError('other', `the model port gave no answer: ${why}`);

/** @throws {ModelError} what a check of the port's answer says. */
function checkGiven(check: () => void): void {
  try {
    check();
  } catch (thrown) {
    throw noAnswer(messageOf(thrown));
  }
}

function partFrom(given: unknown, path: string): AssistantPart {
  const part = toJson(given, path);
  checkGiven(() => checkAssistantPart(part, path));
  return part as unknown as AssistantPart;
}

/** Text from models is made well formed; what has no JSON value is no answer. Call ids are made unique within it. */
function storable(answer: ModelAnswer): {
  content: readonly AssistantPart[];
  facts: AnswerFacts;
  malformed: ReadonlyMap<AssistantPart, string>;
} {
  const { content: parts, ...facts } = answer ?? {};
  if (!Array.isArray(parts)) throw noAnswer('content must be an array of parts.');
  checkGiven(() => checkAnswerFacts(facts));
  const malformed = new Map<AssistantPart, string>();
  const ids = new Set<string>();
  const content = parts.map((given: AnswerPart, index): AssistantPart => {
    const { malformed: fault, ...part } = given ?? {};
    const stored = partFrom(part, `content[${index}]`);
    if (stored.type !== 'tool-call') return stored;
    const call =
      stored.providerExecuted === true ? stored : { ...stored, toolCallId: uniqueId(stored.toolCallId, ids) };
    if (fault !== undefined) malformed.set(call, String(fault));
    return call;
  });
  if (isLongerThan(content as unknown as Json, RECORD_BYTES / 4)) throw noAnswer('it is too large to be stored');
  return { content, facts: toJson(facts, 'answer') as unknown as AnswerFacts, malformed };
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
    record: { ...base, idempotencyKey: keyOf(reading.turnId, identity, 0), output: errorText(error) },
    tool: undefined,
    input: undefined,
    admission: { kind: 'free' },
    attended: reading.attended,
  });
  const identity = identityOf(part.toolName, input);
  const base: Omit<CallRecord, 'idempotencyKey'> = {
    callId,
    turnId: reading.turnId,
    messageId: reading.messageId,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    input,
    effect: 'none',
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
  const ordinal = takeOrdinal(reading.journal.identicalTo(identity), ordinals);
  taken.set(identity, ordinals.add(ordinal));
  try {
    const record: CallRecord = {
      ...base,
      effect: effectOf(found, part.toolName, valid.value),
      exclusive: exclusiveOf(found, part.toolName, valid.value),
      ordinal,
      idempotencyKey: ownKeyOf(found, part.toolName, valid.value) ?? keyOf(reading.turnId, identity, ordinal),
    };
    const admission = await admissionOf(found, record, valid.value, reading);
    return { record, tool: found, input: valid.value, admission, attended: reading.attended };
  } catch (thrown) {
    return failed(`The tool could not prepare this call: ${messageOf(thrown)}`);
  }
}

/** @throws {TypeError} what the application gave is no text that can be stored: the call fails. */
function textFrom(value: unknown, toolName: string, field: 'exclusive' | 'idempotencyKey'): string {
  if (typeof value === 'string' && value !== '') return value.toWellFormed();
  warnOfTool(toolName, field, `gave ${shown(value)}`, 'The call did not run.');
  throw new TypeError(`${field} gave no text`);
}

/** What a function of the application says that is no effect counts as the careful one. */
function effectOf({ effect = 'external' }: AnyTool, toolName: string, input: unknown): Effect {
  const given: unknown = typeof effect === 'function' ? effect(input) : effect;
  if (isEffect(given)) return given;
  warnOfTool(toolName, 'effect', `gave ${shown(given)}`, "It counts as 'external'.");
  return 'external';
}

function exclusiveOf({ exclusive = false }: AnyTool, toolName: string, input: unknown): string | null {
  const given: unknown = typeof exclusive === 'function' ? exclusive(input) : exclusive;
  if (given === false) return null;
  return given === true ? toolName : textFrom(given, toolName, 'exclusive');
}

/** undefined: the engine's key counts. */
function ownKeyOf(tool: AnyTool, toolName: string, input: unknown): string | undefined {
  if (tool.idempotencyKey === undefined) return undefined;
  const given: unknown = tool.idempotencyKey(input);
  if (given !== undefined) return textFrom(given, toolName, 'idempotencyKey');
  warnOfTool(toolName, 'idempotencyKey', 'gave undefined', "The engine's own key counts.");
  return undefined;
}
