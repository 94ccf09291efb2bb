/**
 * Owns which sessions this engine may touch, and who is at work on each in this process: a driver, or nobody while its
 * turn waits for a person. Must not know how turns begin, recover or end; it connects those who do.
 */
import type { TurnOutcome, TurnRest } from '../core/events.js';
import type { Lease, TurnStore } from '../core/ports.js';
import type { Head } from '../core/records.js';
import { Announcer } from './announcer.js';
import { Background } from './background.js';
import { CutOff } from './cut-off.js';
import type { DriverEnd, DriverHost, TurnName } from './driver-start.js';
import { HeadWriter } from './head-writer.js';
import type { Settings } from './options.js';
import { Presence } from './presence.js';
import { Routes } from './routes.js';
import { RunningTurn } from './running-turn.js';
import { Serial } from './serial.js';
import type { LateOutcome } from './tool-work.js';
import type { TurnDriver } from './turn-driver.js';
import type { TurnHandles } from './turn-handles.js';

/** What has to happen in the engine when a driver is done. */
export interface RestListener {
  ended(turn: TurnName): void;
  /** `until`: the deadline of the wait, ms since the epoch. */
  parked(turn: TurnName, until: number | null): void;
  late: LateOutcome;
}

export class Roster implements DriverHost {
  readonly settings: Settings;
  readonly store: TurnStore;
  readonly handles: TurnHandles;
  /** One piece of work at a time on a session that has no driver. */
  readonly sessions = new Serial();
  readonly presence: Presence;
  readonly announcer: Announcer;
  readonly background: Background;
  readonly routes: Routes;
  /** Set once, when everything that listens exists. */
  listener: RestListener | undefined;
  closing = false;
  /** Aborts when the process waits no longer for code of the application. */
  readonly gone = new CutOff();
  private readonly drivers = new Map<string, RunningTurn>();
  /** Turns that wait for a person, by session. */
  private readonly parkedTurns = new Map<string, string>();

  constructor(settings: Settings, handles: TurnHandles) {
    this.settings = settings;
    this.store = settings.store;
    this.handles = handles;
    this.presence = new Presence(settings.clock);
    this.announcer = new Announcer(settings);
    this.background = new Background(settings.clock, this.announcer, this);
    this.routes = new Routes(this.store, this.background, this);
  }

  /** @throws {TypeError} for a session of another agent: an engine touches only its own. */
  async head(sessionId: string): Promise<Head | undefined> {
    const head = await this.store.head(sessionId);
    if (head !== undefined) this.checkOwn(head);
    return head;
  }

  /** @throws {TypeError} */
  checkOwn({ sessionId, agent }: Head): void {
    if (agent === this.settings.agent) return;
    throw new TypeError(
      `sessionId: session "${sessionId}" belongs to agent "${agent}", this engine is "${this.settings.agent}".`,
    );
  }

  /** For a commit without a driver, or for the driver to come. */
  writerOf(head: Head): HeadWriter {
    return new HeadWriter(this.store, this.settings.clock, head);
  }

  driverOf(sessionId: string): RunningTurn | undefined {
    return this.drivers.get(sessionId);
  }

  allDrivers(): readonly RunningTurn[] {
    return [...this.drivers.values()];
  }

  enlist(driver: TurnDriver, attended: boolean): RunningTurn {
    const running = new RunningTurn(driver, this.handles.started(driver.turnId));
    this.drivers.set(driver.sessionId, running);
    this.parkedTurns.delete(driver.sessionId);
    if (attended) this.presence.noteTurn(driver.turnId);
    return running;
  }

  /** The turn of a session that waits for a person, where this process knows of it. */
  parkedIn(sessionId: string): string | undefined {
    return this.parkedTurns.get(sessionId);
  }

  /** A turn came to rest until a person comes, or until its deadline. */
  private park({ sessionId, turnId }: TurnName, waiting: NonNullable<Head['waiting']>, rest: TurnRest): void {
    this.parkedTurns.set(sessionId, turnId);
    this.handles.rested(turnId, rest);
    this.listener?.parked({ sessionId, turnId }, waiting.until);
  }

  /** Found parked: its deadline is watched, and whoever asks for its rest learns it. */
  foundParked({ sessionId, turnId, phase, waiting }: Head): void {
    if (waiting === null) return;
    const ids = [...waiting.approvals, ...waiting.reviews];
    const asks = phase === 'awaitingReview' ? 'awaitingReview' : 'awaitingApproval';
    this.park({ sessionId, turnId: turnId as string }, waiting, { status: 'parked', phase: asks, ids });
  }

  /** A turn that ended without a driver: parked, interrupted or unreadable. */
  endResting({ sessionId, turnId }: TurnName, outcome: TurnOutcome): void {
    this.announcer.announce({ type: 'outcome', outcome }, { sessionId, turnId }, true);
    if (this.parkedTurns.get(sessionId) === turnId) this.parkedTurns.delete(sessionId);
    this.presence.forgetTurn(turnId);
    this.handles.rested(turnId, outcome);
    this.listener?.ended({ sessionId, turnId });
  }

  isPresent(sessionId: string): boolean {
    return this.presence.isIn(sessionId);
  }

  rested(driver: TurnName & { readonly lease: Lease; readonly head: Head }, end: DriverEnd): void {
    if (this.drivers.get(driver.sessionId)?.turnId === driver.turnId) this.drivers.delete(driver.sessionId);
    this.announcer.feeds.dropPartial(driver.sessionId);
    void this.background.run(driver, () => this.routes.giveBack(driver.lease));
    const { waiting } = driver.head;
    if (end.status === 'parked' && waiting !== null) {
      this.park(driver, waiting, end);
      return;
    }
    // Whoever waits for a rest learns of a lost turn that it goes on elsewhere, if it does.
    this.handles.rested(driver.turnId, end.status === 'lost' ? { status: 'handedOver' } : end);
    if (end.status === 'lost' || end.status === 'handedOver') return;
    this.presence.forgetTurn(driver.turnId);
    this.listener?.ended(driver);
  }

  readonly late: LateOutcome = (call, outcome) => this.listener?.late(call, outcome);
}
