/**
 * Owns the effect `runCalls`: level-triggered, it looks at transcript and journal, starts what may start and reports
 * what is over. That is what makes a restore trivial.
 * Must not know the model or how commits are made.
 */
import { type TurnEvent as ChartEvent, LOOP_WINDOW } from '../../machines/index.js';
import { admitCalls, type BatchFacts, batchState, canGoOn, openDecisions, openDoubts } from '../core/batch.js';
import type { CallRecord } from '../core/records.js';
import { phaseOf } from '../core/step.js';
import type { ToolContext } from '../core/tools.js';
import { type AdmissionFor, rereadCall, undecided } from './admission.js';
import { callEvent } from './announcements.js';
import type { ReadingFor } from './answer.js';
import { CutOff } from './cut-off.js';
import { inTime } from './in-time.js';
import { loopVerdict } from './loop-verdict.js';
import { Reconciliation } from './reconciliation.js';
import { type CallOutcome, contextWith, type Running, runCall } from './tool-calls.js';
import { toolContext } from './tool-context.js';
import type { Foreign, TurnScope } from './turn-scope.js';

/** A result that came back after its turn had gone on without it. */
export type LateOutcome = (call: CallRecord, outcome: CallOutcome) => void;

interface Arrived {
  readonly callId: string;
  readonly dispatch: number;
  readonly outcome: CallOutcome;
}

export class ToolWork {
  private readonly scope: TurnScope;
  private readonly late: LateOutcome;
  private readonly compactionDue: () => boolean;
  private foreign: Foreign = { deps: undefined, tools: {} };
  /** By call id, with the dispatch that runs. */
  private readonly running = new Map<string, { readonly dispatch: number; readonly run: Running }>();
  private readonly reconciliation: Reconciliation;
  /** Calls about which presence has to be asked anew. */
  private readonly readmitting = new Set<string>();
  private arrived: Arrived[] = [];
  private stopped: unknown;
  private quiet: (() => void) | undefined;
  private readonly life = new CutOff();

  constructor(scope: TurnScope, late: LateOutcome, compactionDue: () => boolean) {
    this.scope = scope;
    this.late = late;
    this.compactionDue = compactionDue;
    this.reconciliation = new Reconciliation(scope);
  }

  use(foreign: Foreign): void {
    this.foreign = foreign;
  }

  /** What reading an answer needs of the calls so far. */
  reading(): AdmissionFor & Pick<ReadingFor, 'tools' | 'journal'> {
    const { records } = this.scope;
    return {
      tools: this.foreign.tools,
      journal: records.journal,
      reviews: [...records.reviews.values()],
      attended: this.scope.isAttended,
      isGranted: (toolName) => records.isGranted(toolName),
      context: (call) => contextWith(this.context(call), this.life),
    };
  }

  get isRunning(): boolean {
    const { running, readmitting, arrived, reconciliation } = this;
    return running.size + readmitting.size + arrived.length > 0 || reconciliation.isUnderWay;
  }

  /** Resolves when nothing runs any more, or when the time is over. */
  async quietWithin(ms: number): Promise<void> {
    if (!this.isRunning || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const disarm = this.scope.settings.clock.after(ms, resolve);
      this.quiet = () => {
        disarm();
        resolve();
      };
    });
  }

  /** Nothing of the batch can go on without a person. */
  get waitsForPeople(): boolean {
    return this.state === 'needsDecision' || this.state === 'needsReview';
  }

  private get state(): ReturnType<typeof batchState> {
    return batchState(this.scope.records.batch, this.facts());
  }

  /** Effect: every call that may start starts, or the end of the batch is reported. */
  async runCalls(): Promise<void> {
    const { records } = this.scope;
    const answer = records.answer;
    if (answer === undefined) {
      await this.scope.advance(this.settled());
      return;
    }
    if (!this.scope.closing) admitCalls(records.journal, answer.meta.id, this.facts());
    for (const call of records.batch) if (this.isPending(call)) void this.readmit(call);
    await this.report();
  }

  private isPending(call: CallRecord): boolean {
    return canGoOn([call]) && this.scope.known.admission(call, this.scope.isAttended).kind === 'pending';
  }

  /** Somebody came or left since it was decided whether this call may start. */
  private async readmit(call: CallRecord): Promise<void> {
    if (this.readmitting.has(call.callId) || this.stopped !== undefined) return;
    this.readmitting.add(call.callId);
    const { clock } = this.scope.settings;
    const bounds = { clock, ms: this.scope.snapshot.context.limits.toolMs, gone: this.life };
    const ask = () => rereadCall(call, this.foreign.tools, this.reading());
    // What cannot be decided in time is decided against the call.
    const read = await inTime(bounds, 'the approval of a call', ask).catch(() => undefined);
    this.scope.enqueue(async () => {
      this.readmitting.delete(call.callId);
      this.scope.known.add([read ?? undecided(call, this.scope.known.get(call.callId), this.scope.isAttended)]);
      await this.runCalls();
    });
  }

  /** What a person or a late result says about a call in doubt. Only from within a task. */
  async settle(callId: string, outcome: CallOutcome): Promise<void> {
    this.record(callId, outcome);
    await this.runCalls();
  }

  /** Nothing starts any more; what runs is told why. */
  stop(reason: unknown): void {
    this.stopped = reason;
    this.life.abort(() => reason);
    this.quiet?.();
    for (const { run } of this.running.values()) run.abort(reason);
  }

  /** Sends the event the state of the batch asks for, or makes durable what changed; then starts what was dispatched. */
  private async report(): Promise<void> {
    const event = this.due();
    if (event?.type === 'calls.settled') {
      this.scope.records.appendResults(this.scope.snapshot.context.limits.outputBytes);
    }
    if (event !== undefined) await this.scope.advance(event);
    else await this.scope.writeFacts();
    this.startDispatched();
    if (!this.isRunning) this.quiet?.();
  }

  private due(): ChartEvent | undefined {
    const { records, snapshot } = this.scope;
    const phase = phaseOf(snapshot);
    if (phase === 'awaitingApproval') {
      return openDecisions(records.batch).length === 0 ? { type: 'approvals.decided' } : undefined;
    }
    if (phase === 'awaitingReview') {
      return openDoubts(records.batch).length === 0 ? { type: 'calls.reviewed' } : undefined;
    }
    if (phase !== 'executingTools') return undefined;
    switch (this.state) {
      case 'settled':
        return this.settled();
      case 'needsReview':
        return { type: 'calls.inDoubt' };
      case 'needsDecision':
        return { type: 'approvals.needed' };
      default:
        return undefined;
    }
  }

  /** The batch is over: does the turn go in circles, is the list too long? */
  private settled(): ChartEvent {
    const { settings, records } = this.scope;
    return {
      type: 'calls.settled',
      ...loopVerdict(settings, records.journal.recent(LOOP_WINDOW)),
      compact: this.compactionDue(),
    };
  }

  private startDispatched(): void {
    if (this.scope.closing || this.stopped !== undefined) return;
    for (const call of this.scope.records.batch) {
      if (call.state === 'dispatched' && this.running.get(call.callId)?.dispatch !== call.dispatch) this.start(call);
      else if (this.reconciliation.isAskable(call)) void this.reconcile(call);
    }
  }

  private start(call: CallRecord): void {
    const known = this.scope.known.get(call.callId);
    if (known?.tool === undefined) return;
    this.announceUnwritten(call);
    const { clock } = this.scope.settings;
    const run = runCall(known.tool, call, known.input, this.context(call), {
      clock,
      timeoutMs: this.scope.known.timeoutMs(call, this.scope.snapshot.context.limits.toolMs),
      report: (outcome) => this.arrive(call, outcome),
    });
    this.running.set(call.callId, { dispatch: call.dispatch, run });
  }

  private async reconcile(call: CallRecord): Promise<void> {
    await this.reconciliation.ask(call, this.context(call), this.life.signal, async (outcome) => {
      if (outcome !== undefined) this.record(call.callId, outcome);
      await this.runCalls();
    });
  }

  /** Outcomes that arrive while a commit is under way share the next one. */
  private arrive(call: CallRecord, outcome: CallOutcome): void {
    if (this.stopped !== undefined) {
      this.late(call, outcome);
      return;
    }
    this.arrived.push({ callId: call.callId, dispatch: call.dispatch, outcome });
    if (this.arrived.length > 1) return;
    this.scope.enqueue(
      async () => {
        // One after another: a time-out and the rejection it causes may have come together, and the first one counts.
        let counts = false;
        for (const result of this.takeArrived()) {
          if (!this.belongs(result)) continue;
          this.record(result.callId, result.outcome);
          counts = true;
        }
        if (counts) await this.runCalls();
      },
      () => {
        const { journal } = this.scope.records;
        for (const result of this.takeArrived()) this.late(journal.get(result.callId) as CallRecord, result.outcome);
      },
    );
  }

  private takeArrived(): readonly Arrived[] {
    const arrived = this.arrived;
    this.arrived = [];
    return arrived;
  }

  /** A result belongs to the dispatch it came from, while that is running or in doubt; everything else is dropped. */
  private belongs({ callId, dispatch, outcome }: Arrived): boolean {
    const call = this.scope.records.journal.get(callId);
    if (call === undefined || call.dispatch !== dispatch) return false;
    return call.state === 'dispatched' || (call.state === 'inDoubt' && outcome.kind !== 'inDoubt');
  }

  private record(callId: string, outcome: CallOutcome): void {
    const { journal } = this.scope.records;
    const now = this.scope.settings.clock.now();
    this.running.delete(callId);
    this.reconciliation.forget(callId);
    switch (outcome.kind) {
      case 'succeeded':
        journal.advance(callId, 'call.succeeded', { output: outcome.output, settledAt: now, doubt: null });
        break;
      case 'failed': {
        const { output, definitive } = outcome;
        journal.advance(callId, 'call.failed', { output, definitive, settledAt: now, doubt: null });
        break;
      }
      case 'notStarted':
        journal.advance(callId, 'call.notStarted', { doubt: null });
        break;
      case 'inDoubt':
        journal.advance(callId, 'call.lost', { doubt: outcome.cause });
    }
    this.announceUnwritten(journal.get(callId) as CallRecord);
  }

  /** A call that no checkpoint names yet is progress; the others are announced by their commits (I9). */
  private announceUnwritten(call: CallRecord): void {
    if (!this.scope.records.journal.isStored(call.callId)) this.scope.announce(callEvent(call), false);
  }

  facts(): BatchFacts {
    const { limits } = this.scope.snapshot.context;
    const { isAttended } = this.scope;
    return {
      admission: (call) => this.scope.known.admission(call, isAttended),
      isBeingReconciled: (call) => this.reconciliation.isAskable(call),
      parallelCalls: limits.parallelCalls,
      approvalMs: limits.approvalMs,
      now: this.scope.settings.clock.now(),
    };
  }

  private context(call: Pick<CallRecord, 'callId' | 'idempotencyKey'>): Omit<ToolContext, 'signal'> {
    return toolContext(this.scope, this.foreign.deps, call);
  }
}
