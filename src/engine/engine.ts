/**
 * Owns the public engine: it puts the parts together and gives them one face.
 * Must not do anything itself that a part could own.
 */

import type { DecisionResult } from '../core/batch.js';
import { describeTools, type ToolDescription } from '../core/describe-tools.js';
import { TurnError } from '../core/errors.js';
import type { Approval, FollowEvent, Review, SessionEvents, TurnOutcome } from '../core/events.js';
import { checkId, sessionOfTurn } from '../core/ids.js';
import type { Json } from '../core/json.js';
import type { Message } from '../core/messages.js';
import type { BackupProgress, TurnStore } from '../core/ports.js';
import { type ApprovalDecision, Approvals } from './approvals.js';
import { NOBODY } from './background.js';
import { checkGrace, checkOptions, checkRecover } from './check-options.js';
import { Delivery } from './delivery.js';
import { type FollowOptions, follow } from './follow.js';
import { Housekeeping } from './housekeeping.js';
import type { Accepted, Input } from './input.js';
import { Intake } from './intake.js';
import { interruptedTurns, sessionOf } from './look-up.js';
import { Looks } from './looks.js';
import type { EngineOptions, Settings } from './options.js';
import { Parked } from './parked.js';
import { People, type SettleBy } from './people.js';
import { AGAIN, type Asked, AT_DEADLINE, AT_START, Recovery, type RecoveryReport } from './recovery.js';
import { Roster } from './roster.js';
import { Rounds } from './rounds.js';
import type { InterruptedTurn, RecoverOptions, Session, TurnEngine } from './turn-engine.js';
import { type CancelOptions, type Turn, TurnHandles } from './turn-handles.js';

/** @throws {TypeError} names the option and the fix. */
export function createTurnEngine<D = undefined, X = Json>(options: EngineOptions<D, X>): TurnEngine<X> {
  const settings = checkOptions(options);
  claim(settings);
  return new Engine(settings) as TurnEngine<X>;
}

/** Agents with an engine, by store: two of one agent would take each other's turns away (I7). */
const claims = new WeakMap<TurnStore, Set<string>>();

function claim({ store, agent }: Settings): void {
  const agents = claims.get(store) ?? new Set<string>();
  if (agents.has(agent)) {
    throw new TypeError(`agent "${agent}" has an engine on this store already; use that one, or close() it first.`);
  }
  claims.set(store, agents.add(agent));
}

class Engine implements TurnEngine {
  private readonly roster: Roster;
  private readonly looks: Looks;
  private readonly recovery: Recovery;
  private readonly intake: Intake;
  private readonly people: People;
  private readonly housekeeping: Housekeeping;
  private readonly decisions: Approvals;
  private readonly parked: Parked;
  private readonly rounds: Rounds;
  private closed: Promise<void> | undefined;

  constructor(settings: ReturnType<typeof checkOptions>) {
    const handles = new TurnHandles((turnId, options) => this.cancelTurn(turnId, options));
    const roster = new Roster(settings, handles);
    const delivery = new Delivery(roster);
    this.roster = roster;
    this.looks = new Looks(roster);
    this.recovery = new Recovery(roster, (turnId) => delivery.deliver(turnId));
    this.intake = new Intake(roster, this.recovery);
    this.people = new People(roster, this.recovery);
    this.housekeeping = new Housekeeping(roster);
    this.decisions = new Approvals(roster, this.recovery);
    this.parked = new Parked(settings.clock, ({ sessionId, turnId }) =>
      this.recovery.askLater(sessionId, turnId, AT_DEADLINE),
    );
    this.rounds = new Rounds(settings.clock, () =>
      roster.background.run(NOBODY, async () => {
        if (!roster.closing) await this.recoverOnce(AGAIN);
      }),
    );
    roster.listener = {
      ended: (turn) => {
        this.parked.remove(turn.turnId);
        void roster.background.run(turn, () => delivery.deliver(turn.turnId));
        roster.background.untilStored(turn, () => this.intake.startWaiting(turn.sessionId));
      },
      parked: ({ sessionId, turnId }, until) => {
        if (until !== null) this.parked.add(sessionId, turnId, until);
      },
      late: (call, outcome) =>
        void roster.background.run({ sessionId: sessionOfTurn(call.turnId) ?? '', turnId: call.turnId }, () =>
          this.people.settleLate(call, outcome),
        ),
    };
  }

  sendMessage(input: Input): Promise<Accepted> {
    return this.intake.send(input);
  }

  startTurn(input: Input): Promise<Turn> {
    return this.intake.start(input);
  }

  activeTurn(sessionId: string): Turn | undefined {
    checkId(sessionId, 'sessionId');
    const running = this.roster.driverOf(sessionId);
    if (running !== undefined) return running.handle;
    const parked = this.roster.parkedIn(sessionId);
    return parked === undefined ? undefined : this.roster.handles.of(parked);
  }

  session(sessionId: string): Promise<Session | undefined> {
    return sessionOf(this.roster, sessionId);
  }

  follow(sessionId: string, options?: FollowOptions): AsyncIterableIterator<FollowEvent> & SessionEvents {
    return follow(this.roster, this.looks, sessionId, options);
  }

  async recover(options: RecoverOptions = {}): Promise<RecoveryReport> {
    const { concurrency, everyMs } = checkRecover(options);
    if (this.roster.closing) throw new TurnError('TURN_ENGINE_CLOSING', 'this engine is closing');
    try {
      return await this.recoverOnce(AT_START, concurrency);
    } finally {
      // A store that fails now may work at the next round.
      if (everyMs !== undefined) this.rounds.start(everyMs);
    }
  }

  private async recoverOnce(asked: Asked, concurrency?: number): Promise<RecoveryReport> {
    const report = await this.recovery.recoverAll(asked, concurrency);
    for (const sessionId of await this.roster.store.waitingInput(this.roster.settings.agent)) {
      this.roster.background.untilStored({ sessionId, turnId: '' }, () => this.intake.startWaiting(sessionId));
    }
    return report;
  }

  interrupted(): Promise<readonly InterruptedTurn[]> {
    return interruptedTurns(this.roster);
  }

  resumeTurn(turnId: string, by: { readonly person: string }): Promise<Turn> {
    return this.people.resume(turnId, by);
  }

  abandonTurn(turnId: string, reason: string): Promise<void> {
    return this.people.abandon(turnId, reason);
  }

  cancelTurn(turnId: string, options?: CancelOptions): Promise<TurnOutcome> {
    return this.people.cancel(turnId, options);
  }

  describeTools(): readonly ToolDescription[] {
    const { tools } = this.roster.settings;
    if (typeof tools === 'function') throw new TypeError('tools is a function of the turn; use describeTools(set).');
    return describeTools(tools ?? {});
  }

  approvals(filter?: { readonly sessionId?: string }): Promise<readonly Approval[]> {
    return this.decisions.list(filter);
  }

  decideApproval(id: string, decision: ApprovalDecision): Promise<DecisionResult> {
    return this.decisions.decide(id, decision);
  }

  async attend(sessionId: string, by: { readonly person: string; readonly forMs: number }): Promise<void> {
    this.decisions.attend(sessionId, by);
  }

  reviews(filter?: { readonly sessionId?: string }): Promise<readonly Review[]> {
    return this.people.reviews(filter);
  }

  settleCall(turnId: string, callId: string, settlement: SettleBy): Promise<void> {
    return this.people.settle(turnId, callId, settlement);
  }

  withdrawMessage(sessionId: string, messageId: string): Promise<'withdrawn' | 'alreadyJoined'> {
    return this.housekeeping.withdraw(sessionId, messageId);
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.housekeeping.remove(sessionId);
  }

  pruneSessions(options: { readonly olderThanMs: number }): Promise<number> {
    return this.housekeeping.prune(options);
  }

  exportSession(sessionId: string): AsyncIterable<string> {
    return this.housekeeping.exportSession(sessionId);
  }

  importSession(sessionId: string, messages: readonly Message[]): Promise<void> {
    return this.housekeeping.importSession(sessionId, messages);
  }

  backup(folder: string, options?: { onProgress?(progress: BackupProgress): void }): Promise<BackupProgress> {
    return this.housekeeping.backup(folder, options);
  }

  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    const graceMs = checkGrace(options);
    this.closed ??= this.handOver(graceMs);
    return this.closed;
  }

  private async handOver(graceMs: number): Promise<void> {
    const { roster } = this;
    roster.closing = true;
    this.rounds.stop();
    this.parked.clear();
    const leave = (): void => roster.gone.abort(() => new Error('The process is closing.'));
    if (graceMs === 0) leave();
    const disarm = roster.settings.clock.after(graceMs, leave);
    const first = await Promise.allSettled(roster.allDrivers().map((driver) => driver.handOver(graceMs)));
    await roster.sessions.idle();
    // What began meanwhile is handed over as well.
    const rest = await Promise.allSettled(roster.allDrivers().map((driver) => driver.handOver(0)));
    await roster.background.idle();
    disarm();
    roster.handles.handOverAll();
    roster.announcer.feeds.close();
    claims.get(roster.store)?.delete(roster.settings.agent);
    // One turn that could not be handed over kept none of the others from it.
    for (const result of [...first, ...rest]) if (result.status === 'rejected') throw result.reason;
  }
}
