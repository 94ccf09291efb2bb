/**
 * Owns one call of the model: what it is asked, and what came of it as data.
 * Must not know the chart or the mailbox: it gives one result, and the driver turns it into an event.
 */
import { type Limits, type ModelErrorKind, REASON_BYTES, type TurnContext } from '../../machines/index.js';
import { isModelErrorKind, messageOf } from '../core/errors.js';
import { cutText, type Json, toJson } from '../core/json.js';
import type { Message, SystemMessage, Usage } from '../core/messages.js';
import type { ModelAnswer, ModelDelta, ModelRequest, ToolSpec } from '../core/model.js';
import type { Schema, ToolSet } from '../core/tools.js';
import { repairTranscript } from '../core/transcript.js';
import { checkPlan } from './check-plan.js';
import type { CutOff } from './cut-off.js';
import type { CallPlan, Settings, TurnInfo } from './options.js';

export type ModelResult =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | {
      readonly kind: 'failed';
      readonly error: ModelErrorKind;
      readonly reason: string;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'stop'; readonly reason: string };

export interface ModelCallFor {
  readonly settings: Settings;
  readonly turn: TurnInfo;
  readonly messages: readonly Message[];
  readonly tools: ToolSet;
  readonly deps: unknown;
  readonly answerSchema: Schema | undefined;
  /** The turn was interrupted and the model has not answered since. */
  readonly interrupted: boolean;
  /** Its last answer: tools stay in the request, since providers refuse a history with calls but no tools. */
  readonly lastAnswer: boolean;
  readonly ending: CutOff;
  emit(delta: ModelDelta): void;
  /** Counts this call, just before it is made. */
  count(): number;
}

const NOTICE: Message = {
  role: 'user',
  content: [
    {
      type: 'text',
      text: 'Notice from the system: this turn was interrupted and goes on from here. Calls with a result above are done; do not repeat them.',
    },
  ],
};

export async function callModel(call: ModelCallFor): Promise<ModelResult> {
  let plan: CallPlan;
  try {
    plan = await planOf(call);
  } catch (thrown) {
    return failed('network', `prepareModelCall failed: ${messageOf(thrown)}`);
  }
  // The phase may be over by now: a call that nobody waits for is not paid for.
  if (call.ending.isAborted) return failed('other', 'the call was given up');
  if (plan.stop !== undefined && !call.lastAnswer) return { kind: 'stop', reason: cutText(plan.stop, REASON_BYTES) };
  try {
    const model = plan.model ?? call.settings.model;
    const request = requestOf(call, plan);
    const answer = await model.call(request, {
      // Made when the port looks at it.
      get signal() {
        return call.ending.signal;
      },
      emit: (delta) => call.emit(delta),
      sessionId: call.turn.sessionId,
      turnId: call.turn.turnId,
      modelCall: call.count(),
      attempt: call.turn.attempt,
    });
    return { kind: 'answered', answer };
  } catch (thrown) {
    return failureOf(thrown);
  }
}

async function planOf({ settings, turn, messages, deps }: ModelCallFor): Promise<CallPlan> {
  const { instructions, activeTools, toolChoice, model, providerOptions } = settings;
  const usual = { instructions, activeTools, toolChoice, model, providerOptions, settings: settings.settings };
  const plan = await settings.prepareModelCall?.(turn, messages, deps);
  if (plan !== undefined && plan !== null) checkPlan(plan, settings.tools);
  return { ...usual, ...plan } as CallPlan;
}

function requestOf(call: ModelCallFor, plan: CallPlan): ModelRequest {
  const own = plan.messages === undefined ? call.messages : repairTranscript(plan.messages);
  const tools = Object.entries(call.tools)
    .filter(([name]) => plan.activeTools === undefined || plan.activeTools.includes(name))
    .map(
      ([name, tool]): ToolSpec => ({
        name,
        description: tool.description,
        inputSchema: schemaOf(tool.input, `tools.${name}.input`),
        ...(tool.strict === undefined ? {} : { strict: tool.strict }),
        ...(tool.inputExamples === undefined ? {} : { inputExamples: tool.inputExamples as readonly Json[] }),
        ...(tool.providerOptions === undefined ? {} : { providerOptions: tool.providerOptions }),
      }),
    );
  return {
    instructions: systemMessages(plan.instructions),
    // The notice belongs to the request: in the transcript each recovery would make the next one heavier (case C17).
    messages: call.interrupted ? [...own, NOTICE] : own,
    tools,
    toolChoice: call.lastAnswer ? 'none' : (plan.toolChoice ?? 'auto'),
    settings: {
      ...(call.answerSchema === undefined ? {} : { responseSchema: schemaOf(call.answerSchema, 'answer') }),
      ...plan.settings,
    },
    ...(plan.providerOptions === undefined ? {} : { providerOptions: plan.providerOptions }),
  };
}

/** A schema is turned into JSON Schema once, not once per call. */
const schemas = new WeakMap<Schema, Json>();

function schemaOf(schema: Schema, path: string): Json {
  let json = schemas.get(schema);
  if (json === undefined) {
    json = toJson(schema['~standard'].jsonSchema.input({ target: 'draft-07' }), path);
    schemas.set(schema, json);
  }
  return json;
}

function systemMessages(instructions: CallPlan['instructions']): readonly SystemMessage[] {
  if (instructions === undefined) return [];
  return typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : instructions;
}

/** By shape, not by class: two copies of this package may be loaded, one by the port. Never throws. */
export function failureOf(thrown: unknown): ModelResult & { kind: 'failed' } {
  const { error, retryAfterMs } = told(thrown);
  return failed(error, messageOf(thrown), retryAfterMs === null ? null : Math.ceil(retryAfterMs));
}

/** Errors of others may have getters, and what cannot even be asked says nothing. */
function told(thrown: unknown): { readonly error: ModelErrorKind; readonly retryAfterMs: number | null } {
  try {
    const { kind, retryAfterMs } = (thrown ?? {}) as { kind?: unknown; retryAfterMs?: unknown };
    return {
      error: thrown instanceof Error && isModelErrorKind(kind) ? kind : 'other',
      retryAfterMs:
        typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs < Infinity ? retryAfterMs : null,
    };
  } catch {
    return { error: 'other', retryAfterMs: null };
  }
}

const failed = (
  error: ModelErrorKind,
  reason: string,
  retryAfterMs: number | null = null,
): ModelResult & { kind: 'failed' } => ({
  kind: 'failed',
  error,
  reason: cutText(reason, REASON_BYTES),
  retryAfterMs,
});

/** The limit that is used up, if one is: asked before every model call, so that no batch is ever cut. */
export function limitReached(
  limits: Limits,
  used: {
    readonly context: TurnContext;
    readonly modelCalls: number;
    readonly usage: Usage;
    readonly activeMs: number;
  },
): string | undefined {
  const tokens = (used.usage.input.total ?? 0) + (used.usage.output.total ?? 0);
  if (limits.maxIterations > 0 && used.context.iterations >= limits.maxIterations) return 'maxIterations';
  if (limits.maxModelCalls > 0 && used.modelCalls >= limits.maxModelCalls) return 'maxModelCalls';
  if (limits.maxTokens > 0 && tokens >= limits.maxTokens) return 'maxTokens';
  if (limits.turnMs > 0 && used.activeMs >= limits.turnMs) return 'turnMs';
  return undefined;
}
