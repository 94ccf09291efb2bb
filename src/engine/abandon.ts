/**
 * Owns what it means that a turn is abandoned. Must not know which gate said so.
 */

import type { Lease } from '../core/ports.js';
import type { Head } from '../core/records.js';
import type { HeadWriter } from './head-writer.js';
import { outcomeRecord, withDue } from './outcome.js';
import { readable } from './readable.js';
import type { Roster } from './roster.js';
import { TurnRecords } from './turn-records.js';
import type { Written } from './written.js';

/**
 * Abandoned is not a phase: only the head says so. The checkpoint stays, a person may still resume the turn until
 * another one starts; its doubts are listed.
 */
export async function abandon(
  roster: Roster,
  writer: HeadWriter,
  lease: Lease | null,
  { gate, reason }: { readonly gate: string; readonly reason: string },
): Promise<void> {
  const { settings } = roster;
  const { head } = writer;
  const at = settings.clock.now();
  const turnId = head.turnId as string;
  const outcome = { status: 'abandoned', reason, text: '', usage: head.usage } as const;
  const patch: Partial<Head> = {
    inProgress: false,
    waiting: null,
    ended: { kind: 'abandoned', gate, reason, at },
    outcomesDue: settings.onOutcome === undefined ? head.outcomesDue : withDue(head.outcomesDue, turnId),
  };
  const record = outcomeRecord(outcome, turnId, head, head.modelCalls, at);
  const doubts = await doubtsOf(roster, head);
  await writer.write(
    writer.next({ ...doubts?.written.parts, outcomes: [record] }, lease, doubts?.written.patch ?? {}, patch),
  );
  const turn = { sessionId: head.sessionId, turnId };
  if (doubts !== undefined) roster.announcer.written(turn, doubts.records.markWritten(doubts.written));
  roster.endResting(turn, outcome);
}

/** Calls that were under way are in doubt now, and listed for a person - where the journal can still be read. */
async function doubtsOf(
  roster: Roster,
  head: Head,
): Promise<{ readonly records: TurnRecords; readonly written: Written } | undefined> {
  const session = await readable(() => roster.store.load(head.sessionId));
  if (session === undefined) return undefined;
  const records = new TurnRecords(head.turnId as string, session, roster.settings);
  records.journal.loseDispatched('crash');
  return { records, written: records.factsToWrite(true) };
}
