// The streaming protocol of OpenAI-compatible servers: chunks of one choice, and [DONE].
import type { Frame, Reply } from './loopback.js';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** One chunk of the answer. */
export const chunk = (delta: object, more: { finish_reason?: string; usage?: object } = {}): string => {
  const { usage, finish_reason = null } = more;
  return data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'm-2026',
    choices: [{ index: 0, delta, finish_reason }],
    ...(usage === undefined ? {} : { usage }),
  });
};

export const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

export interface OpenAIAnswer {
  readonly reasoning?: readonly string[];
  readonly text?: readonly string[];
  /** Arguments come in two pieces. */
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish?: string;
}

export function frames(answer: OpenAIAnswer): readonly string[] {
  const calls = (answer.calls ?? []).flatMap((call, index) => {
    const half = Math.ceil(call.arguments.length / 2);
    const [first, second] = [call.arguments.slice(0, half), call.arguments.slice(half)];
    return [
      chunk({
        tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: first } }],
      }),
      chunk({ tool_calls: [{ index, function: { arguments: second } }] }),
    ];
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(answer.reasoning ?? []).map((text) => chunk({ reasoning_content: text })),
    ...(answer.text ?? []).map((text) => chunk({ content: text })),
    ...calls,
    chunk({}, { finish_reason: answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }),
    chunk({}, { usage: USAGE }),
    'data: [DONE]\n\n',
  ];
}

export const openaiAnswer = (answer: OpenAIAnswer): Reply => ({ frames: frames(answer) as readonly Frame[] });

export const openaiError = (status: number, error: object, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { error },
});
