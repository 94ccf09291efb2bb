/**
 * Owns the views of sessions that readers begin with. Those who ask at the same moment get the same one, and only some
 * sessions are read at once; a view is never older than the moment at which somebody asked for it.
 * Must not know what readers do with a view.
 */
import { FOLLOW_CONCURRENCY } from '../../machines/index.js';
import type { SessionView } from '../core/events.js';
import { approvalOf, reviewOf } from './announcements.js';
import type { Feed } from './feed.js';
import { fromRecord } from './outcome.js';
import { readable } from './readable.js';
import { redactView } from './redaction.js';
import type { Roster } from './roster.js';
import type { RunningTurn } from './running-turn.js';
import { Serial } from './serial.js';
import { Slots } from './slots.js';

/** Where readers go on behind a view. They keep it for as long as they read, so it holds nothing of the view itself. */
export interface Behind {
  readonly place: number;
  /** How many messages compactions had taken out of the list of the view. */
  readonly archived: number;
  /** Messages of the view that come behind it as events as well: they are told once. */
  shown: ReadonlySet<string>;
}

export interface Look {
  /** As people may see it. */
  readonly view: SessionView;
  readonly turnId: string;
  readonly cursor: string;
  readonly behind: Behind;
}

/** Whoever follows a session that does not exist yet sees it begin. */
const NOTHING: SessionView = {
  messages: [],
  phase: null,
  inProgress: false,
  nextTurnId: null,
  outcome: null,
  partial: [],
  approvals: [],
  reviews: [],
};

const NONE: ReadonlySet<string> = new Set();

export class Looks {
  private readonly roster: Roster;
  /** One look at a session after another: those who come while one is under way share the next. */
  private readonly inOrder = new Serial();
  private readonly slots = new Slots(FOLLOW_CONCURRENCY);
  /** By session, what has not begun yet: a look that has is older than whoever asks now. */
  private readonly next = new Map<string, Promise<Look | undefined>>();

  constructor(roster: Roster) {
    this.roster = roster;
  }

  /** @param feed Of the session. undefined: the engine has closed. */
  at(sessionId: string, feed: Feed): Promise<Look | undefined> {
    const shared = this.next.get(sessionId);
    if (shared !== undefined) return shared;
    const look = this.inOrder.run(sessionId, () => {
      const begin = (): Promise<Look | undefined> => {
        this.next.delete(sessionId);
        return this.look(sessionId, feed);
      };
      // What a driver knows is in memory already.
      return this.roster.driverOf(sessionId) === undefined ? this.slots.run(begin) : begin();
    });
    this.next.set(sessionId, look);
    return look;
  }

  private async look(sessionId: string, feed: Feed): Promise<Look | undefined> {
    const { announcer, settings } = this.roster;
    const { feeds } = announcer;
    if (feeds.closed) return undefined;
    // All of one moment: what is told from here on is behind the view.
    const place = feed.end;
    const { cursor } = feeds;
    const partial = feeds.partialOf(sessionId);
    const running = this.roster.driverOf(sessionId);
    const { turnId, view, archived } = running ?? (await this.stored(sessionId));
    const behind: Behind = { place, archived, shown: NONE };
    if (running === undefined) {
      behind.shown = new Set(view.messages.map(({ meta }) => meta.id));
      void this.letGo(sessionId, feed, behind);
    }
    const whole = { ...view, partial };
    return { view: settings.redact === undefined ? whole : redactView(settings.redact, whole), turnId, cursor, behind };
  }

  /** The session as it is on disk, where no driver knows better. */
  private async stored(sessionId: string): Promise<Pick<RunningTurn, 'turnId' | 'view' | 'archived'>> {
    const { store } = this.roster;
    const session = await store.load(sessionId);
    if (session === undefined) return { turnId: '', view: NOTHING, archived: 0 };
    this.roster.checkOwn(session.head);
    const { turnId, phase, inProgress, nextTurnId, waiting } = session.head;
    const ended = inProgress || turnId === null ? undefined : await readable(() => store.outcome(turnId));
    const asked = session.calls.filter(({ callId }) => waiting?.approvals.includes(callId) === true);
    const view: SessionView = {
      messages: session.messages,
      phase,
      inProgress,
      nextTurnId,
      outcome: ended === undefined ? null : fromRecord(ended),
      partial: [],
      approvals: asked.map((call) => approvalOf(sessionId, call)),
      reviews: session.reviews.map((review) => reviewOf(sessionId, review)),
    };
    return { turnId: turnId ?? '', view, archived: session.head.archived };
  }

  /**
   * Of the messages in a view only those are told behind it whose commit was not told yet when the view began. Once
   * every commit that can be in it has been told, they are all in the feed, and the ids of the others are let go.
   */
  private async letGo(sessionId: string, feed: Feed, behind: Behind): Promise<void> {
    await this.roster.sessions.run(sessionId, async () => undefined);
    await this.roster.driverOf(sessionId)?.caughtUp();
    const told = new Set<string>();
    for (let place = behind.place; place < feed.end; place += 1) {
      const entry = feed.at(place)?.entry;
      if (entry?.type === 'message' && behind.shown.has(entry.meta.id)) told.add(entry.meta.id);
    }
    behind.shown = told;
  }
}
