/**
 * Owns going back in a conversation: the list that is left, and what that means for the journal of the turns whose
 * messages go. Must not know the turn that begins there.
 */
import { TurnError } from '../core/errors.js';
import { localCalls, type StoredMessage } from '../core/messages.js';
import { withShown } from '../core/outputs.js';
import type { TurnStore } from '../core/ports.js';
import type { CallRecord, ReviewRecord } from '../core/records.js';
import { openAnswer } from '../core/transcript.js';
import type { CommitParts } from './head-writer.js';
import { readable } from './readable.js';

/** The list of a session, and what a commit changes in its journal. */
export interface ListWithJournal {
  readonly messages: readonly StoredMessage[];
  readonly calls: NonNullable<CommitParts['calls']>;
}

/**
 * The list goes on behind the message `after`. Records of calls that no message names any more go; those that a person
 * still has to settle stay.
 * @throws {TurnError} TURN_NOT_FOUND where the list has no such message.
 */
export async function rewind(
  store: TurnStore,
  { messages, calls }: ListWithJournal,
  reviews: readonly ReviewRecord[],
  after: string,
): Promise<ListWithJournal> {
  const index = messages.findIndex((stored) => stored.meta.id === after);
  if (index === -1) throw new TurnError('TURN_NOT_FOUND', `after: the transcript has no message "${after}"`);
  const kept = messages.slice(0, index + 1);
  const removed = messages.slice(index + 1).filter(({ message }) => localCalls(message).length > 0);
  const open = openAnswer(kept);
  const journal = await journalOf(store, open === undefined ? removed : [open, ...removed]);
  const [gone, doubted] = [new Set(removed.map(({ meta }) => meta.id)), new Set(reviews.map(({ callId }) => callId))];
  const remove = journal.filter(({ messageId, callId }) => gone.has(messageId) && !doubted.has(callId));
  const put = new Map(calls.put.map((call) => [call.callId, call]));
  for (const { callId } of remove) put.delete(callId);
  // The results behind the last answer go and the answer stays: what they said whole is kept with its calls.
  const bare = journal.filter(({ messageId }) => messageId === open?.meta.id);
  const current = bare.map((call) => put.get(call.callId) ?? call);
  for (const [at, call] of withShown(current, messages).entries()) if (call !== current[at]) put.set(call.callId, call);
  return { messages: kept, calls: { put: [...put.values()], remove: remove.map(({ callId }) => callId) } };
}

/** The records of the turns that these answers are of. A journal that cannot be read stays as it is. */
async function journalOf(store: TurnStore, answers: readonly StoredMessage[]): Promise<readonly CallRecord[]> {
  const calls: CallRecord[] = [];
  for (const turnId of new Set(answers.map(({ meta }) => meta.turnId))) {
    // What was imported is of no turn.
    if (turnId !== '') calls.push(...((await readable(() => store.callsOf(turnId))) ?? []));
  }
  return calls;
}
