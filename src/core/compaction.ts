/**
 * Owns how a list becomes shorter: what a compactor's answer makes of it, and whether that is worth it.
 * Must not know how summaries are made.
 */
import type { Message, StoredMessage, UserMessage } from './messages.js';
import { shown } from './shown.js';

/** What a compactor gives: a text for what goes, and the first message that stays. Messages themselves it cannot touch. */
export interface Compacted {
  readonly summary: string;
  /** Id of the first message that is kept. */
  readonly keepFrom: string;
}

export type CompactionResult =
  | {
      readonly ok: true;
      readonly list: readonly StoredMessage[];
      /** What left the list, in its order. */
      readonly removed: readonly StoredMessage[];
    }
  | { readonly ok: false; readonly reason: string };

/** Of the context; more tokens than that in one answer's request ask for a shorter list. */
export const COMPACT_ABOVE = 0.8;
/** A compaction has to win this much. A refused one is not tried again until the list has grown by as much. */
export const WORTHWHILE = 0.1;

/** Characters of JSON that a token stands for, roughly. */
export const CHARS_PER_TOKEN = 3;

/** Messages never change, so each is measured once: after a refusal the whole list is measured behind every batch. */
const sizes = new WeakMap<Message, number>();

function sizeOfMessage(message: Message): number {
  let size = sizes.get(message);
  if (size === undefined) {
    size = JSON.stringify(message).length;
    sizes.set(message, size);
  }
  return size;
}

/** Size of a list, in characters of its JSON: a measure for comparing lists, not for counting tokens. */
export const sizeOf = (list: readonly StoredMessage[]): number =>
  list.reduce((sum, { message }) => sum + sizeOfMessage(message), 0);

/**
 * The first user message stays: it says what all of this is for. A kept answer keeps its results, and nothing that is
 * kept is edited, so pairs and reasoning stay whole (case C1).
 */
export function applyCompaction(
  list: readonly StoredMessage[],
  compacted: Compacted,
  make: (message: UserMessage) => StoredMessage,
): CompactionResult {
  if (typeof compacted !== 'object' || compacted === null) {
    return { ok: false, reason: 'the compactor gave no { summary, keepFrom }' };
  }
  const { summary, keepFrom } = compacted;
  if (typeof summary !== 'string' || summary.trim() === '') return { ok: false, reason: 'the summary is empty' };
  const named = list.findIndex((stored) => stored.meta.id === keepFrom);
  if (named === -1) return { ok: false, reason: `keepFrom names no message of the list: ${shown(keepFrom)}` };
  const keep = withCalls(list, named);
  const first = list.findIndex((stored) => stored.message.role === 'user');
  const kept = (index: number): boolean => index >= keep || index === first;
  const removed = list.filter((_, index) => !kept(index));
  if (removed.length === 0) return { ok: false, reason: 'nothing would be removed' };
  const text = `Summary of what happened so far:\n${summary.toWellFormed()}`;
  const head = first !== -1 && first < keep ? [list[first] as StoredMessage] : [];
  const summarised = [...head, make({ role: 'user', content: [{ type: 'text', text }] }), ...list.slice(keep)];
  if (sizeOf(summarised) > sizeOf(list) * (1 - WORTHWHILE)) return { ok: false, reason: 'not shorter by a tenth' };
  return { ok: true, list: summarised, removed };
}

/** Where the kept part has to begin so that no result in it is without its call, whoever ran that. */
function withCalls(list: readonly StoredMessage[], from: number): number {
  let keep = from;
  while (keep > 0 && list[keep]?.message.role === 'tool') keep -= 1;
  const calls = new Set<string>();
  const open = new Set<string>();
  for (const { message } of list.slice(keep)) {
    if (message.role !== 'assistant' && message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type === 'tool-call') calls.add(part.toolCallId);
      else if (part.type === 'tool-result' && !calls.has(part.toolCallId)) open.add(part.toolCallId);
    }
  }
  // Providers may give the result of a call they run themselves many messages later.
  const owner = list.findLastIndex(
    ({ message }, index) =>
      index < keep &&
      message.role === 'assistant' &&
      message.content.some((part) => part.type === 'tool-call' && open.has(part.toolCallId)),
  );
  return owner === -1 ? keep : withCalls(list, owner);
}
