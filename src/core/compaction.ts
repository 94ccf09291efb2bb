/**
 * Owns how a list becomes shorter: what a compactor's answer makes of it, and whether that is worth it.
 * Must not know how summaries are made.
 */
import type { StoredMessage, UserMessage } from './messages.js';

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

/** Size of a list, in characters of its JSON: a measure for comparing lists, not for counting tokens. */
export const sizeOf = (list: readonly StoredMessage[]): number =>
  list.reduce((sum, { message }) => sum + JSON.stringify(message).length, 0);

/**
 * The first user message stays: it says what all of this is for. A kept answer keeps its results, and nothing that is
 * kept is edited, so pairs and reasoning stay whole (case C1).
 */
export function applyCompaction(
  list: readonly StoredMessage[],
  { summary, keepFrom }: Compacted,
  make: (message: UserMessage) => StoredMessage,
): CompactionResult {
  if (typeof summary !== 'string' || summary.trim() === '') return { ok: false, reason: 'the summary is empty' };
  let keep = list.findIndex((stored) => stored.meta.id === keepFrom);
  if (keep === -1) return { ok: false, reason: `keepFrom names no message of the list: ${String(keepFrom)}` };
  // Results belong to the answer in front of them.
  while (keep > 0 && list[keep]?.message.role === 'tool') keep -= 1;
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
