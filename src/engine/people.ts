/**
 * Owns what people do to turns: cancel, settle a call in doubt, resume, abandon - whether a turn has not begun, runs,
 * is parked, interrupted, ended or cannot be read. Must not know how it goes on.
 */

import { REASON_BYTES } from '../../machines/index.js';
import { TurnError } from '../core/errors.js';
import type { Review, TurnOutcome } from '../core/events.js';
import { checkFields } from '../core/fields.js';
import { sessionOfTurn, turnOfCall } from '../core/ids.js';
import { nextCallState } from '../core/journal.js';
import { cutText } from '../core/json.js';
import type { CallRecord, Head } from '../core/records.js';
import { shown } from '../core/shown.js';
import type { Settlement } from '../core/tools.js';
import { abandon } from './abandon.js';
import { reviewOf } from './announcements.js';
import { checkFilter } from './check-options.js';
import { fromRecord } from './outcome.js';
import type { Answer, Recovery } from './recovery.js';
import { cancelPromised, cancelResting, RestingTurn } from './resting-turn.js';
import type { Roster } from './roster.js';
import { type CallOutcome, errorText, outputOf } from './tool-calls.js';
import type { CancelOptions, Turn } from './turn-handles.js';

/** What became of a call, and who says so. `attended`: they are there now, for what the turn does next. Default false. */
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
    checkFields(options, CANCEL);
    const reason = checkReason(options.reason);
    return this.roster.sessions.run(sessionId, async () => {
      const driver = this.roster.driverOf(sessionId);
      if (driver?.turnId === turnId) await driver.cancel(reason, options.keepPartialText === true);
      const head = await this.roster.head(sessionId);
      if (head?.turnId === turnId && head.inProgress) await cancelResting(this.roster, head, reason);
      else if (head?.nextTurnId === turnId) await cancelPromised(this.roster, head, turnId, reason);
      const outcome = await this.roster.store.outcome(turnId);
      if (outcome === undefined) throw notFound(turnId);
      const ended = fromRecord(outcome);
      // A cancel that was reported as failed may be durable all the same: whoever holds the turn learns it now.
      this.roster.handles.rested(turnId, ended);
      return ended;
    });
  }

  async reviews(filter: { readonly sessionId?: string } = {}): Promise<readonly Review[]> {
    checkFilter(filter);
    const found = await this.roster.store.reviews(this.roster.settings.agent, filter.sessionId);
    return found.map((review) => reviewOf(review.sessionId, review));
  }

  /** Durable when it resolves; a turn that waits for it goes on. */
  async settle(turnId: string, callId: string, settlement: SettleBy): Promise<void> {
    const outcome = outcomeFrom(settlement);
    if (!(await this.settleWith(turnId, callId, outcome, { attended: settlement.attended === true }))) {
      // A call that was settled keeps its record as long as a message names it.
      if ((await this.roster.store.call(callId)) === undefined)
        throw new TurnError('TURN_NOT_FOUND', `there is no call "${callId}" to settle`);
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
    return this.roster.sessions.run(sessionId, async () => {
      const answer = await this.recovery.ask(sessionId, turnId, { byPerson: true, attended: false });
      if (answer.driver === undefined) throw await this.refusal(sessionId, turnId, answer);
      return answer.driver.handle;
    });
  }

  /** Why a turn does not go on. The gates speak of the latest turn of a session, which may be another one. */
  private async refusal(sessionId: string, turnId: string, { verdict, reason, gate }: Answer): Promise<TurnError> {
    const no = (why: string): TurnError => new TurnError('TURN_NOT_RESUMABLE', `turn "${turnId}": ${why}`);
    const head = await this.roster.head(sessionId);
    const isLatest = head?.turnId === turnId;
    const ended = isLatest && verdict !== 'superseded' ? undefined : await this.endOf(turnId);
    if (ended !== undefined) return no(ended);
    if (isLatest) return no(`${reason} (${gate})`);
    // Of a turn that ended there is an outcome; besides it only the one that waiting input will start has an id.
    return head?.nextTurnId === turnId ? no('its input waits, it has not begun') : notFound(turnId);
  }

  async abandon(turnId: string, why: string): Promise<void> {
    const sessionId = sessionIn(turnId);
    const reason = checkReason(why);
    if (reason === undefined) throw new TypeError('abandonTurn needs a reason: people will read it.');
    await this.roster.sessions.run(sessionId, async () => {
      const head = await this.roster.head(sessionId);
      if (head?.turnId !== turnId || !head.inProgress) {
        const ended = await this.endOf(turnId);
        if (ended === undefined) throw notFound(turnId);
        throw new TurnError('TURN_NOT_FOUND', `turn "${turnId}" is not under way: ${ended}`);
      }
      if (this.roster.driverOf(sessionId) !== undefined) {
        throw new TurnError('TURN_BUSY', `turn "${turnId}" is running; cancel it instead`);
      }
      const writer = this.roster.writerOf(head);
      await abandon(this.roster, writer, null, { gate: 'person', reason });
    });
  }

  /** How a turn ended, for a person; undefined where nothing is known of an end. */
  private async endOf(turnId: string): Promise<string | undefined> {
    const outcome = await this.roster.store.outcome(turnId);
    return outcome && `it has ended as ${outcome.status}`;
  }

  private async settleWith(
    turnId: string,
    callId: string,
    outcome: CallOutcome,
    by: { readonly attended: boolean; readonly dispatch?: number },
  ): Promise<boolean> {
    const { roster } = this;
    const sessionId = sessionIn(turnId);
    if (turnOfCall(callId) !== turnId) throw new TypeError(`callId "${callId}" is no call of turn "${turnId}".`);
    return roster.sessions.run(sessionId, async () => {
      const running = roster.driverOf(sessionId);
      if (running?.turnId === turnId) return running.settle(callId, outcome, by.dispatch);
      const call = await roster.store.call(callId);
      if (call?.state !== 'inDoubt' || (by.dispatch !== undefined && call.dispatch !== by.dispatch)) return false;
      const head = await roster.head(sessionId);
      if (head === undefined) return false;
      if (head.turnId !== turnId) return this.settleOlder(head, call, outcome);
      const resting = await RestingTurn.of(roster, head);
      await resting.settle(callId, outcome);
      this.recovery.goOnLater(resting.head, by.attended);
      return true;
    });
  }

  /** Another turn of the session came after it: only that call and the list of doubts change. */
  private async settleOlder(head: Head, call: CallRecord, outcome: CallOutcome): Promise<boolean> {
    const { settings } = this.roster;
    const succeeded = outcome.kind === 'succeeded';
    const state = nextCallState(call.state, succeeded ? 'call.succeeded' : 'call.failed', call.effect);
    if (state === undefined) return false;
    const output = succeeded || outcome.kind === 'failed' ? outcome.output : errorText('The call never started.');
    const settled: CallRecord = { ...call, state, output, doubt: null, settledAt: settings.clock.now() };
    const parts = { calls: { put: [settled], remove: [] }, reviews: { put: [], remove: [call.callId] } };
    // While that turn runs, this takes its place among its commits.
    if (await this.roster.driverOf(head.sessionId)?.amend(() => ({ patch: {}, parts }))) return true;
    const now = (await this.roster.head(head.sessionId)) as Head;
    const writer = this.roster.writerOf(now);
    await writer.write(writer.next(parts, null));
    return true;
  }
}

const CANCEL: Readonly<Record<keyof CancelOptions, true>> = { reason: true, keepPartialText: true };

/** @throws {TypeError} when it is no text. */
function checkReason(reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  if (typeof reason !== 'string') throw new TypeError('reason must be a text.');
  return cutText(reason, REASON_BYTES);
}

function sessionIn(turnId: string): string {
  const sessionId = typeof turnId === 'string' ? sessionOfTurn(turnId) : undefined;
  if (sessionId === undefined) throw new TypeError(`turnId ${shown(turnId)} is no turn id; take it from turn.turnId.`);
  return sessionId;
}

const notFound = (turnId: string): TurnError => new TurnError('TURN_NOT_FOUND', `there is no turn "${turnId}"`);

/** @throws {TypeError} when the settlement is none. */
function outcomeFrom(settlement: SettleBy): CallOutcome {
  if (typeof settlement?.by !== 'string') throw new TypeError('settleCall needs { by }: who says so.');
  checkFields(settlement, { outcome: true, output: true, error: true, by: true, attended: true });
  switch (settlement.outcome) {
    case 'succeeded':
      if (settlement.output === undefined)
        throw new TypeError('output must be given with succeeded; null where there is none.');
      return { kind: 'succeeded', output: outputOf({}, settlement.output, undefined) };
    case 'failed':
      if (typeof settlement.error !== 'string')
        throw new TypeError('error must be a text with failed: the model reads it.');
      return { kind: 'failed', output: errorText(settlement.error), definitive: false };
    case 'notStarted':
      return { kind: 'notStarted' };
    default:
      throw new TypeError("outcome must be 'succeeded', 'failed' or 'notStarted'.");
  }
}
