/**
 * Owns one walk of one interrupted turn through the gates. The chart decides; this finds the facts and carries out
 * what the chart asks for. Must not know how sessions are found or how a resumed turn runs.
 */
import type { RecoveryFacts } from '../../machines/index.js';
import { openDoubts } from '../core/batch.js';
import { decodeCheckpoint } from '../core/checkpoint.js';
import { messageOf, TurnError } from '../core/errors.js';
import type { InterruptedEventType } from '../core/events.js';
import { firstGate, type GateStep, nextGate } from '../core/gates.js';
import { isSettled } from '../core/journal.js';
import type { Lease, SessionRecords } from '../core/ports.js';
import type { Checkpoint, Head } from '../core/records.js';
import { phaseOf, type TurnSnapshot } from '../core/step.js';
import type { Tool } from '../core/tools.js';
import { abandon } from './abandon.js';
import { type ReadCall, rereadCall } from './admission.js';
import { buildForeign, setupBounds } from './foreign.js';
import type { HeadWriter } from './head-writer.js';
import type { Tell } from './holds.js';
import { inTime } from './in-time.js';
import { resolveLimits, type TurnInfo } from './options.js';
import type { Answer, Asked } from './recovery.js';
import type { Roster } from './roster.js';
import type { RunningTurn } from './running-turn.js';
import { askingContext } from './tool-context.js';
import { TurnDriver } from './turn-driver.js';
import { turnInfo } from './turn-info.js';
import { TurnRecords } from './turn-records.js';
import type { Foreign } from './turn-scope.js';

/** Everything a resumed turn needs, before it is resumed. */
interface Interrupted {
  readonly session: SessionRecords;
  readonly snapshot: TurnSnapshot;
  readonly deadlines: Checkpoint['deadlines'];
}

export class GateWalk {
  private readonly roster: Roster;
  private readonly writer: HeadWriter;
  private readonly lease: Lease | undefined;
  private readonly asked: Asked;
  private readonly facts: RecoveryFacts;
  private readonly wasParked: boolean;
  /** The head before anything was counted. */
  private readonly found: Head;
  private interrupted: Interrupted | undefined;
  private foreign: Foreign | undefined;
  private records: TurnRecords | undefined;
  private calls: readonly ReadCall[] = [];

  constructor(roster: Roster, head: Head, lease: Lease | undefined, asked: Asked, turnId: string | undefined) {
    this.roster = roster;
    this.lease = lease;
    this.asked = asked;
    this.found = head;
    this.writer = roster.writerOf(head);
    this.wasParked = head.waiting !== null || asked.wasParked === true;
    // An abandoned turn is not in progress, but a person may still ask for it until another turn starts.
    const revivable = asked.byPerson && head.ended?.kind === 'abandoned';
    this.facts = {
      policy: { ...roster.settings.policy, enabled: roster.settings.policy.enabled || asked.byInput === true },
      byPerson: asked.byPerson,
      owned: lease === undefined,
      current: (head.inProgress || revivable) && (turnId === undefined || head.turnId === turnId),
      outcomeDue: head.outcomesDue.length > 0,
      waiting: head.waiting,
      handedOver: head.handedOver,
      lastProgressAt: head.lastProgressAt,
      now: roster.settings.clock.now(),
      attempts: head.attempts,
      recoveries: head.recoveries,
    };
  }

  async run(announce: Tell): Promise<Answer> {
    let step = firstGate(this.facts);
    while (step.kind === 'do') {
      const next = await this.perform(step, announce);
      if (next.kind === 'hold') return this.hold(next, announce);
      step = next;
    }
    return this.conclude(step, announce);
  }

  private async perform({ effect, gates }: GateStep & { kind: 'do' }, announce: Tell): Promise<GateStep | Hold> {
    if (effect === 'countAttempt') {
      await this.countAttempt();
      const counted = this.found.handedOver ? 'handed over: no attempt is counted' : `attempt ${this.head.attempts}`;
      this.tell(announce, 'interrupted_turn_resuming', 'attempt', counted);
      return nextGate(gates, { type: 'attempt.committed' });
    }
    if (effect === 'decodeCheckpoint') {
      const reason = await this.decode();
      return reason === undefined
        ? nextGate(gates, { type: 'checkpoint.decoded' })
        : nextGate(gates, { type: 'checkpoint.unreadable', reason });
    }
    const hold = await this.prepare();
    if (hold !== undefined) return hold;
    const doubts = openDoubts(this.records?.batch ?? []);
    const unreconcilable = doubts.filter((call) => this.toolOf(call.callId)?.reconcile === undefined).length;
    return nextGate(gates, { type: 'doubts.found', unreconcilable });
  }

  /** A turn that goes on after a person's word, in the process that parked it, was not interrupted. */
  private tell(announce: Tell, type: InterruptedEventType, gate: string, reason: string): void {
    if (this.asked.wasParked !== true) announce(type, gate, reason);
  }

  private get head(): Head {
    return this.writer.head;
  }

  /**
   * I4: durable before anything heavy or foreign runs. A turn that was handed over spends nothing, nor does one that
   * was parked in this very process.
   */
  private async countAttempt(): Promise<void> {
    const { head } = this;
    const counted = { attempts: head.attempts + 1, recoveries: head.recoveries + 1 };
    const patch: Partial<Head> = {
      inProgress: true,
      ended: null,
      handedOver: false,
      ...(head.handedOver || this.asked.wasParked === true ? {} : counted),
    };
    await this.writer.write(this.writer.next({}, this.lease as Lease, patch));
  }

  /** The reason why not, where the checkpoint cannot be read. */
  private async decode(): Promise<string | undefined> {
    const { store, settings } = this.roster;
    try {
      const session = await store.load(this.head.sessionId);
      if (session === undefined) return 'the session has no records';
      const decoded = decodeCheckpoint(settings.machine, session.checkpoint, settings.migrate);
      if (!decoded.ok) return decoded.reason;
      if (decoded.snapshot.context.turnId !== this.head.turnId) return 'the checkpoint is of another turn';
      this.interrupted = { session, snapshot: decoded.snapshot, deadlines: decoded.deadlines };
      return undefined;
    } catch (thrown) {
      if (thrown instanceof TurnError && thrown.code === 'TURN_DAMAGED') return thrown.message;
      throw thrown;
    }
  }

  /** Dependencies, tools, and the calls of the batch as this process sees them. */
  private async prepare(): Promise<Hold | undefined> {
    const { session } = this.interrupted as Interrupted;
    const records = new TurnRecords(this.head.turnId as string, session, this.roster.settings);
    records.repair();
    records.journal.loseDispatched('crash');
    this.records = records;
    const { answer } = this.head;
    if (answer !== null && !Object.hasOwn(this.roster.settings.answers ?? {}, answer)) {
      return { kind: 'hold', gate: 'answer', reason: `there is no answer "${answer}" any more`, spent: false };
    }
    try {
      const what = 'dependencies, tools and their approval of the open calls';
      const gone = await inTime(setupBounds(this.roster), what, ({ signal }) => this.askApplication(records, signal));
      // A tool that is gone after a deploy: nobody guesses what its call may have done.
      if (gone === undefined) return undefined;
      return { kind: 'hold', gate: 'tool', reason: `there is no tool "${gone}" any more`, spent: false };
    } catch (thrown) {
      return {
        kind: 'hold',
        gate: 'dependencies',
        reason: messageOf(thrown),
        spent: !this.roster.closing && this.asked.again !== true,
      };
    }
  }

  /** Gives the name of a tool that an open call needs and that is not there. */
  private async askApplication(records: TurnRecords, signal: AbortSignal): Promise<string | undefined> {
    const foreign = await buildForeign(this.roster.settings, this.info(), signal);
    this.foreign = foreign;
    const calls: ReadCall[] = [];
    for (const record of records.batch.filter((call) => !isSettled(call))) {
      const call = await rereadCall(record, foreign.tools, {
        reviews: [...records.reviews.values()],
        attended: this.attended,
        isGranted: (toolName) => records.isGranted(toolName),
        context: (one) => askingContext(this.info(), foreign.deps, one),
      });
      if (call === undefined) return record.toolName;
      calls.push(call);
    }
    this.calls = calls;
    return undefined;
  }

  private async conclude({ verdict, gate, reason }: GateStep & { kind: 'verdict' }, announce: Tell): Promise<Answer> {
    const turnId = this.head.turnId ?? '';
    switch (verdict) {
      case 'deliverOutcome':
        // Told again: a crash may have come between the commit and its event.
        if (this.head.ended?.kind === 'abandoned') {
          const { gate: by = 'person', reason: why = '' } = this.head.ended;
          announce('interrupted_turn_abandoned', by, why);
        }
        break;
      case 'parked':
        this.roster.foundParked(this.head);
        break;
      case 'held':
        announce('interrupted_turn_held', gate, reason);
        break;
      case 'abandoned':
        await abandon(this.roster, this.writer, this.lease as Lease, { gate, reason });
        announce('interrupted_turn_abandoned', gate, reason);
        break;
      case 'resumed':
      case 'reviewRequired': {
        const driver = this.resume();
        const type = verdict === 'resumed' ? 'interrupted_turn_resumed' : 'interrupted_turn_review_required';
        this.tell(announce, type, gate, reason);
        await driver.started;
        return { verdict, turnId, gate, reason, driver: driver.driver };
      }
    }
    return { verdict, turnId, gate, reason };
  }

  /** The turn stays as it was found; what was counted stays counted only where its code ran and failed. */
  private async hold({ gate, reason, spent }: Hold, announce: Tell): Promise<Answer> {
    const { inProgress, ended, handedOver, attempts, recoveries } = this.found;
    const patch = { inProgress, ended, handedOver, ...(spent ? {} : { attempts, recoveries }) };
    await this.writer.write(this.writer.next({}, this.lease as Lease, patch));
    announce('interrupted_turn_held', gate, reason);
    return { verdict: 'held', turnId: this.head.turnId ?? '', gate, reason };
  }

  private resume(): { readonly driver: RunningTurn; readonly started: Promise<void> } {
    const { roster, head } = this;
    const { snapshot, deadlines } = this.interrupted as Interrupted;
    const records = this.records as TurnRecords;
    if (!this.wasParked) records.markResumed(head.attempts);
    const driver = new TurnDriver({
      settings: roster.settings,
      host: roster,
      writer: this.writer,
      records,
      lease: this.lease as Lease,
      attended: this.given,
      attempt: head.attempts,
      interrupted: !this.wasParked,
      foreign: this.foreign as Foreign,
    });
    const running = roster.enlist(driver, false);
    const limits = resolveLimits(roster.settings.limits ?? {}, head.limits, this.attended);
    // What a person was asked keeps the time they were given, whoever is there now.
    const { approvalMs } = phaseOf(snapshot) === 'awaitingApproval' ? snapshot.context.limits : limits;
    const started = driver.resume(snapshot, deadlines, { ...limits, approvalMs }, this.calls);
    const afterMessageId = records.messages.at(-1)?.meta.id ?? null;
    const discarded = { type: 'deltasDiscarded', messageId: null, afterMessageId } as const;
    if (!this.wasParked) driver.announce(discarded, false);
    return { driver: running, started };
  }

  /** Given anew by whoever asks; a parked turn keeps that of its own process. */
  private get given(): boolean {
    const { roster, head, wasParked, asked } = this;
    return asked.attended || (wasParked && roster.presence.hasTurn(head.turnId ?? ''));
  }

  /** Somebody is there at this moment, for whatever reason. */
  private get attended(): boolean {
    return this.given || this.roster.isPresent(this.head.sessionId);
  }

  private toolOf(callId: string): Tool | undefined {
    return this.calls.find((call) => call.record.callId === callId)?.tool;
  }

  private info(): TurnInfo {
    const { attended, head } = this;
    return turnInfo(this.roster.settings, head, { attended, recovered: !this.wasParked, attempt: head.attempts });
  }
}

interface Hold {
  readonly kind: 'hold';
  readonly gate: string;
  readonly reason: string;
  /** Foreign code ran and failed, at a start and not cut off by close(): the attempt counts. */
  readonly spent: boolean;
}
