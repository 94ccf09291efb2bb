/**
 * Owns what people do to a turn that no driver runs: it was only promised, is parked, interrupted, ended or
 * unreadable. Each of their words is a commit of its own, durable before it is told, whether the route is free or not.
 * Must not know how the turn goes on.
 */

import { allowTwins, canGoOn, type Decision, type DecisionResult, decide } from '../core/batch.js';
import { TurnError } from '../core/errors.js';
import type { TurnOutcome } from '../core/events.js';
import { NO_USAGE } from '../core/messages.js';
import type { Grant, Head } from '../core/records.js';
import type { HeadWriter } from './head-writer.js';
import { outputBytesOf } from './options.js';
import { outcomeOf, outcomeRecord, withDue } from './outcome.js';
import { readable } from './readable.js';
import type { Roster } from './roster.js';
import { type CallOutcome, errorText } from './tool-calls.js';
import { TurnRecords } from './turn-records.js';

export class RestingTurn {
  private readonly roster: Roster;
  private readonly writer: HeadWriter;
  private readonly records: TurnRecords;

  private constructor(roster: Roster, writer: HeadWriter, records: TurnRecords) {
    this.roster = roster;
    this.writer = writer;
    this.records = records;
  }

  /** @throws {TurnError} TURN_DAMAGED, TURN_NOT_FOUND */
  static async of(roster: Roster, head: Head): Promise<RestingTurn> {
    const session = await roster.store.load(head.sessionId);
    if (session === undefined) throw new TurnError('TURN_NOT_FOUND', `there is no session "${head.sessionId}"`);
    const writer = roster.writerOf(session.head);
    return new RestingTurn(roster, writer, new TurnRecords(head.turnId as string, session, roster.settings));
  }

  get head(): Head {
    return this.writer.head;
  }

  /** What became of a call in doubt. A turn that is over starts nothing any more. */
  async settle(callId: string, outcome: CallOutcome): Promise<void> {
    const { journal } = this.records;
    const settledAt = this.roster.settings.clock.now();
    if (outcome.kind === 'succeeded') {
      journal.advance(callId, 'call.succeeded', { output: outcome.output, settledAt, doubt: null });
    } else if (outcome.kind === 'failed') {
      const { output, definitive } = outcome;
      journal.advance(callId, 'call.failed', { output, definitive, settledAt, doubt: null });
    } else if (this.head.inProgress) {
      journal.advance(callId, 'call.notStarted', { doubt: null });
    } else {
      journal.advance(callId, 'call.failed', { output: errorText('The call never started.'), settledAt, doubt: null });
    }
    await this.write();
  }

  /** What a person decided about a call; a grant covers the other open calls of the same tool as well. */
  async decide(callId: string, decision: Decision, grantFor?: (tool: string) => Grant): Promise<DecisionResult> {
    const { journal, batch } = this.records;
    const now = this.roster.settings.clock.now();
    const result = decide(journal, callId, decision, now);
    if (result !== 'applied') return result;
    let twins: readonly string[] = [];
    if (grantFor !== undefined) {
      this.records.grant(grantFor(journal.get(callId)?.toolName as string));
      twins = allowTwins(journal, batch, callId, decision, now);
    }
    await this.write();
    const { sessionId } = this.head;
    const turn = { sessionId, turnId: this.records.turnId };
    const { by } = decision;
    for (const approvalId of twins)
      this.roster.announcer.announce({ type: 'approvalDecided', approvalId, allow: true, by }, turn, true);
    return result;
  }

  private async write(): Promise<void> {
    const { head } = this;
    const written = this.records.factsToWrite();
    const { approvals, reviews } = this.records.waitingFor();
    const waits = head.waiting !== null && approvals.length + reviews.length > 0 && !canGoOn(this.records.batch);
    const patch: Partial<Head> = {
      ...written.patch,
      waiting: waits ? { approvals, reviews, until: head.waiting?.until ?? null } : null,
      // A person's word is progress: the turn is neither stale nor stuck.
      ...(head.inProgress ? { lastProgressAt: this.roster.settings.clock.now(), attempts: 0 } : {}),
    };
    await this.writer.write(this.writer.next(written.parts, null, patch));
    const { sessionId } = this.head;
    this.roster.announcer.written({ sessionId, turnId: this.records.turnId }, this.records.markWritten(written));
  }
}

/** A turn without a driver: parked, interrupted, or unreadable. */
export async function cancelResting(roster: Roster, head: Head, reason: string | undefined): Promise<void> {
  const { store, settings } = roster;
  const at = settings.clock.now();
  const turnId = head.turnId as string;
  const session = await readable(() => store.load(head.sessionId));
  const records = session === undefined ? undefined : new TurnRecords(turnId, session, settings);
  records?.closeBatch(outputBytesOf(settings, head), 'cancel');
  const outcome: TurnOutcome =
    records === undefined
      ? { status: 'cancelled', ...(reason === undefined ? {} : { reason }), text: '', usage: head.usage }
      : outcomeOf('cancelled', null, records, { reason });
  const written = records?.checkpointToWrite(head, true);
  const patch: Partial<Head> = {
    ...written?.patch,
    inProgress: false,
    phase: 'cancelled',
    handedOver: false,
    waiting: null,
    ended: { kind: 'cancelled', ...(reason === undefined ? {} : { reason }), at },
    outcomesDue: settings.onOutcome === undefined ? head.outcomesDue : withDue(head.outcomesDue, turnId),
  };
  const outcomes = [outcomeRecord(outcome, turnId, head, head.modelCalls, at)];
  const writer = roster.writerOf(head);
  await writer.write(writer.next({ ...written?.parts, checkpoint: null, outcomes }, null, patch));
  const turn = { sessionId: head.sessionId, turnId };
  if (records !== undefined && written !== undefined) roster.announcer.written(turn, records.markWritten(written));
  // As a driver tells it: whoever watches phases sees the last one.
  roster.announcer.announce({ type: 'phase', phase: 'cancelled' }, turn, true);
  roster.endResting(turn, outcome);
}

/**
 * A turn that waits for its route has not begun: the input it would have begun with is taken back. Its id stays known,
 * so that whoever sends it again gets the end of this turn and starts no other one.
 */
export async function cancelPromised(
  roster: Roster,
  head: Head,
  turnId: string,
  reason: string | undefined,
): Promise<void> {
  const { store, settings, announcer } = roster;
  const { sessionId } = head;
  const inputs = await store.inbox(sessionId);
  const outcome: TurnOutcome = {
    status: 'cancelled',
    ...(reason === undefined ? {} : { reason }),
    text: '',
    usage: NO_USAGE,
  };
  // The head is that of the turn before.
  const unbegun: Head = { ...head, context: inputs[0]?.context ?? null, startedAt: null };
  const parts = {
    inbox: { put: [], remove: inputs },
    seen: inputs.map(({ messageId }) => ({ messageId, turnId })),
    outcomes: [outcomeRecord(outcome, turnId, unbegun, 0, settings.clock.now())],
  };
  const patch: Partial<Head> = {
    waitingInput: 0,
    nextTurnId: null,
    outcomesDue: settings.onOutcome === undefined ? head.outcomesDue : withDue(head.outcomesDue, turnId),
  };
  const writer = roster.writerOf(head);
  await writer.write(writer.next(parts, null, patch));
  roster.endResting({ sessionId, turnId }, outcome);
  // A view that promises the turn is out of date.
  announcer.feeds.renew(sessionId);
}
