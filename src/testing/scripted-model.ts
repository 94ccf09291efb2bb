/**
 * Owns a model that follows a script: for tests of turns and of one's own agent.
 * Must not be used where a user would have a real model.
 */
import type { ModelErrorKind } from '../../machines/index.js';
import { isModelErrorKind, MODEL_ERROR_KINDS, ModelError } from '../core/errors.js';
import { checkFields } from '../core/fields.js';
import type { Json } from '../core/json.js';
import type { AssistantPart, FinishReason } from '../core/messages.js';
import type { Model, ModelAnswer, ModelCall, ModelRequest } from '../core/model.js';

/** What comes of one call of the model. */
export type ScriptedAnswer =
  | string
  | {
      readonly say?: string;
      readonly calls?: readonly { readonly tool: string; readonly input: Json; readonly id?: string }[];
      readonly finish?: FinishReason;
      readonly tokens?: number;
    }
  | {
      readonly fail: ModelErrorKind;
      readonly retryAfterMs?: number;
      /** So many pieces of text come before it fails. */
      readonly afterDeltas?: number;
    }
  /** Never answers; ends only by its signal. */
  | { readonly hang: true; readonly say?: string };

/** An answer that depends on what the model is asked. */
export type AskedAnswer = (request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;

export type Script =
  | readonly (ScriptedAnswer | AskedAnswer)[]
  /** `modelCall` counts the calls of the turn, retries and recoveries included, from 0. */
  | ((request: ModelRequest, modelCall: number, call: ModelCall) => ScriptedAnswer | Promise<ScriptedAnswer>);

/**
 * A list gives the nth answer that leaves a message where the request holds n answers already, so that a recovered turn
 * goes on where it was; behind its end it says "done". What leaves none (`fail`, `hang`) comes once, before the answer
 * it stands in front of; a function in the list counts as an answer that leaves one.
 * @throws {TypeError} names the entry that is no answer, or its field that nobody knows. What a function gives is looked
 * at when it gives it, and fails that call.
 */
export function scriptedModel(script: Script): Model & { readonly requests: readonly ModelRequest[] } {
  checkScript(script);
  const requests: ModelRequest[] = [];
  const listed = typeof script === 'function' ? undefined : listOf(script);
  return {
    id: 'scripted',
    requests,
    async call(request, call) {
      requests.push(structuredClone(request));
      const answer = typeof script === 'function' ? script(request, call.modelCall, call) : listed?.(request);
      const told = (await answer) ?? 'done';
      checkAnswer(told, 'answer');
      return perform(told, call);
    },
  };
}

function checkScript(script: unknown): void {
  if (typeof script === 'function') return;
  if (!Array.isArray(script)) {
    throw new TypeError(
      "scriptedModel needs a list of answers, or a function that gives them: scriptedModel(['hello']).",
    );
  }
  for (const [index, entry] of script.entries()) {
    if (typeof entry !== 'function') checkAnswer(entry, `script[${index}]`);
  }
}

const SAID = { say: true, calls: true, finish: true, tokens: true } as const;
const FAILED = { fail: true, retryAfterMs: true, afterDeltas: true } as const;
const HUNG = { hang: true, say: true } as const;
const CALL = { tool: true, input: true, id: true } as const;

/** A misspelt field would make an answer that says nothing, and a test of something else. */
function checkAnswer(answer: unknown, where: string): void {
  if (typeof answer === 'string') return;
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new TypeError(`${where} must be a text, an object such as { calls } or { fail }, or a function.`);
  }
  const known = 'fail' in answer ? FAILED : 'hang' in answer ? HUNG : SAID;
  checkFields(answer, known, (name) => `${where}.${name}`);
  if ('fail' in answer && !isModelErrorKind(answer.fail)) {
    throw new TypeError(`${where}.fail must be one of ${MODEL_ERROR_KINDS.join(', ')}.`);
  }
  const { calls = [] } = answer as { readonly calls?: unknown };
  if (!Array.isArray(calls)) throw new TypeError(`${where}.calls must be a list of { tool, input }.`);
  for (const [index, call] of calls.entries()) {
    checkFields(call, CALL, (name) => `${where}.calls[${index}].${name}`);
    const { tool, input } = call as { readonly tool?: unknown; readonly input?: unknown };
    if (typeof tool === 'string' && input !== undefined) continue;
    throw new TypeError(`${where}.calls[${index}] needs tool, a name, and input.`);
  }
}

type Listed = ScriptedAnswer | AskedAnswer;

const leavesNoMessage = (entry: Listed): boolean => typeof entry === 'object' && ('fail' in entry || 'hang' in entry);

/** The entries by the number of answers that stand before them. */
function listOf(script: readonly Listed[]): (request: ModelRequest) => ReturnType<AskedAnswer> {
  const steps: Listed[][] = [[]];
  for (const entry of script) {
    steps.at(-1)?.push(entry);
    if (!leavesNoMessage(entry)) steps.push([]);
  }
  return (request) => {
    const step = steps[answers(request)] ?? [];
    const [entry] = step;
    if (entry === undefined) return 'done';
    if (leavesNoMessage(entry)) step.shift();
    return typeof entry === 'function' ? entry(request) : entry;
  };
}

/** Answers in the list: failed calls left no message. */
function answers({ messages }: ModelRequest): number {
  return messages.filter((message) => message.role === 'assistant').length;
}

async function perform(answer: ScriptedAnswer, call: ModelCall): Promise<ModelAnswer> {
  if (typeof answer === 'string') return perform({ say: answer }, call);
  if ('fail' in answer) {
    for (let piece = 0; piece < (answer.afterDeltas ?? 0); piece += 1) {
      call.emit({ type: 'text', id: 'text', text: `piece ${piece} ` });
    }
    const options = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
    throw new ModelError(answer.fail, `scripted: ${answer.fail}`, options);
  }
  if (answer.say !== undefined) call.emit({ type: 'text', id: 'text', text: answer.say });
  if ('hang' in answer) return hang(call.signal);
  const content: AssistantPart[] = answer.say === undefined ? [] : [{ type: 'text', text: answer.say }];
  answer.calls?.forEach(({ tool, input, id }, index) => {
    content.push({ type: 'tool-call', toolCallId: id ?? `call_${index}`, toolName: tool, input });
  });
  const reason = answer.finish ?? ((answer.calls?.length ?? 0) > 0 ? 'tool-calls' : 'stop');
  const tokens = answer.tokens ?? 1;
  return { content, finish: { reason }, usage: { input: { total: tokens }, output: { total: tokens } } };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
