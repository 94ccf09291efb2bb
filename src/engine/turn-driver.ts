/**
 * Owns the life of one turn in this process: one mailbox, and for every event step, commit, adopt, effect - in this
 * order and never another. Must not know models, tools or storage: effects are in model-work.ts and tool-work.ts,
 * commits in turn-commits.ts, and the chart decides.
 */
import { type TurnEvent as ChartEvent, type Limits, REASON_BYTES } from '../../machines/index.js';
import { messageOf, TurnError } from '../core/errors.js';
import type { EventBody } from '../core/events.js';
import { cutText } from '../core/json.js';
import type { Lease } from '../core/ports.js';
import type { Checkpoint, Head } from '../core/records.js';
import { keepsDeadlines, type Plan, phaseOf, step, type TimerEvent, type TurnSnapshot } from '../core/step.js';
import type { Schema } from '../core/tools.js';
import type { ReadCall } from './admission.js';
import { announcementsOf } from './announcements.js';
import { CompactionWork } from './compaction-work.js';
import { CutOff } from './cut-off.js';
import { type DriverEnd, type DriverStart, endOf } from './driver-start.js';
import type { CommitParts } from './head-writer.js';
import { KnownCalls } from './known-calls.js';
import { Mailbox } from './mailbox.js';
import { ModelWork } from './model-work.js';
import type { Settings, TurnInfo } from './options.js';
import { PersonWork } from './person-work.js';
import { type Deadlines, deadlinesAfter, Timers } from './timers.js';
import { ToolWork } from './tool-work.js';
import { TurnCommits } from './turn-commits.js';
import { turnInfo } from './turn-info.js';
import type { TurnRecords } from './turn-records.js';
import type { TurnScope } from './turn-scope.js';
import { TurnWrites } from './turn-writes.js';

export class TurnDriver implements TurnScope {
  readonly settings: Settings;
  readonly records: TurnRecords;
  readonly lease: Lease;
  generation = 0;
  closing = false;
  private readonly start: DriverStart;
  /** A person is there now; input of somebody who is there brings presence along. */
  attended: boolean;
  /** Why a person ended the turn, for its outcome. */
  cancelReason: string | undefined;
  readonly mailbox: Mailbox;
  readonly commits: TurnCommits;
  readonly tools: ToolWork;
  readonly person: PersonWork;
  readonly known = new KnownCalls();
  private readonly writes: TurnWrites;
  private readonly timers: Timers;
  readonly model: ModelWork;
  private readonly compaction: CompactionWork;
  private current: TurnSnapshot | undefined;
  phaseEnd = new CutOff();
  private over = false;

  constructor(start: DriverStart) {
    this.start = start;
    this.settings = start.settings;
    this.records = start.records;
    this.lease = start.lease;
    this.attended = start.attended;
    this.mailbox = new Mailbox({ idle: () => this.parkIfWaiting(), failed: (thrown) => this.fault(thrown) });
    this.commits = new TurnCommits(start.writer, start.records, start.lease, {
      clock: start.settings.clock,
      activeBefore: start.writer.head.turnId === start.records.turnId ? start.writer.head.activeMs : 0,
      listener: {
        failed: (error) => this.commitFailed(error),
        durable: (durable) => start.host.announcer.written(this, durable),
      },
    });
    this.timers = new Timers(start.settings.clock, (id, take) =>
      this.enqueue(async () => {
        if (take()) await this.advance({ type: id } as TimerEvent);
      }),
    );
    this.compaction = new CompactionWork(this);
    this.tools = new ToolWork(this, start.host.late, () => this.compaction.isDue);
    this.person = new PersonWork(this, this.tools);
    this.model = new ModelWork(this, this.tools, start);
    this.writes = new TurnWrites(this.settings, this.records, this.commits, () => this.tools.waitsForPeople);
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

  get isAttended(): boolean {
    return this.attended || this.start.host.isPresent(this.sessionId);
  }

  get activeMs(): number {
    return this.commits.activeMs;
  }

  get answerSchema(): Schema | undefined {
    const { answer } = this.head;
    return answer === null ? undefined : this.settings.answers?.[answer];
  }

  get head(): Head {
    return this.commits.head;
  }

  info(): TurnInfo {
    const { settings, records } = this;
    const { interrupted, attempt } = this.start;
    const { sessionId, turnId, context, startedAt } = this.head;
    const { usage, modelCalls } = records;
    return turnInfo(
      settings,
      { sessionId, turnId, context, startedAt, usage, modelCalls },
      { attended: this.isAttended, recovered: interrupted, attempt },
    );
  }

  /** The first commit of a turn: its caller still waits, so a failure is theirs and nothing was written. */
  async begin(plan: Plan, head: Partial<Head>, parts: CommitParts): Promise<void> {
    const deadlines = deadlinesAfter(new Map(), plan.timers, this.settings.clock.now());
    await this.writes.begin(plan, deadlines, head, parts);
    this.enqueue(() => this.adopt(plan, deadlines));
  }

  /**
   * The restore arrow: the saved phase, its effect and its timers; stored moments are kept where the chart says so.
   * Resolves when the first effect has started, or cannot yet.
   */
  resume(
    snapshot: TurnSnapshot,
    stored: Checkpoint['deadlines'],
    limits: Limits,
    calls: readonly ReadCall[],
  ): Promise<void> {
    this.current = snapshot;
    if (this.start.foreign !== undefined) this.tools.use(this.start.foreign);
    this.known.add(calls);
    const kept = keepsDeadlines(snapshot) ? stored : {};
    this.timers.restore(kept);
    const started = this.mailbox.ask(
      async () => {
        // First what came while nothing ran, so that it joins at the very next boundary.
        const waiting = this.records.inbox.length;
        if (waiting !== snapshot.context.pendingInput) await this.advance({ type: 'input.arrived', waiting });
        await this.advance({ type: 'turn.resumed', limits }, kept);
      },
      () => undefined,
    );
    // A commit that fails is tried again by this driver, which owns the turn from here on.
    return started.catch(() => undefined);
  }

  announce(event: EventBody, durable: boolean): void {
    this.start.host.announcer.announce(event, this, durable);
  }

  enqueue(run: () => Promise<void>, dropped?: () => void): void {
    this.mailbox.enqueue(run, dropped);
  }

  writeFacts(): Promise<void> {
    return this.writes.facts(this.snapshot, this.timers.deadlines);
  }

  /** Step, commit, adopt, effects. Everything a turn does goes through here. */
  async advance(event: ChartEvent | TimerEvent, kept?: Checkpoint['deadlines']): Promise<void> {
    const before = this.snapshot;
    const plan = step(this.settings.machine, before, event);
    if (plan === undefined) return;
    this.records.edit(plan.edits, plan.next.context.cause);
    const now = this.settings.clock.now();
    const armed = this.timers.deadlines;
    const deadlines = deadlinesAfter(armed, plan.timers, now, kept);
    if (plan.final) {
      await this.finish(plan);
      return;
    }
    await this.makeDurable(plan, deadlines, event.type === 'turn.handedOver');
    // The lease may have been lost meanwhile: then nothing of this is done here.
    if (this.over) return;
    // What counts from the start of work counts from now: the time a commit took is nobody's silence (I13).
    const fresh = () => deadlinesAfter(armed, plan.timers, this.settings.clock.now());
    await this.adopt(plan, keepsDeadlines(plan.next) ? deadlines : fresh());
  }

  /**
   * A debounced checkpoint that came too early is skipped and taken by the next boundary; where something has to be
   * written anyway, it goes along.
   */
  private async makeDurable(plan: Plan, deadlines: Deadlines, handedOver: boolean): Promise<void> {
    const due = plan.directive === 'forced' || !this.writes.hasJustWritten || this.records.hasStoredChanges;
    if (plan.directive === 'none' || !due) return this.writeFacts();
    await this.writes.checkpointAt(plan, deadlines, handedOver);
  }

  private async adopt(plan: Plan, deadlines: Deadlines): Promise<void> {
    const before = this.current ?? null;
    this.current = plan.next;
    this.timers.adopt(plan.timers, deadlines);
    if (plan.entered) {
      // What the phase before had started is out of date.
      this.generation += 1;
      this.phaseEnd.abort(() => endOf(plan));
      this.phaseEnd = new CutOff();
    }
    for (const event of announcementsOf(before, plan)) this.announce(event, plan.directive === 'forced');
    for (const effect of plan.effects) {
      if (effect === 'runCalls') await this.tools.runCalls();
      else if (effect === 'askPerson') await this.person.look();
      else if (this.closing) continue;
      else if (effect === 'loadSession') void this.model.loadSession();
      else if (effect === 'callModel') void this.model.callModel();
      else void this.compaction.compact();
    }
  }

  private async finish(plan: Plan): Promise<void> {
    const outcome = await this.writes.end(plan, this.cancelReason);
    const before = this.current ?? null;
    this.current = plan.next;
    for (const event of announcementsOf(before, plan)) this.announce(event, true);
    this.announce({ type: 'outcome', outcome }, true);
    this.phaseEnd.abort(() => endOf(plan));
    this.end(outcome);
  }

  private commitFailed(error: TurnError): void {
    this.announce({ type: 'storeFailed', reason: error.message }, false);
    this.mailbox.tellWaiting(error);
  }

  /** Only a person can go on: driver and route are given back. */
  private async parkIfWaiting(): Promise<void> {
    if (this.over || this.current === undefined || this.tools.isRunning) return;
    const waiting = this.writes.waitingIn(this.snapshot, this.timers.deadlines);
    // A deadline that has passed is a timer about to fire: there is nothing to wait for.
    if (waiting === null || (waiting.until !== null && waiting.until <= this.settings.clock.now())) return;
    await this.writeFacts();
    this.person.askPerson();
    const phase = phaseOf(this.snapshot) as 'awaitingApproval' | 'awaitingReview';
    this.end({ status: 'parked', phase, ids: [...waiting.approvals, ...waiting.reviews] });
  }

  /**
   * A task threw. What the store says about ownership ends this driver; anything else is a fault of the turn, which the
   * chart has an end for - and where even that end cannot be stored, the next start finds the turn as it was.
   */
  private async fault(thrown: unknown): Promise<void> {
    if (thrown instanceof TurnError && thrown.code.startsWith('TURN_STORE')) return this.lose(thrown);
    if (thrown instanceof TurnError && thrown.code === 'TURN_CONFLICT') return this.lose(thrown);
    if (this.over || this.current === undefined) return this.lose(thrown);
    try {
      await this.advance({ type: 'turn.faulted', reason: cutText(messageOf(thrown), REASON_BYTES) });
    } catch (again) {
      this.lose(again);
    }
  }

  /** Somebody else owns the session, or the store is closed: nothing further is done here (I7). */
  private lose(thrown?: unknown): void {
    if (this.over) return;
    const reason = thrown === undefined ? 'the lease was lost' : messageOf(thrown);
    this.announce({ type: 'driverLost', reason }, false);
    this.end({ status: 'lost' });
  }

  /** Nothing further is done here; whatever still runs is told. */
  end(rest: DriverEnd): void {
    if (this.over) return;
    this.over = true;
    // What still runs is out of date: it talks to nobody.
    this.generation += 1;
    this.mailbox.close();
    this.timers.clear();
    this.abortWork(new Error(rest.status));
    this.start.host.rested(this, rest);
  }

  abortWork(reason: Error): void {
    this.phaseEnd.abort(() => reason);
    this.tools.stop(reason);
  }
}
