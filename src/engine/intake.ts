/**
 * Owns the one way in: input is checked, de-duplicated and durable before it is acknowledged, and starts a turn,
 * joins one, or waits (I11). Must not know how turns run or what the gates ask.
 */
import { INBOX_MESSAGES } from '../../machines/index.js';
import { TurnError } from '../core/errors.js';
import type { Lease } from '../core/ports.js';
import type { Head, InboxRecord } from '../core/records.js';
import { beginTurn } from './begin.js';
import { newHead } from './head-writer.js';
import { type Accepted, type Checked, checkInput, type Input } from './input.js';
import { fromRecord } from './outcome.js';
import type { Recovery } from './recovery.js';
import type { Roster } from './roster.js';
import type { RunningTurn } from './running-turn.js';
import type { Turn } from './turn-handles.js';

export class Intake {
  private readonly roster: Roster;
  private readonly recovery: Recovery;

  constructor(roster: Roster, recovery: Recovery) {
    this.roster = roster;
    this.recovery = recovery;
  }

  async send(input: Input): Promise<Accepted> {
    const checked = this.check(input);
    return this.roster.sessions.run(checked.sessionId, () => this.accept(checked));
  }

  /** The same, refused when the session has anything else to do. */
  async start(input: Input): Promise<Turn> {
    const checked = this.check(input);
    return this.roster.sessions.run(checked.sessionId, async () => {
      const { sessionId } = checked;
      const head = await this.roster.head(sessionId);
      const busy = this.roster.driverOf(sessionId) !== undefined || head?.inProgress || (head?.waitingInput ?? 0) > 0;
      const known = await this.known(head, checked.record, checked.attended);
      if (known !== undefined) return known;
      if (busy)
        throw new TurnError('TURN_BUSY', `session "${sessionId}" has a turn in progress; use sendMessage() to join it`);
      const lease = await this.roster.store.acquire(checked.record.routeKey);
      if (lease === undefined) {
        throw new TurnError(
          'TURN_BUSY',
          `route "${checked.record.routeKey}" is busy; use sendMessage() to wait for it`,
        );
      }
      const driver = await this.begin(checked, head, lease);
      return driver.handle;
    });
  }

  /** Waiting input of an idle session starts the next turn. Answers whether its route is taken now. */
  async startWaiting(sessionId: string): Promise<boolean> {
    return this.roster.sessions.run(sessionId, async () => {
      if (this.roster.closing || this.roster.driverOf(sessionId) !== undefined) return false;
      const head = await this.roster.head(sessionId);
      if (head === undefined || head.inProgress) return false;
      if (head.waitingInput === 0) {
        this.roster.presence.takeInputs(sessionId, []);
        return false;
      }
      const waiting = await this.roster.store.inbox(sessionId);
      const routeKey = waiting[0]?.routeKey ?? head.routeKey;
      const lease = await this.roster.store.acquire(routeKey);
      if (lease === undefined) {
        this.roster.routes.waitFor(routeKey, sessionId, () => this.startWaiting(sessionId));
        return true;
      }
      const attended = this.roster.presence.takeInputs(sessionId, waiting);
      await this.holding(lease, () =>
        beginTurn(this.roster, { sessionId, lease, waiting, fresh: undefined, attended }),
      );
      return true;
    });
  }

  private async accept(checked: Checked): Promise<Accepted> {
    const { sessionId, record, attended, after } = checked;
    const { roster } = this;
    const { messageId } = record;
    if (roster.closing) throw closingError();
    let head = await roster.head(sessionId);
    const lookedAt = head?.revision;
    let known = await this.known(head, record, attended);
    if (known !== undefined) return { accepted: 'duplicate', messageId, turn: known };
    if ((head?.waitingInput ?? 0) >= INBOX_MESSAGES) {
      throw new TurnError(
        'TURN_INBOX_FULL',
        `session "${sessionId}" has ${INBOX_MESSAGES} messages waiting; send again later`,
      );
    }
    let driver = roster.driverOf(sessionId);
    // What would be rewound must not be in use.
    if (after !== undefined && (driver !== undefined || head?.inProgress === true || (head?.waitingInput ?? 0) > 0)) {
      throw new TurnError('TURN_BUSY', `session "${sessionId}" cannot be rewound now; cancel its turn first`);
    }
    if (driver === undefined && head?.inProgress === true && head.waiting === null) {
      driver = await this.recovery.resumeForInput(sessionId, attended);
      head = await roster.head(sessionId);
    }
    if (driver !== undefined) {
      const joining = { ...record, turnId: driver.turnId };
      if (await driver.accept(joining, attended)) {
        if (attended) roster.presence.noteInput(sessionId, messageId);
        return { accepted: 'queued', messageId, turn: driver.handle };
      }
      head = await roster.head(sessionId);
    }
    // Sent before, while a commit failed: it may have joined a turn that has ended since it was looked for (I11).
    if (head?.revision !== lookedAt) known = await this.known(head, record, attended);
    if (known !== undefined) return { accepted: 'duplicate', messageId, turn: known };
    if (head?.inProgress === true) return this.queue(checked, head, head.turnId as string);
    const routeKey = await this.routeOf(head, record);
    const lease = await roster.store.acquire(routeKey);
    if (lease !== undefined) {
      const begun = await this.begin(checked, head, lease);
      return { accepted: 'started', messageId, turn: begun.handle };
    }
    if (after !== undefined) throw new TurnError('TURN_BUSY', `route "${routeKey}" is busy; rewind again later`);
    const turnId = head?.nextTurnId ?? record.turnId;
    // Before the commit: one that was reported as failed may be durable all the same.
    roster.routes.waitFor(routeKey, sessionId, () => this.startWaiting(sessionId));
    return this.queue(checked, head, turnId, { nextTurnId: turnId });
  }

  /** What waits already begins the turn, and under its own route. */
  private async routeOf(head: Head | undefined, record: InboxRecord): Promise<string> {
    if (head === undefined || head.waitingInput === 0) return record.routeKey;
    return (await this.roster.store.inbox(head.sessionId))[0]?.routeKey ?? record.routeKey;
  }

  private async begin(
    { sessionId, record, attended, after }: Checked,
    head: Head | undefined,
    lease: Lease,
  ): Promise<RunningTurn> {
    return this.holding(lease, async () => {
      const waiting = (head?.waitingInput ?? 0) > 0 ? await this.roster.store.inbox(sessionId) : [];
      const present = this.roster.presence.takeInputs(sessionId, waiting);
      return beginTurn(this.roster, { sessionId, lease, waiting, fresh: record, attended: attended || present, after });
    });
  }

  /** The route goes back when what needed it cannot be done. */
  private async holding<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      await this.roster.routes.giveBack(lease);
      throw thrown;
    }
  }

  private async queue(
    { sessionId, record, attended }: Checked,
    head: Head | undefined,
    turnId: string,
    patch: Partial<Head> = {},
  ): Promise<Accepted> {
    const { settings, handles } = this.roster;
    const known = head ?? newHead(sessionId, settings.agent, record.routeKey);
    const writer = this.roster.writerOf(known);
    const input = { ...record, seq: known.revision + 1, turnId };
    const parts = { inbox: { put: [input], remove: [] } };
    await writer.write(writer.next(parts, null, patch, { waitingInput: known.waitingInput + 1 }));
    if (attended) this.roster.presence.noteInput(sessionId, record.messageId);
    return { accepted: 'queued', messageId: record.messageId, turn: handles.of(turnId) };
  }

  /** The turn a message id belongs to already. */
  private async known(head: Head | undefined, record: InboxRecord, attended: boolean): Promise<Turn | undefined> {
    if (head === undefined) return undefined;
    const { store, handles } = this.roster;
    const seen = await store.seen(head.sessionId, record.messageId);
    if (seen !== undefined) return this.turnNow(head.sessionId, seen.turnId, attended);
    const waiting = head.waitingInput > 0 ? await store.inbox(head.sessionId) : [];
    const twin = waiting.find((input) => input.messageId === record.messageId);
    if (twin === undefined) return undefined;
    // A process may have died between accepting it and taking it into its turn, or starting that.
    if (head.inProgress) return this.turnNow(head.sessionId, twin.turnId, attended);
    const turn = { sessionId: head.sessionId, turnId: twin.turnId };
    this.roster.background.untilStored(turn, () => this.startWaiting(head.sessionId));
    return handles.of(twin.turnId);
  }

  /** The turn as it is at this moment: one that ends while it is looked at must not be waited for. */
  private async turnNow(sessionId: string, turnId: string, attended: boolean): Promise<Turn> {
    const { store, handles } = this.roster;
    let running = this.roster.driverOf(sessionId);
    const before = await this.roster.head(sessionId);
    // Interrupted, and somebody asks for it again: as with any input, it goes on if the gates let it.
    if (running === undefined && before?.turnId === turnId && before.inProgress && before.waiting === null) {
      running = await this.recovery.resumeForInput(sessionId, attended);
    }
    if (running?.turnId === turnId) return running.handle;
    const outcome = await store.outcome(turnId);
    const head = await this.roster.head(sessionId);
    const rests = head?.inProgress === true && head.turnId === turnId;
    return outcome === undefined || rests ? handles.of(turnId) : handles.ended(turnId, fromRecord(outcome));
  }

  private check(input: Input): Checked {
    if (this.roster.closing) throw closingError();
    return checkInput(this.roster.settings, input);
  }
}

const closingError = (): TurnError =>
  new TurnError('TURN_ENGINE_CLOSING', 'this engine is closing; send again to the next process');
