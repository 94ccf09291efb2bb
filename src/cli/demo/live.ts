/**
 * Owns the story of a turn with a real model: what it is told, how it is reached, and which effects the turn must have
 * had by what it asked for. Must not trust the model: it may skip calls, make others, or make them twice.
 */
import type { Message, Model } from '../../index.js';
import { checklist, INSTRUCTIONS } from './script.js';
import type { AskedCall, Expected, Live, Story } from './story.js';

/** A model thinks, and a server may have to load it first. */
const MOST_MS = 15 * 60_000;

export const LIVE_INSTRUCTIONS = `${INSTRUCTIONS}

Work through these steps, one after the other. Make all calls of a step in one answer, with exactly these inputs; a call
that stands there twice is made twice. After the last step say what was done, and make no more calls.

${checklist()}`;

/** The key of the server, where it needs one. A name of its own, so that no key goes where it was not meant to. */
const KEY = 'DEMO_API_KEY';

/** What is missing to reach a model, as a line for people; null where nothing is. */
export async function missingFor(live: Live | null): Promise<string | null> {
  if (live === null) return null;
  try {
    await import('@ai-sdk/openai-compatible');
    return null;
  } catch {
    return '--base-url needs the package @ai-sdk/openai-compatible: npm install @ai-sdk/openai-compatible';
  }
}

export async function liveModel({ baseUrl, model }: Live): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const { fromLanguageModel } = await import('../../ai-sdk/index.js');
  const apiKey = process.env[KEY];
  const server = createOpenAICompatible({
    name: 'demo',
    baseURL: baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return fromLanguageModel(server.chatModel(model));
}

export const liveStory = (live: Live): Story => ({
  live,
  about: `a small release, as ${live.model} does it at ${live.baseUrl}`,
  mostMs: MOST_MS,
  labelOf(callId, toolName) {
    const [answer = 0, index = 0] = callId.split('.').slice(-2).map(Number);
    return `${toolName} ${answer}.${index + 1}`;
  },
  expected: effectsOf,
});

/** The calls of a transcript, and which of them succeeded. */
export function askedIn(messages: readonly Message[]): readonly AskedCall[] {
  let answer = 0;
  return messages.flatMap((message, at): readonly AskedCall[] => {
    if (message.role !== 'assistant') return [];
    answer += 1;
    const behind = messages[at + 1];
    const results = behind?.role === 'tool' ? behind.content : [];
    return message.content.flatMap((part): readonly AskedCall[] => {
      if (part.type !== 'tool-call') return [];
      const result = results.find((one) => one.type === 'tool-result' && one.toolCallId === part.toolCallId);
      const type = result?.type === 'tool-result' ? result.output.type : 'error-text';
      const succeeded = type !== 'execution-denied' && !type.startsWith('error');
      return [{ answer, tool: part.toolName, input: part.input as AskedCall['input'], succeeded }];
    });
  });
}

/**
 * What must have happened where these calls succeeded, and nothing else may have. A file that was written in more than
 * one way is left out: which way came last is the model's business.
 */
function effectsOf(asked: readonly AskedCall[]): readonly Expected[] {
  const done = asked.filter(({ succeeded }) => succeeded);
  const rows = new Map<string, Expected>();
  for (const { answer, tool, input } of done) {
    const [to, text, path, line] = [input.to, input.text, input.path, input.line].map(String) as [
      string,
      string,
      string,
      string,
    ];
    const known = rows.get(JSON.stringify([tool, to, text, path, line]));
    const others = done.filter(
      (other) => other.input.path === input.path && other.tool !== 'read_file' && other.tool !== 'run_tests',
    );
    const isOnlyAppended = others.every((other) => other.tool === 'append_line');
    const isLastWritten = others.every(
      (other) => other.tool === 'write_file' && (other.answer < answer || other.input === input),
    );
    if (known !== undefined) known.times += 1;
    else if (tool === 'post' || tool === 'publish') add({ kind: 'posted', name: `${tool} ${to}`, to, text, times: 1 });
    else if (tool === 'append_line' && isOnlyAppended)
      add({ kind: 'appended', name: `${tool} ${path}`, path, line, times: 1 });
    else if (tool === 'write_file' && isLastWritten)
      add({ kind: 'written', name: `${tool} ${path}`, path, text, times: 1 });
    function add(row: Expected): void {
      rows.set(JSON.stringify([tool, to, text, path, line]), row);
    }
  }
  return [...rows.values()];
}
