/**
 * Owns what goes into each kind of commit of a turn: its begin, a checkpoint, bare facts, its end.
 * Must not know when one is due; the driver follows the directives of the chart.
 */
import { CHECKPOINT_DEBOUNCE_MS } from '../../machines/index.js';
import { encodeCheckpoint } from '../core/checkpoint.js';
import type { TurnOutcome } from '../core/events.js';
import { equalJson } from '../core/json.js';
import type { Checkpoint, Head, OutcomeStatus } from '../core/records.js';
import { type Plan, phaseOf, type TurnSnapshot } from '../core/step.js';
import type { CommitParts } from './head-writer.js';
import type { Settings } from './options.js';
import { outcomeOf, outcomeRecord, withDue } from './outcome.js';
import type { Deadlines } from './timers.js';
import type { TurnCommits } from './turn-commits.js';
import type { TurnRecords } from './turn-records.js';

export class TurnWrites {
  private readonly settings: Settings;
  private readonly records: TurnRecords;
  private readonly commits: TurnCommits;
  /** Whether only people can go on, which the batch knows. */
  private readonly onlyPeople: () => boolean;
  private checkpointedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings, records: TurnRecords, commits: TurnCommits, onlyPeople: () => boolean) {
    this.settings = settings;
    this.records = records;
    this.commits = commits;
    this.onlyPeople = onlyPeople;
  }

  /** The first commit of a turn: its caller still waits, so a failure is theirs and nothing was written. */
  async begin(plan: Plan, deadlines: Deadlines, head: Partial<Head>, parts: CommitParts): Promise<void> {
    const written = this.records.checkpointToWrite(this.commits.head, false);
    const checkpoint = this.checkpoint(plan.next, deadlines);
    await this.commits.tryWrite(written, { ...head, phase: plan.phase }, { ...parts, checkpoint });
    this.checkpointedAt = this.settings.clock.now();
  }

  /**
   * The last checkpoint is so young that a debounced one can wait for the next boundary. Where the clock was set back
   * meanwhile, nobody knows how old it is.
   */
  get hasJustWritten(): boolean {
    const age = this.settings.clock.now() - this.checkpointedAt;
    return age >= 0 && age < CHECKPOINT_DEBOUNCE_MS;
  }

  async checkpointAt(plan: Plan, deadlines: Deadlines, handedOver: boolean): Promise<void> {
    const waiting = this.waitingIn(plan.next, deadlines);
    const written = this.records.checkpointToWrite(this.commits.head, waiting !== null);
    const patch: Partial<Head> = {
      phase: plan.phase,
      waiting,
      handedOver,
      waitingInput: this.records.inbox.length,
    };
    await this.commits.write(written, patch, { checkpoint: this.checkpoint(plan.next, deadlines) });
    this.checkpointedAt = this.settings.clock.now();
  }

  /** Outcomes, notes and dispatches as they come; the snapshot stays that of the last checkpoint. */
  async facts(snapshot: TurnSnapshot, deadlines: Deadlines): Promise<void> {
    const waiting = this.waitingIn(snapshot, deadlines);
    const { head } = this.commits;
    const refusal = this.records.compactionRefusedAt !== head.compactionRefusedAt;
    if (!this.records.hasStoredChanges && !refusal && equalJson(waiting, head.waiting)) return;
    await this.commits.write(this.records.factsToWrite(waiting !== null), { waiting });
  }

  /** A final phase: calls paired, outcome stored, no longer in progress - durable before anybody is told (I8). */
  async end(plan: Plan, cancelReason: string | undefined): Promise<TurnOutcome> {
    const { settings, records } = this;
    const { head } = this.commits;
    const { turnId } = records;
    const now = settings.clock.now();
    const { context } = plan.next;
    const status = plan.phase as OutcomeStatus;
    records.closeBatch(context.limits.outputBytes, 'cancel');
    const outcome = outcomeOf(status, context, records, { reason: cancelReason });
    const patch: Partial<Head> = {
      phase: plan.phase,
      inProgress: false,
      handedOver: false,
      waiting: null,
      waitingInput: records.inbox.length,
      ended: { kind: status, ...(outcome.reason === undefined ? {} : { reason: outcome.reason }), at: now },
      outcomesDue: settings.onOutcome === undefined ? head.outcomesDue : withDue(head.outcomesDue, turnId),
    };
    await this.commits.write(records.checkpointToWrite(head, true), patch, {
      checkpoint: null,
      outcomes: [outcomeRecord(outcome, turnId, head, records.modelCalls, now)],
    });
    return outcome;
  }

  /** A turn waits for a person once nothing else is open; gate 4 reads it from the head. */
  waitingIn(snapshot: TurnSnapshot, deadlines: Deadlines): Head['waiting'] {
    const phase = phaseOf(snapshot);
    if (phase === 'awaitingReview') {
      const waiting = this.records.waitingFor();
      // With everything settled the turn goes on by itself: killed now, a head that says "waits" parks it for ever.
      return waiting.reviews.length === 0 ? null : { ...waiting, until: null };
    }
    if (phase !== 'awaitingApproval' || !this.onlyPeople()) return null;
    const until = snapshot.context.limits.approvalMs > 0 ? [...deadlines.values()][0] : undefined;
    return { ...this.records.waitingFor(), until: until ?? null };
  }

  private checkpoint(snapshot: TurnSnapshot, deadlines: Deadlines): Checkpoint {
    return encodeCheckpoint(this.settings.machine, snapshot, {
      turnId: this.records.turnId,
      revision: this.commits.head.revision + 1,
      savedAt: this.settings.clock.now(),
      deadlines: Object.fromEntries(deadlines),
    });
  }
}
