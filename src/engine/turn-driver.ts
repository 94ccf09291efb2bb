/**
 * Owns the life of one turn in this process: one mailbox, and for every event step, commit, adopt, effect - in this
 * order and never another. Must not know models, tools or storage: effects are in model-work.ts and tool-work.ts,
 * commits in turn-commits.ts, and the chart decides.
 */
import { CHECKPOINT_DEBOUNCE_MS, type TurnEvent as ChartEvent, type Limits } from '../../machines/index.js';
import { encodeCheckpoint } from '../core/checkpoint.js';
import { HardIdleTimeout, TurnError } from '../core/errors.js';
import type { EventBody, TurnRest } from '../core/events.js';
import { equalJson } from '../core/json.js';
import type { Lease } from '../core/ports.js';
import type { Checkpoint, Head, InboxRecord, OutcomeStatus } from '../core/records.js';
import { keepsDeadlines, type Plan, phaseOf, step, type TimerEvent, type TurnSnapshot } from '../core/step.js';
import { announcementsOf, callEvent } from './announcements.js';
import type { ReadCall } from './answer.js';
import type { CommitParts, HeadWriter } from './head-writer.js';
import { Mailbox } from './mailbox.js';
import { ModelWork } from './model-work.js';
import type { Settings, TurnInfo } from './options.js';
import { outcomeOf, outcomeRecord } from './outcome.js';
import { type Deadlines, deadlinesAfter, Timers } from './timers.js';
import type { CallOutcome } from './tool-calls.js';
import { type LateOutcome, ToolWork } from './tool-work.js';
import { TurnCommits } from './turn-commits.js';
import type { TurnRecords, Written } from './turn-records.js';
import type { Foreign, TurnScope } from './turn-scope.js';

/** What the engine hears of a driver. */
export interface DriverHost {
  announce(event: EventBody, turn: { readonly sessionId: string; readonly turnId: string }, durable: boolean): void;
  /** The driver is done: its turn ended, parked, was handed over, or belongs to somebody else now. */
  rested(driver: TurnDriver, rest: TurnRest | { readonly status: 'lost' }): void;
  readonly late: LateOutcome;
}

export interface DriverStart {
  readonly settings: Settings;
  readonly host: DriverHost;
  readonly writer: HeadWriter;
  readonly records: TurnRecords;
  readonly lease: Lease;
  readonly attended: boolean;
  /** The recovery attempt; 0 in the first run. */
  readonly attempt: number;
  /** It was cut off, not parked: the model is told. */
  readonly interrupted: boolean;
  /** Built by recovery before the turn is resumed; a first run builds it in `setup`. */
  readonly foreign?: Foreign;
}

export class TurnDriver implements TurnScope {
  readonly settings: Settings;
  readonly records: TurnRecords;
  readonly lease: Lease;
  generation = 0;
  closing = false;
  private readonly start: DriverStart;
  private readonly commits: TurnCommits;
  private readonly timers: Timers;
  private readonly model: ModelWork;
  private readonly tools: ToolWork;
  private current: TurnSnapshot | undefined;
  private attended: boolean;
  private phaseWork = new AbortController();
  private readonly mailbox: Mailbox;
  private over = false;
  private checkpointedAt = Number.NEGATIVE_INFINITY;
  private cancelReason: string | undefined;

  constructor(start: DriverStart) {
    this.start = start;
    this.settings = start.settings;
    this.records = start.records;
    this.lease = start.lease;
    this.attended = start.attended;
    this.mailbox = new Mailbox({ idle: () => this.parkIfWaiting(), failed: (thrown) => this.lose(thrown) });
    this.commits = new TurnCommits(start.writer, start.records, start.lease, {
      clock: start.settings.clock,
      activeBefore: start.writer.head.turnId === start.records.turnId ? start.writer.head.activeMs : 0,
      listener: {
        failed: (error) => this.commitFailed(error),
        durable: (w, messages) => this.announceWritten(w, messages),
      },
    });
    this.timers = new Timers(start.settings.clock, (id, take) =>
      this.enqueue(async () => {
        if (take()) await this.advance({ type: id } as TimerEvent);
      }),
    );
    this.tools = new ToolWork(this, start.host.late);
    this.model = new ModelWork(this, this.tools, start);
    start.lease.lost.addEventListener('abort', () => this.lose(), { once: true });
  }

  get sessionId(): string {
    return this.start.writer.head.sessionId;
  }

  get turnId(): string {
    return this.records.turnId;
  }

  get snapshot(): TurnSnapshot {
    return this.current as TurnSnapshot;
  }

  get phaseSignal(): AbortSignal {
    return this.phaseWork.signal;
  }

  get activeMs(): number {
    return this.commits.activeMs;
  }

  get head(): Head {
    return this.commits.head;
  }

  info(): TurnInfo {
    const { head } = this;
    return {
      agent: this.settings.agent,
      sessionId: this.sessionId,
      turnId: this.turnId,
      context: head.context,
      attended: this.attended,
      recovered: this.start.interrupted,
      attempt: this.start.attempt,
      usage: this.records.usage,
      modelCalls: this.records.modelCalls,
      startedAt: head.startedAt ?? this.settings.clock.now(),
    };
  }

  /** The first commit of a turn: its caller still waits, so a failure is theirs and nothing was written. */
  async begin(plan: Plan, head: Partial<Head>, parts: CommitParts): Promise<void> {
    const deadlines = deadlinesAfter(new Map(), plan.timers, this.settings.clock.now());
    const written = this.records.checkpointToWrite(this.head, false);
    const patch = { ...head, phase: plan.phase };
    await this.commits.tryWrite(written, patch, { ...parts, checkpoint: this.checkpoint(plan.next, deadlines) });
    this.checkpointedAt = this.settings.clock.now();
    this.enqueue(() => this.adopt(plan, deadlines));
  }

  /** The restore arrow: the saved phase, its effect and its timers; stored moments are kept where the chart says so. */
  resume(
    snapshot: TurnSnapshot,
    stored: Checkpoint['deadlines'],
    limits: Limits,
    calls: readonly ReadCall[],
  ): Promise<void> {
    this.current = snapshot;
    if (this.start.foreign !== undefined) this.tools.use(this.start.foreign);
    this.tools.know(calls);
    const kept = keepsDeadlines(snapshot) ? stored : {};
    return this.mailbox.ask(
      async () => {
        await this.advance({ type: 'turn.resumed', limits }, kept);
        const waiting = this.records.inbox.length;
        if (waiting > 0) await this.advance({ type: 'input.arrived', waiting });
      },
      () => undefined,
    );
  }

  /** Input joins at the next boundary. false: the turn is over, the input starts the next one. */
  accept(input: InboxRecord, attended: boolean): Promise<boolean> {
    return this.mailbox.ask(
      async () => {
        const accepted = { ...input, seq: this.head.revision + 1 };
        const inbox = [...this.records.inbox, accepted];
        const patch = { waitingInput: this.head.waitingInput + 1 };
        await this.commits.write(this.records.factsToWrite(), patch, { inbox: { put: [accepted], remove: [] } });
        this.records.inbox = inbox;
        this.attended ||= attended;
        await this.advance({ type: 'input.arrived', waiting: inbox.length });
        return true;
      },
      () => false,
    );
  }

  /** Durable before it resolves: no longer in progress, calls paired. undefined: the turn had ended before. */
  cancel(reason: string | undefined): Promise<boolean> {
    return this.mailbox.ask(
      async () => {
        this.cancelReason = reason;
        await this.advance({ type: 'turn.cancelled' });
        return true;
      },
      () => false,
      // What runs is told to stop even where the store cannot say so yet.
      () => this.abortWork(new Error('cancelled')),
    );
  }

  /** A person or a late result settles a call in doubt. false: it is not in doubt (any more). */
  settle(callId: string, outcome: CallOutcome, dispatch?: number): Promise<boolean> {
    return this.mailbox.ask(
      async () => {
        const call = this.records.journal.get(callId);
        if (call?.state !== 'inDoubt' || (dispatch !== undefined && call.dispatch !== dispatch)) return false;
        await this.tools.settle(callId, outcome);
        return true;
      },
      () => false,
    );
  }

  /** A change of the head that has nothing to do with the turn, in its place among the commits. */
  amendHead(change: (head: Head) => Partial<Head>): Promise<boolean> {
    return this.mailbox.ask(
      async () => {
        await this.commits.write(this.records.factsToWrite(), change(this.head));
        return true;
      },
      () => false,
    );
  }

  /** Hand-over: tools may settle for a while, then the turn rests where it is; no attempt is spent. */
  async handOver(graceMs: number): Promise<void> {
    this.closing = true;
    const deadline = this.settings.clock.now() + graceMs;
    while (this.tools.isRunning && !this.over && this.settings.clock.now() < deadline) {
      await new Promise<void>((resolve) => this.settings.clock.after(Math.min(20, graceMs), resolve));
    }
    this.commits.giveUp();
    await this.mailbox.ask(
      async () => {
        await this.advance({ type: 'turn.handedOver' });
        this.end({ status: 'handedOver' });
      },
      () => undefined,
    );
  }

  announce(event: EventBody, durable: boolean): void {
    this.start.host.announce(event, this, durable);
  }

  enqueue(run: () => Promise<void>, dropped?: () => void): void {
    this.mailbox.enqueue(run, dropped);
  }

  /** Step, commit, adopt, effects. Everything a turn does goes through here. */
  async advance(event: ChartEvent | TimerEvent, kept?: Checkpoint['deadlines']): Promise<void> {
    const before = this.snapshot;
    const plan = step(this.settings.machine, before, event);
    if (plan === undefined) return;
    this.edit(plan);
    const now = this.settings.clock.now();
    const deadlines = deadlinesAfter(this.timers.deadlines, plan.timers, now, kept);
    if (plan.final) {
      await this.finish(plan);
      return;
    }
    const due = plan.directive === 'forced' || this.isDebounceOver(now) || this.records.hasStoredChanges;
    if (plan.directive !== 'none' && due) await this.writeCheckpoint(plan, deadlines, event);
    else if (this.records.hasStoredChanges) await this.writeFacts();
    await this.adopt(plan, deadlines);
  }

  async writeFacts(): Promise<void> {
    const patch = { waiting: this.waitingIn(this.snapshot, this.timers.deadlines) };
    if (!this.records.hasStoredChanges && equalJson(patch.waiting, this.head.waiting)) return;
    await this.commits.write(this.records.factsToWrite(), patch);
  }

  private async adopt(plan: Plan, deadlines: Deadlines): Promise<void> {
    const before = this.current ?? null;
    this.current = plan.next;
    this.timers.adopt(plan.timers, deadlines);
    if (plan.entered) this.leavePhase(plan);
    for (const event of announcementsOf(before, plan)) this.announce(event, plan.directive === 'forced');
    for (const effect of plan.effects) {
      if (effect === 'runCalls') await this.tools.runCalls();
      else if (effect === 'askPerson') this.tools.askPerson();
      else if (this.closing) continue;
      else if (effect === 'loadSession') void this.model.loadSession();
      else if (effect === 'callModel') void this.model.callModel();
      else this.model.compact();
    }
  }

  /** What the phase before had started is out of date, and is told so. */
  private leavePhase(plan: Plan): void {
    this.generation += 1;
    this.phaseWork.abort(endOf(plan));
    this.phaseWork = new AbortController();
  }

  private edit(plan: Plan): void {
    for (const edit of plan.edits) {
      if (edit === 'joinInput') this.records.joinInput();
      else if (edit === 'expireApprovals') this.records.expireApprovals();
      else if (plan.next.context.cause?.kind === 'modelFault') this.records.nudge(plan.next.context.cause.fault);
    }
  }

  private isDebounceOver(now: number): boolean {
    return now - this.checkpointedAt >= CHECKPOINT_DEBOUNCE_MS;
  }

  private async writeCheckpoint(plan: Plan, deadlines: Deadlines, event: { readonly type: string }): Promise<void> {
    const written = this.records.checkpointToWrite(this.head, plan.phase === 'awaitingReview');
    const patch: Partial<Head> = {
      phase: plan.phase,
      waiting: this.waitingIn(plan.next, deadlines),
      handedOver: event.type === 'turn.handedOver',
      waitingInput: this.records.inbox.length,
    };
    await this.commits.write(written, patch, { checkpoint: this.checkpoint(plan.next, deadlines) });
    this.checkpointedAt = this.settings.clock.now();
  }

  private checkpoint(snapshot: TurnSnapshot, deadlines: Deadlines): Checkpoint {
    return encodeCheckpoint(this.settings.machine, snapshot, {
      turnId: this.turnId,
      revision: this.head.revision + 1,
      savedAt: this.settings.clock.now(),
      deadlines: Object.fromEntries(deadlines),
    });
  }

  /** A turn waits for a person once nothing else is open; gate 4 reads it from the head. */
  private waitingIn(snapshot: TurnSnapshot, deadlines: Deadlines): Head['waiting'] {
    const phase = phaseOf(snapshot);
    const parked = phase === 'awaitingReview' || (phase === 'awaitingApproval' && this.tools.state === 'needsDecision');
    if (!parked) return null;
    const until =
      phase === 'awaitingApproval' && snapshot.context.limits.approvalMs > 0 ? [...deadlines.values()][0] : null;
    return { ...this.records.waitingFor(), until: until ?? null };
  }

  /** A final phase: calls paired, outcome stored, no longer in progress - durable before anybody is told (I8). */
  private async finish(plan: Plan): Promise<void> {
    const now = this.settings.clock.now();
    const { context } = plan.next;
    const status = plan.phase as OutcomeStatus;
    this.records.closeBatch(context.limits.outputBytes, 'cancel');
    const outcome = outcomeOf(status, context, this.records, { reason: this.cancelReason });
    const { head, turnId } = this;
    const reason = outcome.reason === undefined ? {} : { reason: outcome.reason };
    const patch: Partial<Head> = {
      phase: plan.phase,
      inProgress: false,
      handedOver: false,
      waiting: null,
      waitingInput: this.records.inbox.length,
      ended: { kind: status, ...reason, at: now },
      outcomesDue: this.settings.onOutcome === undefined ? head.outcomesDue : [...head.outcomesDue, turnId],
    };
    await this.commits.write(this.records.checkpointToWrite(head, true), patch, {
      checkpoint: null,
      outcomes: [outcomeRecord(outcome, turnId, head, this.records.modelCalls, now)],
    });
    const before = this.current ?? null;
    this.current = plan.next;
    for (const event of announcementsOf(before, plan)) this.announce(event, true);
    this.announce({ type: 'outcome', outcome }, true);
    this.phaseWork.abort(endOf(plan));
    this.end(outcome);
  }

  private announceWritten(written: Written, messages: readonly { readonly meta: { readonly id: string } }[]): void {
    for (const message of messages)
      this.announce({ type: 'message', ...(message as never as object) } as EventBody, true);
    for (const call of written.calls) this.announce(callEvent(call), true);
  }

  private commitFailed(error: TurnError): void {
    this.announce({ type: 'storeFailed', reason: error.message }, false);
    this.mailbox.tellWaiting(error);
  }

  /** Only a person can go on: driver and route are given back. */
  private async parkIfWaiting(): Promise<void> {
    if (this.over || this.current === undefined || this.tools.isRunning) return;
    const waiting = this.waitingIn(this.snapshot, this.timers.deadlines);
    if (waiting === null) return;
    await this.writeFacts();
    const phase = phaseOf(this.snapshot) as 'awaitingApproval' | 'awaitingReview';
    this.end({ status: 'parked', phase, ids: phase === 'awaitingReview' ? waiting.reviews : waiting.approvals });
  }

  /** Somebody else owns the session, or the store is closed: nothing further is done here (I7). */
  private lose(thrown?: unknown): void {
    if (this.over) return;
    if (thrown !== undefined && !(thrown instanceof TurnError)) {
      this.announce({ type: 'storeFailed', reason: `defect: ${String(thrown)}` }, false);
    }
    this.end({ status: 'lost' });
  }

  private end(rest: TurnRest | { readonly status: 'lost' }): void {
    this.over = true;
    this.mailbox.close();
    this.timers.clear();
    this.abortWork(new Error(rest.status));
    this.start.host.rested(this, rest);
  }

  private abortWork(reason: Error): void {
    this.phaseWork.abort(reason);
    this.tools.stop(reason);
  }
}

/** Why what a phase had started is aborted. */
const endOf = (plan: Plan): Error =>
  plan.next.context.cause?.kind === 'hardIdle'
    ? new HardIdleTimeout('The model was silent for too long.')
    : new Error(`The turn went on to ${plan.phase}.`);
