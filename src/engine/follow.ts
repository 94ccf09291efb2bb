/**
 * Owns how somebody follows a session: first a view of it, then every event behind that, each once and in order. Where
 * a reader cannot go on without a gap - it came new, from another process, or was too slow - it gets a view again.
 * Must not know how events come about; nothing here makes a turn wait.
 */

import { TurnError } from '../core/errors.js';
import type { FollowBody, FollowEvent, SessionEvents } from '../core/events.js';
import { checkFields } from '../core/fields.js';
import { checkId } from '../core/ids.js';
import type { StoredMessage } from '../core/messages.js';
import type { Feed } from './feed.js';
import type { Behind, Looks } from './looks.js';
import { redactMessages } from './redaction.js';
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
  looks: Looks,
  sessionId: string,
  options: FollowOptions = {},
): AsyncIterableIterator<FollowEvent> & SessionEvents {
  checkId(sessionId, 'sessionId');
  checkFields(options, OPTIONS);
  const { after, signal } = options;
  if (after !== undefined && typeof after !== 'string') throw new TypeError('after must be the cursor of an event.');
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new TypeError('signal must be an AbortSignal.');
  }
  const reader = new Reader(roster, looks, sessionId, after);
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
    archive: () => reader.archive(),
  };
}

class Reader {
  private readonly roster: Roster;
  private readonly looks: Looks;
  private readonly sessionId: string;
  private feed: Feed | undefined;
  private stopped = false;
  /** The next entry of the feed; undefined: nothing is known yet. */
  private place: number | undefined;
  private cursor: string;
  /** Until it is taken. A variable of the generator would hold it, the view of a whole session, while the reader waits. */
  private event: FollowEvent | undefined;
  /** Of the view that was told last. */
  private behind: Behind | undefined;
  /** Messages that were given as archived: they are told once, too. */
  private archived: ReadonlySet<string> = new Set();

  constructor(roster: Roster, looks: Looks, sessionId: string, after: string | undefined) {
    this.roster = roster;
    this.looks = looks;
    this.sessionId = sessionId;
    this.cursor = after ?? '';
  }

  stop(): void {
    this.stopped = true;
    this.feed?.wake();
  }

  async archive(): Promise<readonly StoredMessage[]> {
    const count = this.behind?.archived ?? 0;
    if (count === 0) return [];
    const { store, settings } = this.roster;
    // It only grows, at its end: what came since the view is told behind it.
    const archive = (await store.archive(this.sessionId)).slice(0, count);
    this.archived = new Set(archive.map(({ meta }) => meta.id));
    return settings.redact === undefined ? archive : redactMessages(settings.redact, archive);
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
      while (await this.isNext(feed)) yield this.take();
    } finally {
      signal?.removeEventListener('abort', stop);
      feeds.leave(this.sessionId, feed);
    }
  }

  /** false: the stream has ended. */
  private async isNext(feed: Feed): Promise<boolean> {
    this.event = await this.next(feed);
    return this.event !== undefined;
  }

  /** The next event, which is the caller's from now on. */
  private take(): FollowEvent {
    const event = this.event as FollowEvent;
    this.event = undefined;
    this.cursor = event.cursor;
    return event;
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
      else if (entry.type !== 'message' || !this.has(entry.meta.id)) return entry;
    }
    return undefined;
  }

  private has(messageId: string): boolean {
    return this.behind?.shown.has(messageId) === true || this.archived.has(messageId);
  }

  private async look(feed: Feed): Promise<FollowEvent | undefined> {
    const look = await this.looks.at(this.sessionId, feed);
    if (look === undefined || this.stopped) return undefined;
    const { view, turnId, cursor, behind } = look;
    this.place = behind.place;
    this.behind = behind;
    this.archived = new Set();
    return this.told({ type: 'snapshot', ...view }, turnId, cursor);
  }

  private told(body: FollowBody, turnId: string, cursor: string): FollowEvent {
    const at = this.roster.settings.clock.now();
    return { ...body, cursor, sessionId: this.sessionId, turnId, at, durable: false };
  }
}
