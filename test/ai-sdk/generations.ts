// The provider packages of three generations of the AI SDK, each over both protocols, and what a test asks of them.

import { createAnthropic as anthropicV3 } from '@ai-sdk/anthropic';
import { createOpenAICompatible as openaiV3 } from '@ai-sdk/openai-compatible';
import { createAnthropic as anthropicV2 } from 'ai-sdk-anthropic-v2';
import { createAnthropic as anthropicV4 } from 'ai-sdk-anthropic-v4';
import { createOpenAICompatible as openaiV2 } from 'ai-sdk-openai-compatible-v2';
import { createOpenAICompatible as openaiV4 } from 'ai-sdk-openai-compatible-v4';
import type { AnyLanguageModel } from '../../src/ai-sdk/index.js';
import type { Message, Model, ModelAnswer, ModelDelta, ModelRequest } from '../../src/index.js';
import { ModelError } from '../../src/index.js';

const KEY = 'key-for-the-loopback';
const open = (baseURL: string) => ({ name: 'loopback', baseURL, apiKey: KEY, includeUsage: true });
const own = (baseURL: string) => ({ baseURL, apiKey: KEY });

export interface Generation {
  readonly version: 'v2' | 'v3' | 'v4';
  openai(url: string): AnyLanguageModel;
  anthropic(url: string): AnyLanguageModel;
}

export const GENERATIONS: readonly Generation[] = [
  {
    version: 'v2',
    openai: (url) => openaiV2(open(url)).chatModel('m'),
    anthropic: (url) => anthropicV2(own(url))('claude-opus-4-1'),
  },
  {
    version: 'v3',
    openai: (url) => openaiV3(open(url)).chatModel('m'),
    anthropic: (url) => anthropicV3(own(url))('claude-opus-4-1'),
  },
  {
    version: 'v4',
    openai: (url) => openaiV4(open(url)).chatModel('m'),
    anthropic: (url) => anthropicV4(own(url))('claude-opus-4-1'),
  },
];

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

export const requestOf = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: [],
  tools: [],
  toolChoice: 'auto',
  settings: {},
  ...more,
  messages,
});

export const WEATHER = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

export interface Called {
  readonly answer: ModelAnswer;
  readonly deltas: readonly ModelDelta[];
}

/** One call of the port, as the engine makes it. */
export async function ask(
  model: Model,
  messages: readonly Message[] = [user('hello')],
  more: Partial<ModelRequest> & { readonly signal?: AbortSignal; readonly onDelta?: (delta: ModelDelta) => void } = {},
): Promise<Called> {
  const deltas: ModelDelta[] = [];
  const { signal = new AbortController().signal, onDelta, ...request } = more;
  const emit = (delta: ModelDelta) => {
    deltas.push(delta);
    onDelta?.(delta);
  };
  const call = { signal, emit, sessionId: 's', turnId: 's.t', modelCall: 0, attempt: 0 };
  return { answer: await model.call(requestOf(messages, request), call), deltas };
}

/** How a call failed. */
export async function failureOf(called: Promise<unknown>): Promise<ModelError> {
  const thrown = await called.then(
    () => new Error('the call did not fail'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ModelError)) throw thrown;
  return thrown;
}
