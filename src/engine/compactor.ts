/**
 * Owns the default compactor: it asks the model for a summary of the older part and keeps the recent one whole.
 * Must not know the chart or how a list is stored.
 */
import { CHARS_PER_TOKEN, type Compacted, sizeOf } from '../core/compaction.js';
import { type Message, type StoredMessage, textOf } from '../core/messages.js';
import type { Model } from '../core/model.js';

export interface CompactorCall {
  /** The engine's; what it is asked counts in the usage of the turn. */
  readonly model: Model;
  /** Aborts when the turn goes on without it. */
  readonly signal: AbortSignal;
  /** What the list should come down to. */
  readonly targetTokens: number;
  readonly sessionId: string;
  readonly turnId: string;
}

/** Makes a long list shorter. A throw, and a list that is not shorter by a tenth, refuse. */
export type Compactor = (messages: readonly StoredMessage[], call: CompactorCall) => Promise<Compacted>;

/** Part of the list, by size, that the default compactor keeps whole. */
const KEEP = 0.25;
const KEEP_MESSAGES = 4;
/** Characters of one result in what the model is asked to summarise. */
const RESULT_CHARS = 2_000;

const TASK =
  'Summarise the transcript above for the one who goes on with the task: the goal, decisions and their reasons, what was done with which result, names and ids that are still needed, and what is left to do. Facts only.';

export const summarise: Compactor = async (messages, call) => {
  const keep = keepFrom(messages);
  const transcript = excerpt(messages.slice(0, keep), call.targetTokens * CHARS_PER_TOKEN);
  const answer = await call.model.call(
    {
      instructions: [],
      // As text: a history with calls and no tools would be refused, and no call of it can be made again.
      messages: [{ role: 'user', content: [{ type: 'text', text: `${transcript}\n\n${TASK}` }] }],
      tools: [],
      toolChoice: 'none',
      settings: {},
    },
    {
      signal: call.signal,
      emit: () => undefined,
      sessionId: call.sessionId,
      turnId: call.turnId,
      modelCall: 0,
      attempt: 0,
    },
  );
  const summary = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { summary, keepFrom: messages[keep]?.meta.id ?? '' };
};

/** Index of the first message of the recent part: small enough, and never a result without its call. */
function keepFrom(messages: readonly StoredMessage[]): number {
  const bound = sizeOf(messages) * KEEP;
  let from = messages.length;
  let size = 0;
  while (from > 1) {
    size += sizeOf(messages.slice(from - 1, from));
    if (messages.length - from >= KEEP_MESSAGES && size > bound) break;
    from -= 1;
  }
  while (from > 0 && messages[from]?.message.role === 'tool') from -= 1;
  return from;
}

/**
 * What fits of the older part: the task and earlier summaries in any case - nobody else remembers what they say -, and
 * of the rest the newest.
 */
function excerpt(older: readonly StoredMessage[], chars: number): string {
  const texts = older.map((stored) => render(stored.message).slice(0, chars / 4));
  const first = older.findIndex((stored) => stored.message.role === 'user');
  const isKey = (index: number): boolean => index === first || older[index]?.meta.origin === 'summary';
  let left = chars - texts.reduce((sum, text, index) => sum + (isKey(index) ? text.length : 0), 0);
  let from = texts.length;
  while (from > 0 && left >= 0) {
    left -= isKey(from - 1) ? 0 : (texts[from - 1] as string).length;
    if (left >= 0) from -= 1;
  }
  const shown = texts.filter((_, index) => index >= from || isKey(index));
  // A text that was cut may end in half a character.
  return shown.join('\n\n').toWellFormed();
}

function render(message: Message): string {
  if (message.role !== 'assistant' && message.role !== 'tool') return `${message.role}: ${textOf(message)}`;
  const lines = message.content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'tool-call') return `calls ${part.toolName} ${JSON.stringify(part.input)}`;
    if (part.type === 'tool-result')
      return `${part.toolName} gave ${JSON.stringify(part.output)}`.slice(0, RESULT_CHARS);
    return `[${part.type}]`;
  });
  return `${message.role}: ${lines.join('\n')}`;
}
