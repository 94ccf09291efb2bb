/**
 * Owns how somebody follows a session: first a view of it, then every event behind that, each once and in order. Where
 * a reader cannot go on without a gap - it came new, from another process, or was too slow - it gets a view again.
 * Must not know how events come about; nothing here makes a turn wait.
 */

import { TurnError } from '../core/errors.js';
import type { FollowBody, FollowEvent, SessionView } from '../core/events.js';
import { checkFields } from '../core/fields.js';
import { checkId } from '../core/ids.js';
import { approvalOf, reviewOf } from './announcements.js';
import type { Feed } from './feed.js';
import { fromRecord } from './outcome.js';
import { readable } from './readable.js';
import { redactView } from './redaction.js';
import type { Roster } from './roster.js';

export interface FollowOptions {
  /** The cursor of the last event that was seen: goes on behind it where this process still can, else with a snapshot. */
  readonly after?: string;
  /** Ends the stream. Not a cancel: the turn goes on. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Readonly<Record<keyof FollowOptions, true>> = { after: true, signal: true };

/** @throws {TypeError} names the field. */
export function follow(
  roster: Roster,
  sessionId: string,
  options: FollowOptions = {},
): AsyncIterableIterator<FollowEvent> {
  checkId(sessionId, 'sessionId');
  checkFields(options, OPTIONS);
  const { after, signal } = options;
  if (after !== undefined && typeof after !== 'string') throw new TypeError('after must be the cursor of an event.');
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new TypeError('signal must be an AbortSignal.');
  }
  const reader = new Reader(roster, sessionId, after);
  const events = reader.events(signal);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => events.next(),
    return() {
      // A generator returns only behind its next event, which may never come.
      reader.stop();
      return events.return(undefined);
    },
  };
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

class Reader {
  private readonly roster: Roster;
  private readonly sessionId: string;
  private feed: Feed | undefined;
  private stopped = false;
  /** The next entry of the feed; undefined: nothing is known yet. */
  private place: number | undefined;
  private cursor: string;
  /** Messages of a view that was read while events went on: they are told once. */
  private shown: ReadonlySet<string> = new Set();

  constructor(roster: Roster, sessionId: string, after: string | undefined) {
    this.roster = roster;
    this.sessionId = sessionId;
    this.cursor = after ?? '';
  }

  stop(): void {
    this.stopped = true;
    this.feed?.wake();
  }

  async *events(signal: AbortSignal | undefined): AsyncGenerator<FollowEvent, undefined> {
    const { feeds } = this.roster.announcer;
    if (feeds.closed) throw new TurnError('TURN_ENGINE_CLOSING', 'this engine is closed; follow at the next one');
    const stop = (): void => this.stop();
    if (signal?.aborted === true) return;
    signal?.addEventListener('abort', stop);
    const feed = feeds.enter(this.sessionId);
    this.feed = feed;
    this.place = feeds.placeBehind(feed, this.cursor);
    try {
      for (let event = await this.next(feed); event !== undefined; event = await this.next(feed)) {
        this.cursor = event.cursor;
        yield event;
      }
    } finally {
      signal?.removeEventListener('abort', stop);
      feeds.leave(this.sessionId, feed);
    }
  }

  /** undefined: the stream has ended. */
  private async next(feed: Feed): Promise<FollowEvent | undefined> {
    while (!this.stopped) {
      const { place } = this;
      if (place === undefined) return this.look(feed);
      const dropped = feed.missedAt(place);
      if (dropped > 0) {
        this.place = undefined;
        return this.told({ type: 'lagged', dropped }, '', this.cursor);
      }
      const kept = feed.at(place);
      if (kept === undefined) {
        if (this.roster.announcer.feeds.closed) return undefined;
        await feed.next();
        continue;
      }
      this.place = place + 1;
      const { entry } = kept;
      if (entry === null) this.place = undefined;
      else if (entry.type !== 'message' || !this.shown.has(entry.meta.id)) return entry;
    }
    return undefined;
  }

  private async look(feed: Feed): Promise<FollowEvent | undefined> {
    const { announcer, settings } = this.roster;
    const { feeds } = announcer;
    if (feeds.closed) return undefined;
    // All of one moment: what is told from here on is behind the view.
    this.place = feed.end;
    const { cursor } = feeds;
    const partial = feeds.partialOf(this.sessionId);
    const running = this.roster.driverOf(this.sessionId);
    const { turnId, view } = running ?? (await this.stored());
    this.shown = new Set(running === undefined ? view.messages.map(({ meta }) => meta.id) : []);
    const whole = { ...view, partial };
    const shown = settings.redact === undefined ? whole : redactView(settings.redact, whole);
    return this.stopped ? undefined : this.told({ type: 'snapshot', ...shown }, turnId, cursor);
  }

  /** The session as it is on disk, where no driver knows better. */
  private async stored(): Promise<{ readonly turnId: string; readonly view: SessionView }> {
    const { store } = this.roster;
    const session = await store.load(this.sessionId);
    if (session === undefined) return { turnId: '', view: NOTHING };
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
      approvals: asked.map((call) => approvalOf(this.sessionId, call)),
      reviews: session.reviews.map((review) => reviewOf(this.sessionId, review)),
    };
    return { turnId: turnId ?? '', view };
  }

  private told(body: FollowBody, turnId: string, cursor: string): FollowEvent {
    const at = this.roster.settings.clock.now();
    return { ...body, cursor, sessionId: this.sessionId, turnId, at, durable: false };
  }
}
