// Anthropic's streaming protocol: a message that starts, blocks in pieces, a delta with the reason it stopped.
import type { Reply } from './loopback.js';

export const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const PING = event('ping');

export const USAGE = {
  input_tokens: 100,
  cache_creation_input_tokens: 30,
  cache_read_input_tokens: 50,
  output_tokens: 1,
};

export const start = (): string =>
  event('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-2026',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: USAGE,
    },
  });

export const end = (stop_reason: string): readonly string[] => [
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } }),
  event('message_stop'),
];

type Block = Readonly<Record<string, any>> & { readonly type: string };

/** The pieces of a block as the provider streams them. */
export function blockFrames(block: Block, index: number): readonly string[] {
  const piece = (delta: object) => event('content_block_delta', { index, delta });
  const begin = (content_block: object) => event('content_block_start', { index, content_block });
  const stop = event('content_block_stop', { index });
  switch (block.type) {
    case 'text': {
      const citations = (block.citations ?? []).map((citation: object) => piece({ type: 'citations_delta', citation }));
      const said = split(block.text).map((text) => piece({ type: 'text_delta', text }));
      return [begin({ type: 'text', text: '' }), ...said, ...citations, stop];
    }
    case 'thinking': {
      const thought = split(block.thinking).map((thinking) => piece({ type: 'thinking_delta', thinking }));
      const signed = piece({ type: 'signature_delta', signature: block.signature });
      return [begin({ type: 'thinking', thinking: '', signature: '' }), ...thought, signed, stop];
    }
    case 'tool_use':
    case 'server_tool_use': {
      const { input, ...rest } = block;
      const text = typeof input === 'string' ? input : JSON.stringify(input);
      const json = split(text).map((partial_json) => piece({ type: 'input_json_delta', partial_json }));
      return [begin({ ...rest, input: {} }), ...json, stop];
    }
    default:
      return [begin(block), stop];
  }
}

/** In two pieces; nothing in none. */
function split(text: string): readonly string[] {
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== '');
}

export const blocks = (...content: readonly Block[]): readonly string[] => content.flatMap(blockFrames);

export const anthropicAnswer = (content: readonly Block[], stop_reason = 'end_turn'): Reply => ({
  frames: [start(), PING, ...blocks(...content), ...end(stop_reason)],
});

export const anthropicError = (
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): Reply => ({ status, headers, body: { type: 'error', error: { type, message } } });
