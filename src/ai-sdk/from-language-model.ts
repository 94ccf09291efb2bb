/**
 * Owns the model port over a language model of the AI SDK: one request, one stream, one answer or a typed error.
 * Must not retry (the turn does) and must not import the SDK.
 */
import { checkFields } from '../core/fields.js';
import type { Model, ModelAnswer, ModelCall, ModelRequest } from '../core/model.js';
import { AnswerStream } from './answer-stream.js';
import { callOptions, type LanguageModelOptions, warningsOf } from './call-options.js';
import { modelErrorOf } from './model-failure.js';
import type { AnyLanguageModel, Fields, SpecificationVersion } from './specification.js';

const VERSIONS: ReadonlySet<unknown> = new Set<SpecificationVersion>(['v2', 'v3', 'v4']);

const OPTIONS: Readonly<Record<keyof LanguageModelOptions, true>> = {
  contextTokens: true,
  providerOptions: true,
  cacheBreakpoint: true,
  providerTools: true,
};

/**
 * The model port over any language model of the AI SDK 5, 6 or 7. It makes one HTTP request for each call.
 * @throws {TypeError} when it is given something else, or an option nobody knows.
 */
export function fromLanguageModel(model: AnyLanguageModel, options: LanguageModelOptions = {}): Model {
  if (typeof model?.doStream !== 'function' || !VERSIONS.has(model.specificationVersion)) {
    const version = String((model as { specificationVersion?: unknown } | undefined)?.specificationVersion);
    throw new TypeError(
      `fromLanguageModel needs a language model of specification v2, v3 or v4, such as anthropic('…'); got ${version}.`,
    );
  }
  checkFields(options, OPTIONS);
  for (const [name, tool] of Object.entries(options.providerTools ?? {})) {
    if (!/^[^.]+\../.test(String((tool as { id?: unknown }).id))) {
      throw new TypeError(
        `providerTools.${name} must be a tool that the provider defines: { id: '<provider>.<tool>' }.`,
      );
    }
  }
  return {
    id: `${model.provider}/${model.modelId}`,
    ...(options.contextTokens === undefined ? {} : { contextTokens: options.contextTokens }),
    async call(request, call) {
      try {
        return await answerOf(model, callOptions(model, options, request, call), request, call);
      } catch (thrown) {
        // The signal says that it was an abort; what the provider makes of it looks like anything.
        if (call.signal.aborted) throw call.signal.reason;
        throw modelErrorOf(thrown, Date.now());
      }
    },
  };
}

async function answerOf(
  model: AnyLanguageModel,
  options: Fields,
  request: ModelRequest,
  call: ModelCall,
): Promise<ModelAnswer> {
  const answer = new AnswerStream((delta) => call.emit(delta));
  answer.warn(...warningsOf(model, request));
  const { stream } = await model.doStream(options);
  const reader = stream.getReader();
  // A provider that does not look at its signal is left, and what it sends then is read by nobody.
  const leave = (): void => void reader.cancel(call.signal.reason).catch(() => undefined);
  call.signal.addEventListener('abort', leave, { once: true });
  try {
    call.signal.throwIfAborted();
    for (let read = await reader.read(); !read.done; read = await reader.read()) answer.take(read.value as Fields);
    call.signal.throwIfAborted();
    return answer.answer();
  } finally {
    call.signal.removeEventListener('abort', leave);
    leave();
  }
}
