/**
 * Owns the public engine: it puts the parts together and gives them one face.
 * Must not do anything itself that a part could own.
 */
import type { DecisionResult } from '../core/batch.js';
import { TurnError } from '../core/errors.js';
import type { Approval, Review, TurnOutcome } from '../core/events.js';
import { checkId } from '../core/ids.js';
import type { Json } from '../core/json.js';
import type { StoredMessage, Usage } from '../core/messages.js';
import type { Phase } from '../core/records.js';
import { type ApprovalDecision, Approvals } from './approvals.js';
import { Delivery } from './delivery.js';
import { type Accepted, type Input, Intake } from './intake.js';
import { checkOptions, type EngineOptions } from './options.js';
import { Parked } from './parked.js';
import { People, type SettleBy } from './people.js';
import { Recovery, type RecoveryReport } from './recovery.js';
import { Roster } from './roster.js';
import { type CancelOptions, type Turn, TurnHandles } from './turn-handles.js';

/** A turn that is in progress on disk and has no driver in this process. */
export interface InterruptedTurn {
  readonly sessionId: string;
  readonly turnId: string;
  readonly phase: Phase;
  readonly attempts: number;
  /** ms since the epoch. */
  readonly lastProgressAt: number | null;
  /** It waits for a person, who has until then (ms since the epoch), or as long as they like. */
  readonly waiting: { readonly until: number | null } | null;
}

/** A conversation as it is on disk. */
export interface Session {
  readonly id: string;
  /** What the latest turn used. */
  readonly usage: Usage;
  readonly inProgress: boolean;
  readonly turnId: string | null;
  readonly phase: Phase | null;
  messages(): Promise<readonly StoredMessage[]>;
}

export interface TurnEngine<X = Json> {
  /**
   * The one way in: durable and de-duplicated by `messageId` before it resolves. Starts a turn, joins the running one
   * at its next boundary, or waits for its route.
   * @throws {TypeError} names the field. @throws {TurnError} TURN_INBOX_FULL, TURN_ENGINE_CLOSING, TURN_STORE_FAILED,
   * TURN_TOO_LARGE, TURN_OUTCOMES_DUE.
   */
  sendMessage(input: Input<X>): Promise<Accepted>;
  /** The same, refused where the session or its route has anything else to do. @throws {TurnError} also TURN_BUSY. */
  startTurn(input: Input<X>): Promise<Turn>;
  /** The turn that is in progress in this process, running or parked. */
  activeTurn(sessionId: string): Turn | undefined;
  session(sessionId: string): Promise<Session | undefined>;
  /** Gives every interrupted turn of this agent its verdict, newest first; call it at start-up. */
  recover(options?: { readonly concurrency?: number }): Promise<RecoveryReport>;
  interrupted(): Promise<readonly InterruptedTurn[]>;
  /** A person says: go on. Skips the gates that ask whether it is wise. @throws {TurnError} TURN_NOT_RESUMABLE. */
  resumeTurn(turnId: string, by: { readonly person: string }): Promise<Turn>;
  /** @throws {TurnError} TURN_NOT_FOUND, TURN_BUSY. */
  abandonTurn(turnId: string, reason: string): Promise<void>;
  /**
   * Durable when it resolves: a cancelled turn never comes back. Running, parked, interrupted and unreadable turns
   * alike; a turn that ended before keeps its outcome. @throws {TurnError} TURN_NOT_FOUND, TURN_STORE_FAILED.
   */
  cancelTurn(turnId: string, options?: CancelOptions): Promise<TurnOutcome>;
  /** Calls that wait for a decision, of all turns of this agent, running and parked. */
  approvals(filter?: { readonly sessionId?: string }): Promise<readonly Approval[]>;
  /**
   * Durable when it resolves. A decision is used up by the dispatch it allowed. `expired`: the deadline had passed.
   * @throws {TypeError} also when the edited input is not one the tool takes. @throws {TurnError} TURN_NOT_FOUND.
   */
  decideApproval(id: string, decision: ApprovalDecision): Promise<DecisionResult>;
  /**
   * Somebody is there, as an authenticated request shows: approvals may be asked, grants hold. For this process and
   * this time only; never stored.
   */
  attend(sessionId: string, by: { readonly person: string; readonly forMs: number }): Promise<void>;
  /** Calls whose outcome only a person can tell, of all turns of this agent. */
  reviews(filter?: { readonly sessionId?: string }): Promise<readonly Review[]>;
  /** Durable when it resolves; a turn that waits for it goes on. @throws {TurnError} TURN_CALL_NOT_IN_DOUBT. */
  settleCall(turnId: string, callId: string, settlement: SettleBy): Promise<void>;
  /**
   * Hands over: refuses new input, lets tools settle up to `graceMs` (default 5,000), checkpoints, keeps the markers.
   * Spends no attempt. The store stays open.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** @throws {TypeError} names the option and the fix. */
export function createTurnEngine<D = undefined, X = Json>(options: EngineOptions<D, X>): TurnEngine<X> {
  return new Engine(checkOptions(options)) as TurnEngine<X>;
}

const CLOSE_GRACE_MS = 5_000;

class Engine implements TurnEngine {
  private readonly roster: Roster;
  private readonly recovery: Recovery;
  private readonly intake: Intake;
  private readonly people: People;
  private readonly decisions: Approvals;
  private readonly parked: Parked;
  private closed: Promise<void> | undefined;

  constructor(settings: ReturnType<typeof checkOptions>) {
    const handles = new TurnHandles((turnId, options) => this.cancelTurn(turnId, options));
    const roster = new Roster(settings, handles);
    const delivery = new Delivery(roster);
    this.roster = roster;
    this.recovery = new Recovery(roster, async (_sessionId, turnIds) => {
      for (const turnId of turnIds) await delivery.deliver(turnId);
    });
    this.intake = new Intake(roster, this.recovery);
    this.people = new People(roster, this.recovery);
    this.decisions = new Approvals(roster, this.recovery);
    this.parked = new Parked(settings.clock, ({ sessionId, turnId }) =>
      roster.inBackground({ sessionId, turnId }, () => this.recovery.recoverOne(sessionId, turnId)),
    );
    roster.listener = {
      ended: (turn) => {
        this.parked.remove(turn.turnId);
        roster.inBackground(turn, () => delivery.deliver(turn.turnId));
        roster.inBackground(turn, () => this.intake.startWaiting(turn.sessionId));
      },
      parked: ({ sessionId, turnId }, until) => {
        if (until !== null) this.parked.add(sessionId, turnId, until);
      },
      late: (call, outcome) =>
        roster.inBackground({ sessionId: '', turnId: call.turnId }, () => this.people.settleLate(call, outcome)),
    };
  }

  sendMessage(input: Input): Promise<Accepted> {
    return settled(() => this.intake.send(input));
  }

  startTurn(input: Input): Promise<Turn> {
    return settled(() => this.intake.start(input));
  }

  activeTurn(sessionId: string): Turn | undefined {
    checkId(sessionId, 'sessionId');
    const running = this.roster.driverOf(sessionId);
    if (running !== undefined) return running.handle;
    const parked = this.roster.parkedIn(sessionId);
    return parked === undefined ? undefined : this.roster.handles.of(parked);
  }

  async session(sessionId: string): Promise<Session | undefined> {
    checkId(sessionId, 'sessionId');
    const head = await this.roster.store.head(sessionId);
    if (head === undefined) return undefined;
    const { usage, inProgress, turnId, phase } = head;
    return { id: sessionId, usage, inProgress, turnId, phase, messages: () => this.roster.store.messages(sessionId) };
  }

  async recover(options: { readonly concurrency?: number } = {}): Promise<RecoveryReport> {
    const { concurrency } = options;
    if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency > 0)) {
      throw new TypeError('concurrency must be a whole number of at least 1.');
    }
    if (this.roster.closing) throw new TurnError('TURN_ENGINE_CLOSING', 'this engine is closing');
    const report = await this.recovery.recoverAll(concurrency);
    for (const sessionId of await this.roster.store.waitingInput(this.roster.settings.agent)) {
      await this.intake.startWaiting(sessionId);
    }
    return report;
  }

  async interrupted(): Promise<readonly InterruptedTurn[]> {
    const found: InterruptedTurn[] = [];
    for (const { sessionId } of await this.roster.store.markers(this.roster.settings.agent)) {
      const head = await this.roster.store.head(sessionId);
      if (head === undefined || !head.inProgress || this.roster.driverOf(sessionId) !== undefined) continue;
      const { turnId, phase, attempts, lastProgressAt, waiting } = head;
      found.push({
        sessionId,
        turnId: turnId as string,
        phase: phase as Phase,
        attempts,
        lastProgressAt,
        waiting: waiting === null ? null : { until: waiting.until },
      });
    }
    return found;
  }

  resumeTurn(turnId: string, by: { readonly person: string }): Promise<Turn> {
    return settled(() => this.people.resume(turnId, by));
  }

  abandonTurn(turnId: string, reason: string): Promise<void> {
    return settled(() => this.people.abandon(turnId, reason));
  }

  cancelTurn(turnId: string, options?: CancelOptions): Promise<TurnOutcome> {
    return settled(() => this.people.cancel(turnId, options));
  }

  approvals(filter?: { readonly sessionId?: string }): Promise<readonly Approval[]> {
    return this.decisions.list(filter);
  }

  decideApproval(id: string, decision: ApprovalDecision): Promise<DecisionResult> {
    return settled(() => this.decisions.decide(id, decision));
  }

  attend(sessionId: string, by: { readonly person: string; readonly forMs: number }): Promise<void> {
    return settled(async () => this.decisions.attend(sessionId, by));
  }

  reviews(filter?: { readonly sessionId?: string }): Promise<readonly Review[]> {
    return this.people.reviews(filter);
  }

  settleCall(turnId: string, callId: string, settlement: SettleBy): Promise<void> {
    return settled(() => this.people.settle(turnId, callId, settlement));
  }

  close({ graceMs = CLOSE_GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.closed ??= this.handOver(graceMs);
    return this.closed;
  }

  private async handOver(graceMs: number): Promise<void> {
    this.roster.closing = true;
    this.parked.clear();
    await Promise.all(this.roster.allDrivers().map((driver) => driver.handOver(graceMs)));
    await this.roster.sessions.idle();
    // What began between the two lines above is handed over as well.
    await Promise.all(this.roster.allDrivers().map((driver) => driver.handOver(0)));
    await this.roster.settleBackground();
    this.roster.handles.handOverAll();
  }
}

/** Bad input rejects like everything else: callers need one way to handle errors. */
async function settled<T>(work: () => Promise<T>): Promise<T> {
  return work();
}
