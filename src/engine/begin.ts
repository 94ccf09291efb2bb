/**
 * Owns how a turn begins: the session is loaded, its history repaired, what an abandoned turn left is closed, and
 * input, snapshot and marker become durable in one commit. Must not know why it begins now.
 */
import { OUTCOMES_DUE } from '../../machines/index.js';
import { TurnError } from '../core/errors.js';
import { turnIdOf } from '../core/ids.js';
import type { Lease, SessionRecords } from '../core/ports.js';
import type { Head, InboxRecord } from '../core/records.js';
import { firstStep } from '../core/step.js';
import { openAnswer } from '../core/transcript.js';
import { type CommitParts, newHead } from './head-writer.js';
import { outputBytesOf, resolveLimits, type Settings } from './options.js';
import { type ListWithJournal, rewind } from './rewind.js';
import type { Roster } from './roster.js';
import type { RunningTurn } from './running-turn.js';
import { TurnDriver } from './turn-driver.js';
import { TurnRecords } from './turn-records.js';

export interface BeginWith {
  readonly sessionId: string;
  readonly lease: Lease;
  /** Input that is in the inbox already, oldest first. */
  readonly waiting: readonly InboxRecord[];
  /** Input that is accepted by this very commit. */
  readonly fresh: InboxRecord | undefined;
  readonly attended: boolean;
  /** The list goes on behind the message with this id. */
  readonly after?: string | undefined;
}

/** Throws what the store throws; then nothing was written, and the caller gives the route back. */
export async function beginTurn(roster: Roster, begin: BeginWith): Promise<RunningTurn> {
  const { settings, store } = roster;
  const first = (begin.waiting[0] ?? begin.fresh) as InboxRecord;
  const loaded =
    (await store.load(begin.sessionId)) ?? emptySession(newHead(begin.sessionId, settings.agent, first.routeKey));
  if (loaded.head.outcomesDue.length >= OUTCOMES_DUE) {
    const what = `${OUTCOMES_DUE} outcomes of session "${begin.sessionId}" were not taken by onOutcome`;
    throw new TurnError('TURN_OUTCOMES_DUE', what);
  }
  const abandoned = closeAbandoned(loaded, settings);
  // Input that waited behind another turn carries that one's id: only a promised id, or that of fresh input, is new.
  const turnId = loaded.head.nextTurnId ?? begin.fresh?.turnId ?? nextTurnId(settings, begin.sessionId);
  const reviews = [...loaded.reviews, ...abandoned.reviews.put];
  const records = new TurnRecords(turnId, { ...loaded, inbox: begin.waiting, reviews }, settings);
  const { messages, calls } =
    begin.after === undefined ? abandoned : await rewind(store, abandoned, reviews, begin.after);
  records.adoptList(messages);
  records.joinInput();
  const { fresh } = begin;
  if (fresh !== undefined) {
    const meta = { id: fresh.messageId, at: fresh.acceptedAt };
    records.append({ role: 'user', content: fresh.content }, 'input', meta);
  }
  // With the input behind it, no answer is open any more: whatever is left without a result gets one.
  records.repair();
  const driver = new TurnDriver({
    settings,
    host: roster,
    writer: roster.writerOf(loaded.head),
    records,
    lease: begin.lease,
    attended: begin.attended,
    attempt: 0,
    interrupted: false,
  });
  const plan = firstStep(settings.machine, {
    turnId,
    limits: resolveLimits(settings.limits ?? {}, first.limits, begin.attended),
  });
  // All of it, waiting and fresh: these parts replace those of the same name that the records would write.
  const joined = fresh === undefined ? begin.waiting : [...begin.waiting, fresh];
  const seen = joined.map(({ messageId }) => ({ messageId, turnId }));
  await driver.begin(plan, startOf(turnId, first, settings.clock.now()), { calls, reviews: abandoned.reviews, seen });
  return roster.enlist(driver, begin.attended);
}

function startOf(turnId: string, first: InboxRecord, now: number): Partial<Head> {
  return {
    turnId,
    inProgress: true,
    handedOver: false,
    waiting: null,
    ended: null,
    context: first.context,
    limits: first.limits,
    answer: first.answer,
    routeKey: first.routeKey,
    startedAt: now,
    lastProgressAt: now,
    attempts: 0,
    recoveries: 0,
    activeMs: 0,
    nextTurnId: null,
    waitingInput: 0,
  };
}

const emptySession = (head: Head): SessionRecords => ({
  head,
  messages: [],
  checkpoint: null,
  calls: [],
  inbox: [],
  reviews: [],
});

/** What a session has left when its next turn begins, and what that turn's first commit changes of it. */
interface Closed extends ListWithJournal {
  readonly reviews: NonNullable<CommitParts['reviews']>;
}

/** An abandoned turn stays as it was until another begins: now its calls are paired and its doubts stay listed. */
function closeAbandoned(session: SessionRecords, settings: Settings): Closed {
  const { head, messages } = session;
  const nothing = { put: [], remove: [] };
  if (head.turnId === null || openAnswer(messages) === undefined) return { messages, calls: nothing, reviews: nothing };
  const old = new TurnRecords(head.turnId, session, settings);
  old.closeBatch(outputBytesOf(settings, head), 'crash');
  const { calls = nothing, reviews = nothing } = old.checkpointToWrite(head, true).parts;
  return { messages: old.messages, calls, reviews };
}

/** A turn id that is promised before its turn begins. */
export const nextTurnId = (settings: Settings, sessionId: string): string => turnIdOf(sessionId, settings.ids());
