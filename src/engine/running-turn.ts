/**
 * Owns what others ask of a turn while it runs: each request is a task in its mailbox, in its place among everything
 * else that happens. Must not know how the turn does its own work.
 */
import { type Decision, type DecisionResult, openDecisions } from '../core/batch.js';
import type { SessionView } from '../core/events.js';
import type { CallRecord, Grant, Head, InboxRecord } from '../core/records.js';
import { phaseOf, type TurnSnapshot } from '../core/step.js';
import { approvalOf, reviewOf } from './announcements.js';
import type { CommitParts } from './head-writer.js';
import type { CallOutcome } from './tool-calls.js';
import type { TurnDriver } from './turn-driver.js';
import type { Turn } from './turn-handles.js';
import type { Written } from './written.js';

/** Of the turn itself nothing is written by such a change. */
const NOTHING: Written = { calls: [], parts: {}, patch: {}, progress: false };

export class RunningTurn {
  /** Made while the turn runs: one that is made after its end would wait for ever. */
  readonly handle: Turn;
  private readonly driver: TurnDriver;

  constructor(driver: TurnDriver, handle: Turn) {
    this.driver = driver;
    this.handle = handle;
  }

  get sessionId(): string {
    return this.driver.sessionId;
  }

  get turnId(): string {
    return this.driver.turnId;
  }

  /** How many messages compactions have taken out of the list. */
  get archived(): number {
    return this.driver.head.archived;
  }

  /** What people may see of the session, as far as it is on disk (I9); what the model is saying is noted elsewhere. */
  get view(): SessionView {
    const { head, records, sessionId } = this.driver;
    // Between its first commit and its first phase a turn has no snapshot yet.
    const snapshot: TurnSnapshot | undefined = this.driver.snapshot;
    return {
      messages: records.storedMessages,
      phase: snapshot === undefined ? head.phase : phaseOf(snapshot),
      inProgress: true,
      // What comes meanwhile joins this turn, or is promised to nobody yet.
      nextTurnId: null,
      outcome: null,
      partial: [],
      approvals: this.decisions.map((call) => approvalOf(sessionId, call)),
      reviews: [...records.reviews.values()].map((review) => reviewOf(sessionId, review)),
    };
  }

  /** Input joins at the next boundary. false: the turn is over, the input starts the next one. */
  accept(input: InboxRecord, attended: boolean): Promise<boolean> {
    return this.driver.mailbox.ask(
      async () => {
        // Sent again while a commit failed: each try may have left a task like this one.
        if (this.knows(input.messageId)) return true;
        const accepted = { ...input, seq: this.driver.head.revision + 1 };
        const inbox = [...this.driver.records.inbox, accepted];
        const patch = { waitingInput: this.driver.head.waitingInput + 1 };
        await this.driver.commits.write(this.driver.records.factsToWrite(), patch, {
          inbox: { put: [accepted], remove: [] },
        });
        this.driver.records.inbox = inbox;
        this.driver.attended ||= attended;
        await this.driver.advance({ type: 'input.arrived', waiting: inbox.length });
        return true;
      },
      () => false,
    );
  }

  private knows(messageId: string): boolean {
    const { inbox, messages } = this.driver.records;
    return inbox.some((input) => input.messageId === messageId) || messages.some(({ meta }) => meta.id === messageId);
  }

  /** Durable before it resolves: no longer in progress, calls paired. false: the turn had ended before. */
  cancel(reason: string | undefined, keepPartialText: boolean): Promise<boolean> {
    return this.driver.mailbox.ask(
      async () => {
        this.driver.cancelReason = reason;
        if (keepPartialText) this.driver.model.keepPartialText();
        await this.driver.advance({ type: 'turn.cancelled' });
        return true;
      },
      () => false,
      // What runs is told to stop even where the store cannot say so yet.
      () => this.driver.abortWork(new Error('cancelled')),
    );
  }

  /** A person or a late result settles a call in doubt. false: it is not in doubt (any more). */
  settle(callId: string, outcome: CallOutcome, dispatch?: number): Promise<boolean> {
    return this.driver.mailbox.ask(
      async () => {
        const call = this.driver.records.journal.get(callId);
        if (call?.state !== 'inDoubt' || (dispatch !== undefined && call.dispatch !== dispatch)) return false;
        await this.driver.tools.settle(callId, outcome);
        return true;
      },
      () => false,
    );
  }

  /** Input that has not joined is taken back. undefined: it is not this turn's, or the turn was over before. */
  withdraw(messageId: string): Promise<'withdrawn' | 'alreadyJoined' | undefined> {
    const { commits, mailbox, records } = this.driver;
    return mailbox.ask<'withdrawn' | 'alreadyJoined' | undefined>(
      async () => {
        const input = records.inbox.find((waiting) => waiting.messageId === messageId);
        if (input === undefined)
          return records.messages.some(({ meta }) => meta.id === messageId) ? 'alreadyJoined' : undefined;
        const parts = { inbox: { put: [], remove: [input] } };
        await commits.write(NOTHING, { waitingInput: this.driver.head.waitingInput - 1 }, parts);
        records.inbox = records.inbox.filter((waiting) => waiting !== input);
        await this.driver.advance({ type: 'input.arrived', waiting: records.inbox.length });
        return 'withdrawn';
      },
      () => undefined,
    );
  }

  /** What a person decided about a call, durable when it resolves. undefined: the turn was over before. */
  async decide(
    callId: string,
    decision: Decision,
    grantFor: ((tool: string) => Grant) | undefined,
  ): Promise<DecisionResult | { readonly invalid: string } | undefined> {
    const { mailbox, person, records } = this.driver;
    const edit = await person.readEdit(callId, decision);
    if (edit?.ok === false) return { invalid: edit.error };
    return mailbox.ask<DecisionResult | undefined>(
      async () => {
        if (records.journal.get(callId) === undefined) return undefined;
        return person.decide(callId, decision, edit, grantFor);
      },
      () => undefined,
    );
  }

  /** The calls of the running batch that wait for a decision. */
  get decisions(): readonly CallRecord[] {
    // Only what is on disk: a question that a crash would take back is not asked (I9).
    return openDecisions(this.driver.records.storedBatch);
  }

  /** A change of the session that has nothing to do with this turn, in its place among the commits. */
  amend(change: (head: Head) => { readonly patch: Partial<Head>; readonly parts: CommitParts }): Promise<boolean> {
    const { commits, mailbox, records } = this.driver;
    return mailbox.ask(
      async () => {
        const { patch, parts } = change(this.driver.head);
        await commits.write(NOTHING, patch, parts);
        for (const callId of parts.reviews?.remove ?? []) records.reviews.delete(callId);
        return true;
      },
      () => false,
    );
  }

  /** Resolves when everything that was under way is done and told, or the turn is over. */
  caughtUp(): Promise<void> {
    return new Promise((resolve) => this.driver.mailbox.enqueue(async () => resolve(), resolve));
  }

  /** Hand-over: tools may settle for a while, then the turn rests where it is; no attempt is spent. */
  async handOver(graceMs: number): Promise<void> {
    this.driver.closing = true;
    await this.driver.tools.quietWithin(graceMs);
    this.driver.commits.giveUp();
    await this.driver.mailbox.ask(
      async () => {
        await this.driver.advance({ type: 'turn.handedOver' });
        this.driver.end({ status: 'handedOver' });
      },
      () => undefined,
    );
  }
}
