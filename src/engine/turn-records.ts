/**
 * Owns what one turn knows in memory: canonical list, journal, waiting input, and which of it is not on disk yet.
 * Must not know phases, tools or when to commit; the driver decides, this computes what a commit holds.
 */
import type { Cause } from '../../machines/index.js';
import { expireApprovals, openDecisions, openDoubts, refuse } from '../core/batch.js';
import { isSettled, Journal } from '../core/journal.js';
import type { Json } from '../core/json.js';
import {
  addUsage,
  type Message,
  type MessageMeta,
  NO_USAGE,
  type StoredMessage,
  textOf,
  type Usage,
} from '../core/messages.js';
import { NUDGES } from '../core/nudges.js';
import { resultsOf, withoutShown, withShown } from '../core/outputs.js';
import type { Clock, Ids, SessionRecords } from '../core/ports.js';
import type { CallRecord, Grant, Head, InboxRecord, ReviewRecord } from '../core/records.js';
import type { EditName } from '../core/step.js';
import { openAnswer, repairStored } from '../core/transcript.js';
import { reviewRecord } from './announcements.js';
import { CanonicalList } from './canonical-list.js';
import type { CommitParts } from './head-writer.js';
import type { Durable, Written } from './written.js';

/** While they are put together. */
type Parts = { -readonly [name in keyof CommitParts]: CommitParts[name] };

export class TurnRecords {
  readonly turnId: string;
  readonly journal: Journal;
  /** Of all turns of the session, as they are on disk. */
  readonly reviews: Map<string, ReviewRecord>;
  inbox: readonly InboxRecord[];
  modelCalls: number;
  usage: Usage;
  /** The last answer in the form that was asked for. */
  finalAnswer: Json | undefined;
  private sessionUsage: Usage;
  private grants: readonly Grant[];
  private readonly clock: Clock;
  private readonly ids: Ids;
  private readonly list: CanonicalList;
  private joined: readonly InboxRecord[] = [];
  /** Size of the list at the last compaction that was refused, in characters; null: none was. */
  compactionRefusedAt: number | null;
  /** The first message after a resume says so. */
  private resumed: NonNullable<MessageMeta['resumed']> | undefined;

  constructor(turnId: string, records: SessionRecords, ports: { clock: Clock; ids: Ids }) {
    this.turnId = turnId;
    this.clock = ports.clock;
    this.ids = ports.ids;
    this.list = new CanonicalList(records.messages);
    this.journal = new Journal(records.head.turnId === turnId ? withShown(records.calls, records.messages) : []);
    this.inbox = records.inbox;
    this.reviews = new Map(records.reviews.map((review) => [review.callId, review]));
    this.modelCalls = records.head.turnId === turnId ? records.head.modelCalls : 0;
    this.usage = records.head.turnId === turnId ? records.head.usage : NO_USAGE;
    this.grants = records.head.grants.filter((grant) => grant.turnId === null || grant.turnId === turnId);
    this.sessionUsage = records.head.sessionUsage;
    this.compactionRefusedAt = records.head.compactionRefusedAt;
  }

  get messages(): readonly StoredMessage[] {
    return this.list.messages;
  }

  /** For a request of the model. */
  bareMessages(): readonly Message[] {
    return this.list.bareMessages();
  }

  /** The answer whose calls are being run, and its calls in the model's order. */
  get answer(): StoredMessage | undefined {
    return openAnswer(this.messages);
  }

  get batch(): readonly CallRecord[] {
    return this.answer === undefined ? [] : this.journal.batch(this.answer.meta.id);
  }

  /** The list as it is on disk. */
  get storedMessages(): readonly StoredMessage[] {
    return this.list.onDisk;
  }

  /** The calls of the batch as they are on disk. */
  get storedBatch(): readonly CallRecord[] {
    return this.batch.flatMap(({ callId }) => this.journal.storedAs(callId) ?? []);
  }

  /** The canonical list, where it is another than the stored one. */
  adoptList(list: readonly StoredMessage[]): void {
    this.list.replace(list);
  }

  /** A shorter list takes the place of this one; what left it is kept as an archive. */
  compactTo(list: readonly StoredMessage[], removed: readonly StoredMessage[]): void {
    this.list.compactTo(list, removed);
    this.compactionRefusedAt = null;
  }

  markResumed(attempt: number): void {
    this.resumed = { attempt, at: this.clock.now() };
  }

  append(message: Message, origin: MessageMeta['origin'], more: Partial<MessageMeta> = {}): void {
    const resumed = this.resumed === undefined ? {} : { resumed: this.resumed };
    this.resumed = undefined;
    this.list.append(this.make(message, origin, { ...more, ...resumed }));
  }

  /** A message of this turn that is in no list yet. */
  make(message: Message, origin: MessageMeta['origin'], more: Partial<MessageMeta> = {}): StoredMessage {
    return { message, meta: { id: this.ids(), at: this.clock.now(), turnId: this.turnId, origin, ...more } };
  }

  /** Every local call in the list gets exactly one result, whatever left it open (I10, case C1). */
  repair(): void {
    const open = this.answer;
    const settled = open === undefined ? this.messages : this.messages.slice(0, -1);
    const repaired = repairStored(settled, (message, answered) => ({
      message,
      meta: { id: this.ids(), at: this.clock.now(), turnId: answered.meta.turnId, origin: 'tool' },
    }));
    if (repaired !== settled) this.adoptList(open === undefined ? repaired : [...repaired, open]);
  }

  /** Accepted input becomes part of the list; its inbox records go in the commit that stores it (I11). */
  joinInput(): void {
    for (const input of this.inbox) {
      this.append({ role: 'user', content: input.content }, 'input', { id: input.messageId, at: input.acceptedAt });
    }
    this.joined = [...this.joined, ...this.inbox];
    this.inbox = [];
  }

  /** Edits the chart asks for, made in the commit of their step. */
  edit(edits: readonly EditName[], cause: Cause | null): void {
    for (const edit of edits) {
      if (edit === 'joinInput') this.joinInput();
      else if (edit === 'expireApprovals') this.expireApprovals();
      else if (cause?.kind === 'modelFault') {
        this.append({ role: 'user', content: [{ type: 'text', text: NUDGES[cause.fault] }] }, 'nudge');
      }
    }
  }

  private expireApprovals(): void {
    const answer = this.answer;
    if (answer !== undefined) expireApprovals(this.journal, answer.meta.id, this.clock.now());
  }

  isGranted(tool: string): boolean {
    return this.grants.some((grant) => grant.tool === tool);
  }

  grant(grant: Grant): void {
    this.grants = [...this.grants.filter((old) => old.tool !== grant.tool || old.turnId !== grant.turnId), grant];
  }

  countAnswer(usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.sessionUsage = addUsage(this.sessionUsage, usage);
  }

  /** The batch is settled: its results become one message, in the model's order (case C2). */
  appendResults(outputBytes: number): void {
    const answer = this.answer;
    if (answer === undefined) return;
    const results = resultsOf(answer.message, this.journal.batch(answer.meta.id), outputBytes);
    this.append({ role: 'tool', content: results }, 'tool');
  }

  /**
   * The turn ends with calls still open: what runs is in doubt, what did not start never will, and the list is paired.
   * The doubts of external calls outlive the turn as reviews.
   */
  closeBatch(outputBytes: number, doubt: 'cancel' | 'crash'): void {
    const now = this.clock.now();
    this.journal.loseDispatched(doubt);
    for (const call of this.batch) {
      if (isSettled(call) || call.state === 'inDoubt') continue;
      refuse(this.journal, call, 'The turn ended before this call could run. It did not run.', now);
    }
    this.appendResults(outputBytes);
  }

  /** Ids of the calls a person is waited for, for the head. */
  waitingFor(): { readonly approvals: readonly string[]; readonly reviews: readonly string[] } {
    return {
      approvals: openDecisions(this.batch).map((call) => call.callId),
      reviews: openDoubts(this.batch).map((call) => call.callId),
    };
  }

  lastAnswer(): StoredMessage | undefined {
    return this.messages.findLast(
      (stored) => stored.meta.turnId === this.turnId && stored.message.role === 'assistant',
    );
  }

  lastText(): string {
    const answer = this.lastAnswer();
    return answer === undefined ? '' : textOf(answer.message);
  }

  get hasStoredChanges(): boolean {
    return this.journal.changedStored().length > 0;
  }

  /** Outcomes, notes and dispatches of calls that are on disk already; the transcript stays as it was saved. */
  factsToWrite(needsPerson = false): Written {
    return this.written(this.journal.changedStored(), {}, {}, needsPerson);
  }

  /**
   * Everything: the transcript rebuilt from the canonical list (I3), every call it names, input that joined. Where only
   * a person can go on, what they are asked is part of it.
   */
  checkpointToWrite(head: Head, needsPerson: boolean): Written {
    const list = this.list.toWrite(head);
    const parts: Parts = { ...list.parts };
    if (this.joined.length > 0) {
      parts.inbox = { put: [], remove: this.joined };
      parts.seen = this.joined.map(({ messageId }) => ({ messageId, turnId: this.turnId }));
    }
    return this.written(this.journal.changedAll(), parts, list.patch, needsPerson);
  }

  /** Called when the commit is durable; gives what is new on disk. */
  markWritten(written: Written): Durable {
    const calls = this.journal.written(written.calls);
    const messages = this.list.written(written.parts);
    const { transcript, inbox, reviews } = written.parts;
    for (const review of reviews?.put ?? []) this.reviews.set(review.callId, review);
    for (const callId of reviews?.remove ?? []) this.reviews.delete(callId);
    if (inbox !== undefined) this.joined = this.joined.filter((input) => !inbox.remove.includes(input));
    return { messages, calls, reviews: reviews?.put ?? [], rewritten: transcript?.kind === 'rewrite' };
  }

  private written(calls: readonly CallRecord[], parts: Parts, list: Partial<Head>, needsPerson: boolean): Written {
    const put = needsPerson ? this.newReviews() : [];
    const settledReview = (call: CallRecord): boolean => call.state !== 'inDoubt' && this.reviews.has(call.callId);
    const remove = calls.filter(settledReview).map((call) => call.callId);
    if (calls.length > 0) parts.calls = { put: withoutShown(calls, parts.transcript?.messages ?? []), remove: [] };
    if (put.length + remove.length > 0) parts.reviews = { put, remove };
    const { modelCalls, usage, sessionUsage, grants, compactionRefusedAt } = this;
    const own: Partial<Head> = { modelCalls, usage, sessionUsage, grants, compactionRefusedAt };
    return {
      calls,
      parts,
      patch: Object.assign(own, list, this.journal.countsWith(calls)),
      progress: calls.some(isSettled) || parts.transcript !== undefined,
    };
  }

  /** Doubts that nobody but a person can end, and that are not listed yet. */
  private newReviews(): readonly ReviewRecord[] {
    const doubts = openDoubts([...this.journal.all()]).filter(
      (call) => this.reviews.get(call.callId)?.dispatch !== call.dispatch,
    );
    return doubts.map(reviewRecord);
  }
}
