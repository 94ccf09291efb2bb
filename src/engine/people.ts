/**
 * Owns what people do to turns: cancel, settle a call in doubt, resume, abandon - whether a turn runs, is parked,
 * interrupted, ended or cannot be read. Must not know how it goes on.
 */
import { REASON_BYTES } from '../../machines/index.js';
import { messageOf, TurnError } from '../core/errors.js';
import type { Review, TurnOutcome } from '../core/events.js';
import { sessionOfTurn } from '../core/ids.js';
import { nextCallState } from '../core/journal.js';
import { cutText } from '../core/json.js';
import type { CallRecord, Head } from '../core/records.js';
import type { Settlement } from '../core/tools.js';
import { abandon } from './abandon.js';
import { reviewOf } from './announcements.js';
import { HeadWriter } from './head-writer.js';
import { fromRecord, outcomeOf, outcomeRecord } from './outcome.js';
import type { Recovery } from './recovery.js';
import type { Roster } from './roster.js';
import { type CallOutcome, errorText, outputOf } from './tool-calls.js';
import type { CancelOptions, Turn } from './turn-handles.js';
import { TurnRecords } from './turn-records.js';

export type SettleBy = Settlement & { readonly by: string; readonly attended?: boolean };

export class People {
  private readonly roster: Roster;
  private readonly recovery: Recovery;

  constructor(roster: Roster, recovery: Recovery) {
    this.roster = roster;
    this.recovery = recovery;
  }

  async cancel(turnId: string, options: CancelOptions = {}): Promise<TurnOutcome> {
    const sessionId = sessionIn(turnId);
    const reason = checkReason(options.reason);
    return this.roster.sessions.run(sessionId, async () => {
      const driver = this.roster.driverOf(sessionId);
      if (driver?.turnId === turnId) await driver.cancel(reason, options.keepPartialText === true);
      const head = await this.roster.head(sessionId);
      if (head?.turnId === turnId && head.inProgress) await this.cancelResting(head, reason);
      const outcome = await this.roster.store.outcome(turnId);
      if (outcome === undefined) throw notFound(turnId);
      return fromRecord(outcome);
    });
  }

  async reviews(filter: { readonly sessionId?: string } = {}): Promise<readonly Review[]> {
    const all = await this.roster.store.reviews(this.roster.settings.agent);
    const wanted = all.filter((review) => filter.sessionId === undefined || review.sessionId === filter.sessionId);
    return wanted.map((review) => reviewOf(review.sessionId, review));
  }

  /** Durable when it resolves; a turn that waits for it goes on. */
  async settle(turnId: string, callId: string, settlement: SettleBy): Promise<void> {
    const outcome = outcomeFrom(settlement);
    if (!(await this.settleWith(turnId, callId, outcome, { attended: settlement.attended === true }))) {
      throw new TurnError(
        'TURN_CALL_NOT_IN_DOUBT',
        `call "${callId}" is not in doubt; it may have been settled meanwhile`,
      );
    }
  }

  /** A result that came back late: written only on a call that is still in doubt with that dispatch. */
  async settleLate(call: CallRecord, outcome: CallOutcome): Promise<void> {
    if (outcome.kind === 'inDoubt' || this.roster.closing) return;
    await this.settleWith(call.turnId, call.callId, outcome, { attended: false, dispatch: call.dispatch });
  }

  async resume(turnId: string, by: { readonly person: string }): Promise<Turn> {
    const sessionId = sessionIn(turnId);
    if (typeof by?.person !== 'string')
      throw new TypeError('resumeTurn needs { person }: only a person may skip the gates.');
    const running = this.roster.driverOf(sessionId);
    if (running?.turnId === turnId) return running.handle;
    const answer = await this.roster.sessions.run(sessionId, () =>
      this.recovery.ask(sessionId, turnId, { byPerson: true, attended: false }),
    );
    if (answer.driver === undefined) {
      throw new TurnError('TURN_NOT_RESUMABLE', `turn "${turnId}": ${answer.reason} (${answer.gate})`);
    }
    return answer.driver.handle;
  }

  async abandon(turnId: string, why: string): Promise<void> {
    const sessionId = sessionIn(turnId);
    const reason = checkReason(why);
    if (reason === undefined) throw new TypeError('abandonTurn needs a reason: people will read it.');
    await this.roster.sessions.run(sessionId, async () => {
      const head = await this.roster.head(sessionId);
      if (head?.turnId !== turnId || !head.inProgress) throw notFound(turnId);
      if (this.roster.driverOf(sessionId) !== undefined) {
        throw new TurnError('TURN_BUSY', `turn "${turnId}" is running; cancel it instead`);
      }
      const writer = new HeadWriter(this.roster.store, this.roster.settings.clock, head);
      await abandon(this.roster, writer, null, { gate: 'person', reason });
    });
  }

  private async settleWith(
    turnId: string,
    callId: string,
    outcome: CallOutcome,
    by: { readonly attended: boolean; readonly dispatch?: number },
  ): Promise<boolean> {
    const sessionId = sessionIn(turnId);
    return this.roster.sessions.run(sessionId, async () => {
      const driver = this.roster.driverOf(sessionId);
      if (driver?.turnId === turnId) return driver.settle(callId, outcome, by.dispatch);
      const call = await this.roster.store.call(callId);
      if (call?.state !== 'inDoubt' || (by.dispatch !== undefined && call.dispatch !== by.dispatch)) return false;
      const head = await this.roster.head(sessionId);
      if (head?.turnId === turnId && head.inProgress) return this.settleParked(head, callId, outcome, by);
      return this.settleEnded(head as Head, call, outcome);
    });
  }

  /** The turn goes on with it: the settlement is in the mailbox right behind the resume. */
  private async settleParked(
    head: Head,
    callId: string,
    outcome: CallOutcome,
    by: { readonly attended: boolean; readonly dispatch?: number },
  ): Promise<boolean> {
    let settled: Promise<boolean> | undefined;
    const answer = await this.recovery.ask(head.sessionId, head.turnId as string, {
      byPerson: true,
      attended: by.attended,
      behind: (driver) => {
        settled = driver.settle(callId, outcome, by.dispatch);
      },
    });
    if (settled === undefined)
      throw new TurnError('TURN_NOT_RESUMABLE', `turn "${head.turnId}": ${answer.reason} (${answer.gate})`);
    return settled;
  }

  /** Its turn is over: only the journal and the list of doubts change. */
  private async settleEnded(head: Head, call: CallRecord, outcome: CallOutcome): Promise<boolean> {
    const { store, settings } = this.roster;
    const event = outcome.kind === 'succeeded' ? 'call.succeeded' : 'call.failed';
    const state = nextCallState(call.state, event, call.effect);
    if (state === undefined) return false;
    const output =
      outcome.kind === 'succeeded' || outcome.kind === 'failed' ? outcome.output : errorText('The call never started.');
    const settled: CallRecord = { ...call, state, output, doubt: null, settledAt: settings.clock.now() };
    const parts = { calls: { put: [settled], remove: [] }, reviews: { put: [], remove: [call.callId] } };
    // Another turn of the session may run: then this takes its place among the commits of that one.
    if (await this.roster.driverOf(head.sessionId)?.amend(() => ({ patch: {}, parts }))) return true;
    const now = (await this.roster.head(head.sessionId)) as Head;
    const writer = new HeadWriter(store, settings.clock, now);
    const patch = now.turnId === call.turnId ? { settled: now.settled + 1 } : {};
    await writer.write(writer.next(patch, parts, null));
    return true;
  }

  /** A turn without a driver: parked, interrupted, or unreadable. */
  private async cancelResting(head: Head, reason: string | undefined): Promise<void> {
    const { store, settings } = this.roster;
    const at = settings.clock.now();
    const turnId = head.turnId as string;
    const records = await this.readable(head);
    records?.closeBatch(head.limits.outputBytes ?? 0, 'cancel');
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
      outcomesDue: settings.onOutcome === undefined ? head.outcomesDue : [...head.outcomesDue, turnId],
    };
    const outcomes = [outcomeRecord(outcome, turnId, head, head.modelCalls, at)];
    const writer = new HeadWriter(store, settings.clock, head);
    await writer.write(writer.next(patch, { ...written?.parts, checkpoint: null, outcomes }, null));
    this.roster.endResting({ sessionId: head.sessionId, turnId }, outcome);
  }

  private async readable(head: Head): Promise<TurnRecords | undefined> {
    try {
      const session = await this.roster.store.load(head.sessionId);
      return session === undefined ? undefined : new TurnRecords(head.turnId as string, session, this.roster.settings);
    } catch (thrown) {
      if (thrown instanceof TurnError && thrown.code === 'TURN_DAMAGED') return undefined;
      throw thrown;
    }
  }
}

/** @throws {TypeError} when it is no text. */
function checkReason(reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  if (typeof reason !== 'string') throw new TypeError('reason must be a text.');
  return cutText(reason, REASON_BYTES);
}

function sessionIn(turnId: string): string {
  const sessionId = typeof turnId === 'string' ? sessionOfTurn(turnId) : undefined;
  if (sessionId === undefined)
    throw new TypeError(`turnId "${String(turnId)}" is no turn id; take it from turn.turnId.`);
  return sessionId;
}

const notFound = (turnId: string): TurnError =>
  new TurnError('TURN_NOT_FOUND', `there is no turn "${turnId}" to do that to`);

/** @throws {TypeError} when the settlement is none. */
function outcomeFrom(settlement: SettleBy): CallOutcome {
  if (typeof settlement?.by !== 'string') throw new TypeError('settleCall needs { by }: who says so.');
  switch (settlement.outcome) {
    case 'succeeded':
      return { kind: 'succeeded', output: outputOf({}, settlement.output, undefined) };
    case 'failed':
      return { kind: 'failed', output: errorText(messageOf(settlement.error)), definitive: false };
    case 'notStarted':
      return { kind: 'notStarted' };
    default:
      throw new TypeError("outcome must be 'succeeded', 'failed' or 'notStarted'.");
  }
}
