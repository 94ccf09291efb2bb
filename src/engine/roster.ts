/**
 * Owns who drives what in this process: drivers by session, work by route, presence by turn, handles by turn.
 * Must not know how turns begin, recover or end; it connects those who do.
 */
import { messageOf, TurnError } from '../core/errors.js';
import type { EventBody, TurnEvent, TurnOutcome, TurnRest } from '../core/events.js';
import type { Lease, TurnStore } from '../core/ports.js';
import type { Head } from '../core/records.js';
import { writtenEvents } from './announcements.js';
import type { DriverEnd, DriverHost, TurnName } from './driver-start.js';
import { Feeds } from './feeds.js';
import type { Settings } from './options.js';
import { Presence } from './presence.js';
import { redactEvent } from './redaction.js';
import { RunningTurn } from './running-turn.js';
import { Serial } from './serial.js';
import { pause } from './tool-calls.js';
import type { LateOutcome } from './tool-work.js';
import { FIRST_RETRY_MS, LAST_RETRY_MS } from './turn-commits.js';
import type { TurnDriver } from './turn-driver.js';
import type { TurnHandles } from './turn-handles.js';
import type { Durable } from './written.js';

/** What has to happen in the engine when a driver is done. */
export interface RestListener {
  ended(turn: TurnName): void;
  /** `until`: the deadline of the wait, ms since the epoch. */
  parked(turn: TurnName, until: number | null): void;
  late: LateOutcome;
}

/** Answers whether the route is taken now, by this work or by somebody else. */
export type RouteWork = () => Promise<boolean>;

/** Work of the engine itself, in no turn's name. */
export const NOBODY: TurnName = { sessionId: '', turnId: '' };

export class Roster implements DriverHost {
  readonly settings: Settings;
  readonly store: TurnStore;
  readonly handles: TurnHandles;
  /** One piece of work at a time on a session that has no driver. */
  readonly sessions = new Serial();
  readonly presence: Presence;
  readonly feeds: Feeds;
  /** Set once, when everything that listens exists. */
  listener: RestListener | undefined;
  closing = false;
  /** Aborts when the process waits no longer for code of the application. */
  readonly gone = new AbortController();
  private readonly drivers = new Map<string, RunningTurn>();
  /** Turns that wait for a person, by session. */
  private readonly parkedTurns = new Map<string, string>();
  /** Work that waits for a route, by session, first come, first served. */
  private readonly queues = new Map<string, Map<string, RouteWork>>();
  private readonly background = new Set<Promise<unknown>>();

  constructor(settings: Settings, handles: TurnHandles) {
    this.settings = settings;
    this.store = settings.store;
    this.handles = handles;
    this.presence = new Presence(settings.clock);
    this.feeds = new Feeds(settings.clock, settings.ids());
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

  /** One session that cannot be read does not hide the others (I12); `recover()` takes it out of the way. */
  async readable<T>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (thrown) {
      if (thrown instanceof TurnError && thrown.code === 'TURN_DAMAGED') return undefined;
      throw thrown;
    }
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
  park({ sessionId, turnId }: TurnName, waiting: NonNullable<Head['waiting']>, rest: TurnRest): void {
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
    this.announce({ type: 'outcome', outcome }, { sessionId, turnId }, true);
    if (this.parkedTurns.get(sessionId) === turnId) this.parkedTurns.delete(sessionId);
    this.presence.forgetTurn(turnId);
    this.handles.rested(turnId, outcome);
    this.listener?.ended({ sessionId, turnId });
  }

  isPresent(sessionId: string): boolean {
    return this.presence.isIn(sessionId);
  }

  /** Runs `work` for a session when the route is given back. It asks for the route itself; a session waits once. */
  waitForRoute(routeKey: string, sessionId: string, work: RouteWork): void {
    const queue = this.queues.get(routeKey) ?? new Map<string, RouteWork>();
    this.queues.set(routeKey, queue.set(sessionId, work));
  }

  async giveBack(lease: Lease): Promise<void> {
    await this.store.release(lease);
    if (this.queues.has(lease.routeKey)) void this.inBackground(NOBODY, () => this.wakeNext(lease.routeKey));
  }

  /** Whoever has nothing left to do on the route leaves it to the next; whoever holds it then wakes the others. */
  private async wakeNext(routeKey: string): Promise<void> {
    const queue = this.queues.get(routeKey);
    for (const [sessionId, work] of queue ?? []) {
      if (this.closing) return;
      queue?.delete(sessionId);
      if (queue?.size === 0) this.queues.delete(routeKey);
      try {
        if (await work()) return;
      } catch {
        // What one session could not do now it does when the store works; the next one has its turn.
        this.untilStored({ sessionId, turnId: '' }, work);
      }
    }
  }

  /** Work nobody waits for; `close()` does. What it throws is announced, never lost. Resolves when it is over. */
  inBackground(turn: TurnName, work: () => Promise<unknown>): Promise<void> {
    const running = work().catch((thrown: unknown) => {
      if (thrown instanceof TurnError && thrown.code === 'TURN_STORE_CLOSED') return;
      this.announce({ type: 'storeFailed', reason: String(thrown) }, turn, false);
    });
    this.background.add(running);
    return running.then(() => void this.background.delete(running));
  }

  /**
   * The same for work that has to be durable in the end: while the store fails it is tried again, with growing pauses.
   */
  untilStored(turn: TurnName, work: () => Promise<unknown>): void {
    void this.inBackground(turn, async () => {
      for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)) {
        try {
          await work();
          return;
        } catch (thrown) {
          const failed = thrown instanceof TurnError && thrown.code === 'TURN_STORE_FAILED';
          if (!failed || this.closing) throw thrown;
          this.announce({ type: 'storeFailed', reason: thrown.message }, turn, false);
          await pause(this.settings.clock, waitMs, this.gone.signal);
        }
      }
    });
  }

  async settleBackground(): Promise<void> {
    while (this.background.size > 0) await Promise.all(this.background);
  }

  announce(body: EventBody, turn: TurnName, durable: boolean): void {
    const { onEvent, redact, clock } = this.settings;
    const { sessionId, turnId } = turn;
    this.feeds.note(body, sessionId);
    if (onEvent === undefined && this.feeds.of(sessionId) === undefined) return;
    const shown = redact === undefined ? body : redactEvent(redact, body);
    const { cursor } = this.feeds;
    const event: TurnEvent = { ...shown, cursor, sessionId, turnId, at: clock.now(), durable };
    this.feeds.add(event);
    if (onEvent === undefined) return;
    // A listener that fails must not stop a turn, and must not go unnoticed.
    const warn = (thrown: unknown): void =>
      process.emitWarning(`onEvent threw: ${messageOf(thrown)}`, 'DurableTurnWarning');
    try {
      const told: unknown = onEvent(event);
      if (told instanceof Promise) told.catch(warn);
    } catch (thrown) {
      warn(thrown);
    }
  }

  /** What became durable is told, with a driver and without one (I9). */
  written(turn: TurnName, durable: Durable): void {
    for (const event of writtenEvents(turn.sessionId, durable)) this.announce(event, turn, true);
    if (durable.rewritten) this.feeds.renew(turn.sessionId);
  }

  rested(driver: TurnName & { readonly lease: Lease; readonly head: Head }, end: DriverEnd): void {
    if (this.drivers.get(driver.sessionId)?.turnId === driver.turnId) this.drivers.delete(driver.sessionId);
    this.feeds.dropPartial(driver.sessionId);
    void this.inBackground(driver, () => this.giveBack(driver.lease));
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
