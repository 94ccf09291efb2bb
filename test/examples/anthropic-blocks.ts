// Blocks of the Anthropic SDK as parts of messages, and back as they were: block types and fields this file has never
// heard of included. Keys are those of `@ai-sdk/anthropic`, so that a session may move between the two.
import type Anthropic from '@anthropic-ai/sdk';
import type { AssistantPart, Json, Message, ToolOutput, UserPart } from '../../src/index.js';

type Param = Anthropic.ContentBlockParam;
type Fields = { readonly [name: string]: Json };

const options = (fields: { [name: string]: unknown }): { providerOptions?: { anthropic: Fields } } => {
  const told = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return told.length === 0 ? {} : { providerOptions: { anthropic: Object.fromEntries(told) as Fields } };
};
/** What a block has beyond the fields this file reads. */
const beyond = (rest: Fields): { rest?: Fields } => (Object.keys(rest).length === 0 ? {} : { rest });
const whole = (block: { readonly type: string }) =>
  ({ type: 'custom', kind: `anthropic.${block.type}`, ...options({ block }) }) as const;

export function fromBlock(block: Anthropic.ContentBlock): AssistantPart {
  // The SDK hangs more on a block than the provider sent: a copy has only what can be stored.
  const copy = JSON.parse(JSON.stringify(block)) as Anthropic.ContentBlock;
  switch (copy.type) {
    case 'text': {
      const { type, text, citations, ...rest } = copy;
      return { type, text, ...options({ citations, ...beyond(rest) }) };
    }
    case 'thinking': {
      const { type: _type, thinking, signature, ...rest } = copy;
      return { type: 'reasoning', text: thinking, ...options({ signature, ...beyond(rest) }) };
    }
    case 'redacted_thinking': {
      const { type: _type, data, ...rest } = copy;
      return { type: 'reasoning', text: '', ...options({ redactedData: data, ...beyond(rest) }) };
    }
    case 'tool_use': {
      const { type: _type, id, name, input, caller, ...rest } = copy as typeof copy & { input: Json };
      return {
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input,
        ...options({ caller, ...beyond(rest as unknown as Fields) }),
      };
    }
    default:
      return whole(copy);
  }
}

type AnyPart = AssistantPart | UserPart | Extract<ToolOutput, { type: 'content' }>['value'][number];
const own = (part: { readonly providerOptions?: AnyPart['providerOptions'] }): Fields =>
  part.providerOptions?.anthropic ?? {};

/** @throws {TypeError} for a part of another provider. */
export function toBlock(part: AnyPart): Param {
  const { rest, block, signature, redactedData, citations, caller, cacheControl } = own(part);
  const more = { ...(rest as Fields), ...(cacheControl === undefined ? {} : { cache_control: cacheControl }) };
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...(citations === undefined ? {} : { citations }), ...more } as Param;
    case 'reasoning':
      if (redactedData !== undefined) return { type: 'redacted_thinking', data: redactedData, ...more } as Param;
      return { type: 'thinking', thinking: part.text, signature, ...more } as Param;
    case 'tool-call': {
      const ran = caller === undefined ? {} : { caller };
      return {
        type: 'tool_use',
        id: part.toolCallId,
        name: part.toolName,
        input: part.input,
        ...ran,
        ...more,
      } as Param;
    }
    case 'file':
      return {
        type: part.mediaType.startsWith('image/') ? 'image' : 'document',
        source: sourceOf(part),
        ...more,
      } as unknown as Param;
    case 'custom':
      if (block !== undefined) return block as unknown as Param;
  }
  throw new TypeError(`there is no Anthropic block for a part of the type ${part.type}`);
}

function sourceOf({ data, mediaType }: Extract<UserPart, { type: 'file' }>): Fields {
  if (data.type === 'data') return { type: 'base64', media_type: mediaType, data: data.data };
  if (data.type === 'text') return { type: 'text', media_type: 'text/plain', data: data.text };
  if (data.type === 'url') return { type: 'url', url: data.url };
  return { type: 'file', file_id: data.reference.anthropic as string };
}

function toResult(output: ToolOutput): Pick<Anthropic.ToolResultBlockParam, 'content' | 'is_error'> {
  const failed = output.type === 'execution-denied' || output.type.startsWith('error') || own(output).isError === true;
  const said = (): Anthropic.ToolResultBlockParam['content'] => {
    if (output.type === 'execution-denied') return output.reason ?? 'The execution of this call was denied.';
    if (output.type === 'content')
      return output.value.map(toBlock) as Anthropic.ToolResultBlockParam['content'] & object;
    return typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
  };
  return { content: said() as string, ...(failed ? { is_error: true } : {}) };
}

export function toParam(message: Message): { role: 'user' | 'assistant'; content: Param[] } {
  if (message.role === 'system') throw new TypeError('instructions belong to the request, not to the list');
  if (message.role !== 'tool') return { role: message.role, content: message.content.map(toBlock) };
  const results = message.content.flatMap((part): Param[] =>
    part.type === 'tool-result'
      ? [{ type: 'tool_result', tool_use_id: part.toolCallId, ...toResult(part.output) }]
      : [],
  );
  return { role: 'user', content: results };
}

/** An old history, once, for `importSession`: results that live in user messages become messages of their own. */
export function fromHistory(history: readonly Anthropic.MessageParam[]): readonly Message[] {
  const names = new Map<string, string>();
  return history.flatMap(({ role, content }): Message[] => {
    if (role === 'system') throw new TypeError('instructions belong to the request, not to the list');
    const blocks: Param[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    for (const block of blocks) if (block.type === 'tool_use') names.set(block.id, block.name);
    if (role === 'assistant')
      return [{ role, content: blocks.map((block) => fromBlock(block as Anthropic.ContentBlock)) }];
    const results = blocks.flatMap((block) => {
      if (block.type !== 'tool_result') return [];
      const toolName = names.get(block.tool_use_id) ?? 'unknown';
      return [{ type: 'tool-result', toolCallId: block.tool_use_id, toolName, output: fromResult(block) } as const];
    });
    const rest = blocks.filter((block) => block.type !== 'tool_result').map(fromUserBlock);
    const tool = results.length === 0 ? [] : [{ role: 'tool', content: results } as const];
    return rest.length === 0 ? tool : [...tool, { role: 'user', content: rest }];
  });
}

function fromUserBlock(block: Param): UserPart {
  const isPlain = block.type === 'text' && Object.keys(block).length === 2;
  // Breakpoints of the old loop are in here too, whole: `anthropicModel` takes them out of its requests.
  return isPlain ? { type: 'text', text: block.text } : whole(block);
}

function fromResult({ content = '', is_error }: Anthropic.ToolResultBlockParam): ToolOutput {
  if (typeof content === 'string') return { type: is_error === true ? 'error-text' : 'text', value: content };
  const value = content.map((block) => {
    return block.type === 'text'
      ? { type: 'text' as const, text: block.text }
      : { type: 'custom' as const, ...options({ block }) };
  });
  return { type: 'content', value, ...options({ isError: is_error === true ? true : undefined }) };
}
