/**
 * Owns what a language model is asked: the options of one call in its specification.
 * Must not know answers.
 */
import type { Message, ProviderOptions } from '../core/messages.js';
import type { ModelCall, ModelRequest, ToolSpec } from '../core/model.js';
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

export function callOptions(
  model: AnyLanguageModel,
  options: LanguageModelOptions,
  request: ModelRequest,
  { signal }: ModelCall,
): Fields {
  const { specificationVersion: version } = model;
  const { settings } = request;
  const { maxOutputTokens, temperature, stopSequences, reasoning, responseSchema, headers } = settings;
  const providerOptions = merged(options.providerOptions, request.providerOptions);
  return {
    prompt: promptOf(request, version, options.cacheBreakpoint),
    ...toolsOf(request, options.providerTools ?? {}, version),
    toolChoice: toolChoiceOf(model, request),
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

/**
 * The V2 package of Anthropic leaves the tools out for the choice `none`, and Anthropic refuses a history with calls then.
 * The tools stay and may be called: what an answer calls that must not is paired by the turn, and never runs.
 */
const dropsTools = (
  { specificationVersion, provider }: AnyLanguageModel,
  { toolChoice, messages }: ModelRequest,
): boolean =>
  toolChoice === 'none' &&
  specificationVersion === 'v2' &&
  provider.includes('anthropic') &&
  messages.some(({ role, content }) => role === 'assistant' && content.some(({ type }) => type === 'tool-call'));

function toolChoiceOf(model: AnyLanguageModel, request: ModelRequest): Fields {
  const { toolChoice } = request;
  if (dropsTools(model, request)) return { type: 'auto' };
  return typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: toolChoice.tool };
}

/** What is asked for and not sent. */
export function warningsOf(model: AnyLanguageModel, request: ModelRequest): readonly string[] {
  const { specificationVersion: version } = model;
  const none = dropsTools(model, request)
    ? [`toolChoice: "none" is sent as "auto" to ${model.provider} (${version})`]
    : [];
  const unsent = version === 'v2' ? request.tools.flatMap(beyondV2) : [];
  if (request.settings.reasoning !== undefined && version !== 'v4') {
    unsent.push('settings.reasoning: before specification v4 it is one of the providerOptions, and is not sent');
  }
  return [...none, ...unsent];
}

/** What V2 has no place for. */
const beyondV2 = (tool: ToolSpec): string[] =>
  (['strict', 'inputExamples'] as const)
    .filter((field) => tool[field] !== undefined)
    .map((field) => `tools.${tool.name}.${field}: specification v2 has no place for it, and it is not sent`);

function functionTool({ strict, inputExamples, ...tool }: ToolSpec, version: SpecificationVersion): Fields {
  const more = {
    ...(strict === undefined ? {} : { strict }),
    ...(inputExamples === undefined ? {} : { inputExamples: inputExamples.map((input) => ({ input })) }),
  };
  return { type: 'function', ...tool, ...(version === 'v2' ? {} : more) };
}

/** Tools stay in the request whatever the choice is: a history with calls and no tools is refused by providers. */
function toolsOf(
  { tools }: ModelRequest,
  providerTools: NonNullable<LanguageModelOptions['providerTools']>,
  version: SpecificationVersion,
): Fields {
  const type = version === 'v2' ? 'provider-defined' : 'provider';
  const all = [
    ...tools.filter(({ name }) => !Object.hasOwn(providerTools, name)).map((tool) => functionTool(tool, version)),
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
