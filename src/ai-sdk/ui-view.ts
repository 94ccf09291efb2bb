/**
 * Owns which messages of its turn a client lacks, by a view of the session and what compactions took out of its list.
 * Must not know chunks.
 */
import type { FollowEvent, SessionView } from '../core/events.js';
import type { StoredMessage } from '../core/messages.js';
import type { Place } from './ui-place.js';

/** A view of the session, as an event. */
export type View = FollowEvent & { readonly type: 'snapshot' };

/** There is no turn to read: the client named none, and none is in progress. */
export const isIdle = ({ turnId }: Place, { inProgress }: SessionView): boolean => turnId === '' && !inProgress;

/**
 * The list of the view has everything the client lacks. To read the archive costs all that compactions ever took out of
 * the session, so that is left to those for whom a part of their turn may be in it.
 */
export function isEnough(view: View, place: Place): boolean {
  if (isIdle(place, view)) return true;
  const { messages } = view;
  if (place.last !== '') return messages.some(({ meta }) => meta.id === place.last);
  const turnId = place.turnId === '' ? view.turnId : place.turnId;
  const first = messages.findIndex(({ meta }) => meta.turnId === turnId);
  // A turn begins behind the message of another one. Where a summary stands between them, so did what it is of.
  const edge = messages.slice(Math.max(0, first - 1), first + 1);
  return edge.length === 2 && edge.every(({ meta }) => meta.origin !== 'summary');
}

export interface Messages {
  /** Those the client has. */
  readonly told: readonly StoredMessage[];
  readonly untold: readonly StoredMessage[];
}

/** The messages of the turn, in their order. `archived`: what compactions took out of the list. */
export function messagesOf(view: View, archived: readonly StoredMessage[], { turnId, last }: Place): Messages {
  const all = [...archived, ...view.messages].filter(({ meta }) => meta.turnId === turnId);
  // A message that a compaction takes out at this moment may be in both: it is one.
  const own = [...new Map(all.map((stored) => [stored.meta.id, stored])).values()];
  const at = own.findIndex(({ meta }) => meta.id === last);
  // A rewind takes away from the end: where the client's last message is gone, it has all that is left.
  const end = at === -1 && last !== '' ? own.length : at + 1;
  return { told: own.slice(0, end), untold: own.slice(end) };
}
