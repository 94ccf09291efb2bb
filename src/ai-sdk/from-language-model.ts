/**
 * Owns the model port over a language model of the AI SDK: one request, one stream, one answer or a typed error.
 * Must not retry (the turn does) and must not import the SDK.
 */
import type { Message, ProviderOptions } from '../core/messages.js';
import type { Model, ModelAnswer, ModelCall, ModelRequest } from '../core/model.js';
import { AnswerStream } from './answer-stream.js';
import { modelErrorOf } from './model-failure.js';
import { toPrompt } from './prompt.js';
import { breakpointAt, saying } from './request-messages.js';
import type { AnyLanguageModel, Fields, SpecificationVersion } from './specification.js';

export interface LanguageModelOptions {
  /** Size of the model's context, in tokens: lets the engine make the list shorter in time. Default: not known. */
  readonly contextTokens?: number;
  /** Options of every call, by provider; those of a call come on top, key by key. */
  readonly providerOptions?: ProviderOptions;
  /**
   * Options of the last message of every request, and of no other: the moving cache breakpoint, for example
   * `{ anthropic: { cacheControl: { type: 'ephemeral' } } }`. Never stored. The same keys are taken out of the messages
   * of the request, since breakpoints that pile up hide the newest; instructions and tools keep theirs.
   */
  readonly cacheBreakpoint?: ProviderOptions;
  /**
   * Tools the provider defines, by the name the model calls, as its package makes them:
   * `{ web_search: anthropic.tools.webSearch_20250305() }`. Those it runs itself leave nothing to do here.
   */
  readonly providerTools?: { readonly [name: string]: object };
}

const VERSIONS: ReadonlySet<unknown> = new Set<SpecificationVersion>(['v2', 'v3', 'v4']);

/**
 * The model port over any language model of the AI SDK 5, 6 or 7. It makes one HTTP request for each call.
 * @throws {TypeError} when it is given something else.
 */
export function fromLanguageModel(model: AnyLanguageModel, options: LanguageModelOptions = {}): Model {
  if (typeof model?.doStream !== 'function' || !VERSIONS.has(model.specificationVersion)) {
    const version = String((model as { specificationVersion?: unknown } | undefined)?.specificationVersion);
    throw new TypeError(
      `fromLanguageModel needs a language model of specification v2, v3 or v4, such as anthropic('…'); got ${version}.`,
    );
  }
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
  if (request.settings.reasoning !== undefined && model.specificationVersion !== 'v4') {
    answer.warn({
      type: 'unsupported',
      feature: 'settings.reasoning',
      details: 'before specification v4 it is one of the providerOptions',
    });
  }
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

function callOptions(
  { specificationVersion: version }: AnyLanguageModel,
  options: LanguageModelOptions,
  request: ModelRequest,
  { signal }: ModelCall,
): Fields {
  const { settings, toolChoice } = request;
  const { maxOutputTokens, temperature, stopSequences, reasoning, responseSchema, headers } = settings;
  const providerOptions = merged(options.providerOptions, request.providerOptions);
  return {
    prompt: promptOf(request, version, options.cacheBreakpoint),
    ...toolsOf(request, options.providerTools ?? {}, version),
    toolChoice: typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: toolChoice.tool },
    abortSignal: signal,
    // Only a raw chunk tells what V2 keeps to itself: why the answer ended.
    ...(version === 'v2' ? { includeRawChunks: true } : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning === undefined || version !== 'v4' ? {} : { reasoning }),
    ...(responseSchema === undefined ? {} : { responseFormat: { type: 'json', schema: responseSchema } }),
    ...(headers === undefined ? {} : { headers }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function promptOf(
  { instructions, messages }: ModelRequest,
  version: SpecificationVersion,
  breakpoint: ProviderOptions | undefined,
): readonly object[] {
  const list: readonly Message[] = breakpoint === undefined ? messages : breakpointAt(messages, breakpoint);
  return [...toPrompt(instructions, version, 'instructions'), ...toPrompt(saying(list), version)];
}

/** Tools stay in the request whatever the choice is: a history with calls and no tools is refused by providers. */
function toolsOf(
  { tools }: ModelRequest,
  providerTools: NonNullable<LanguageModelOptions['providerTools']>,
  version: SpecificationVersion,
): Fields {
  const type = version === 'v2' ? 'provider-defined' : 'provider';
  const all = [
    ...tools.filter((tool) => providerTools[tool.name] === undefined).map((tool) => ({ type: 'function', ...tool })),
    ...Object.entries(providerTools as { readonly [name: string]: Fields }).map(([name, { id, args = {} }]) => {
      return { type, id, name, args };
    }),
  ];
  return all.length === 0 ? {} : { tools: all };
}

function merged(usual: ProviderOptions | undefined, own: ProviderOptions | undefined): ProviderOptions | undefined {
  if (usual === undefined || own === undefined) return own ?? usual;
  const names = [...new Set([...Object.keys(usual), ...Object.keys(own)])];
  return Object.fromEntries(names.map((name) => [name, { ...usual[name], ...own[name] }]));
}
