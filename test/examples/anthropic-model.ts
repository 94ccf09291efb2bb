// A model port over `@anthropic-ai/sdk`, for who moves a loop of their own: copy it and anthropic-blocks.ts.
import Anthropic from '@anthropic-ai/sdk';
import {
  type FinishReason,
  type Json,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
} from '../../src/index.js';
import { fromBlock, toBlock, toParam } from './anthropic-blocks.js';

const FINISH: { readonly [reason: string]: FinishReason } = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'continue',
  refusal: 'content-filter',
};

export function anthropicModel(client: Anthropic, model: string, maxTokens = 16_000): Model {
  return {
    id: `anthropic/${model}`,
    contextTokens: 200_000,
    async call(request, { signal, emit }) {
      try {
        // The turn retries. Two more tries of the SDK would multiply its attempts and hide Retry-After.
        const stream = client.messages.stream(bodyOf(request, model, maxTokens), { signal, maxRetries: 0 });
        stream.on('streamEvent', (event, message) => {
          const delta = event.type === 'content_block_delta' ? deltaOf(event, message) : undefined;
          if (delta !== undefined) emit(delta);
        });
        return answerOf(await stream.finalMessage());
      } catch (error) {
        if (signal.aborted) throw signal.reason; // an abort can look like any error
        throw modelError(error);
      }
    },
  };
}

function bodyOf(
  { instructions, messages, tools, toolChoice, settings }: ModelRequest,
  model: string,
  maxTokens: number,
) {
  const list = messages.map(toParam).map((message) => ({ ...message, content: withoutBreakpoints(message.content) }));
  // The moving breakpoint is on the last block of this request, and stored nowhere: the fifth would be refused.
  const last = list.at(-1)?.content.at(-1);
  if (last !== undefined && !last.type.includes('thinking'))
    Object.assign(last, { cache_control: { type: 'ephemeral' } });
  const { maxOutputTokens: max_tokens = maxTokens, temperature, stopSequences } = settings;
  const body: Anthropic.MessageStreamParams = {
    model,
    max_tokens,
    messages: list,
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stop_sequences: [...stopSequences] }),
    ...(instructions.length === 0 ? {} : { system: instructions.map(systemBlock) }),
  };
  if (tools.length === 0) return body;
  // For the choice none they stay: a history with calls and no tools is refused.
  const choice = toolChoice === 'required' ? 'any' : toolChoice;
  body.tool_choice = typeof choice === 'object' ? { type: 'tool', name: choice.tool } : { type: choice };
  body.tools = tools.map(({ name, description = '', inputSchema }) => {
    return { name, description, input_schema: inputSchema as unknown as Anthropic.Tool.InputSchema };
  });
  return body;
}

function systemBlock({ content, providerOptions }: ModelRequest['instructions'][number]): Anthropic.TextBlockParam {
  return toBlock({
    type: 'text',
    text: content,
    ...(providerOptions && { providerOptions }),
  }) as Anthropic.TextBlockParam;
}

function withoutBreakpoints(content: readonly Anthropic.ContentBlockParam[]): Anthropic.ContentBlockParam[] {
  return content.map((block) => {
    const { cache_control: _breakpoint, ...rest } = block as { cache_control?: unknown };
    return rest as Anthropic.ContentBlockParam;
  });
}

function deltaOf(
  { index, delta }: Anthropic.RawContentBlockDeltaEvent,
  message: Anthropic.Message,
): ModelDelta | undefined {
  const id = String(index);
  const block = message.content[index];
  if (delta.type === 'text_delta') return { type: 'text', id, text: delta.text };
  if (delta.type === 'thinking_delta') return { type: 'reasoning', id, text: delta.thinking };
  if (delta.type !== 'input_json_delta' || block?.type !== 'tool_use') return undefined;
  return { type: 'tool-input', toolCallId: block.id, toolName: block.name, text: delta.partial_json };
}

function answerOf({ content, stop_reason, usage, model, id }: Anthropic.Message): ModelAnswer {
  // The SDK takes a stream that was closed too early for a whole one.
  if (stop_reason === null) throw new ModelError('network', 'the stream ended before the answer did');
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage;
  const [cacheRead, cacheWrite] = [cache_read_input_tokens ?? 0, cache_creation_input_tokens ?? 0];
  return {
    content: content.map(fromBlock),
    finish: { reason: FINISH[stop_reason] ?? 'other', raw: stop_reason },
    usage: {
      input: { total: input_tokens + cacheRead + cacheWrite, cacheRead, cacheWrite },
      output: { total: output_tokens },
      raw: JSON.parse(JSON.stringify(usage)) as Json,
    },
    modelId: model,
    responseId: id,
  };
}

const KIND_OF_TYPE: { readonly [type: string]: ModelErrorKind } = {
  rate_limit_error: 'rateLimited',
  overloaded_error: 'overloaded',
  authentication_error: 'auth',
  permission_error: 'auth',
  request_too_large: 'contextLength',
  not_found_error: 'rejected',
  billing_error: 'rejected',
  invalid_request_error: 'rejected',
};

function modelError(error: unknown): unknown {
  if (error instanceof ModelError || !(error instanceof Anthropic.AnthropicError)) return error;
  const { status, type, headers } = (error instanceof Anthropic.APIError ? error : {}) as Partial<
    InstanceType<typeof Anthropic.APIError>
  >;
  const named = status === 429 ? 'rateLimited' : status === 503 ? 'overloaded' : KIND_OF_TYPE[type ?? ''];
  // Without a status nobody answered, or the stream broke.
  const kind = named ?? (status === undefined || status >= 500 || status === 408 ? 'network' : 'rejected');
  const isTooLong = kind === 'rejected' && /prompt is too long|context (window|limit)/i.test(error.message);
  const wait = waitOf(headers);
  const options = { cause: error, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
  return new ModelError(isTooLong ? 'contextLength' : kind, error.message, options);
}

/** ms, seconds, or a date. */
function waitOf(headers: Headers | undefined): number | undefined {
  const [ms, after] = [headers?.get('retry-after-ms'), headers?.get('retry-after')];
  const wait = ms ? Number(ms) : after ? Number(after) * 1000 : Number.NaN;
  const until = Number.isNaN(wait) ? Date.parse(after ?? '') - Date.now() : wait;
  return Number.isNaN(until) ? undefined : Math.max(0, until);
}
