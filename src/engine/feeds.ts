/**
 * Owns what a process remembers for those who follow its sessions: cursors, partial answers, and the feeds of sessions
 * that somebody reads. Where nobody reads, it counts events and joins deltas, and that is all.
 * Must not know how turns run or what readers do.
 */
import { FEED_KEPT_MS } from '../../machines/index.js';
import type { EventBody, PartialAnswer, TurnEvent } from '../core/events.js';
import type { Clock } from '../core/ports.js';
import { Feed } from './feed.js';

export class Feeds {
  /** No more events come: whoever reads comes to an end. */
  closed = false;
  private readonly clock: Clock;
  /** Names this life of the process: a cursor of another one says nothing here. */
  private readonly life: string;
  private told = 0;
  private readonly feeds = new Map<string, Feed>();
  private readonly partials = new Map<string, PartialAnswer[]>();

  constructor(clock: Clock, life: string) {
    this.clock = clock;
    this.life = life;
  }

  /** Of the last event told, whichever session it is of. */
  get cursor(): string {
    return `${this.life}.${this.told}`;
  }

  /** The feed of a session that somebody reads, or has read a moment ago. */
  of(sessionId: string): Feed | undefined {
    return this.feeds.get(sessionId);
  }

  /** What the model has said of answers that are no messages yet. */
  partialOf(sessionId: string): readonly PartialAnswer[] {
    return [...(this.partials.get(sessionId) ?? [])];
  }

  /** Something is about to be told: it gets its number, and what it says of partial answers is noted. */
  note(event: EventBody, sessionId: string): void {
    this.told += 1;
    if (event.type === 'delta') this.join(sessionId, event);
    else if (event.type === 'outcome') this.partials.delete(sessionId);
    else if (event.type === 'message') this.drop(sessionId, event.meta.id);
    else if (event.type === 'deltasDiscarded') this.drop(sessionId, event.messageId);
  }

  /** The event that was noted last. */
  add(event: TurnEvent): void {
    this.feeds.get(event.sessionId)?.add(event, this.told);
  }

  /** The list of a session became another one: what readers know of it is out of date. */
  renew(sessionId: string): void {
    this.told += 1;
    this.feeds.get(sessionId)?.add(null, this.told);
  }

  /** Nobody says anything more about the answers that were on their way. */
  dropPartial(sessionId: string): void {
    this.partials.delete(sessionId);
  }

  enter(sessionId: string): Feed {
    const feed = this.feeds.get(sessionId) ?? new Feed(this.told);
    this.feeds.set(sessionId, feed);
    feed.readers += 1;
    feed.disarm?.();
    feed.disarm = undefined;
    return feed;
  }

  leave(sessionId: string, feed: Feed): void {
    feed.readers -= 1;
    if (feed.readers > 0) return;
    const forget = (): void => {
      this.feeds.delete(sessionId);
    };
    if (this.closed) forget();
    else feed.disarm = this.clock.after(FEED_KEPT_MS, forget, true);
  }

  /** The place behind a cursor, where it is of this life and everything behind it is kept. */
  placeBehind(feed: Feed, cursor: string | undefined): number | undefined {
    const [life, number, ...more] = (cursor ?? '').split('.');
    if (life !== this.life || more.length > 0 || !/^\d{1,15}$/.test(number ?? '')) return undefined;
    return Number(number) > this.told ? undefined : feed.placeBehind(Number(number));
  }

  close(): void {
    this.closed = true;
    for (const [sessionId, feed] of this.feeds) {
      feed.disarm?.();
      if (feed.readers === 0) this.feeds.delete(sessionId);
      else feed.wake();
    }
  }

  /** Pieces of one part become one: the memory an answer takes is that of its text. */
  private join(sessionId: string, { messageId, delta }: PartialAnswer): void {
    const pieces = this.partials.get(sessionId) ?? [];
    this.partials.set(sessionId, pieces);
    const part = partOf(delta);
    const index = pieces.findLastIndex((piece) => piece.messageId === messageId && partOf(piece.delta) === part);
    const before = pieces[index];
    if (before === undefined) pieces.push({ messageId, delta });
    else pieces[index] = { messageId, delta: { ...delta, text: before.delta.text + delta.text } };
  }

  /** null: all of them. */
  private drop(sessionId: string, messageId: string | null): void {
    const pieces = this.partials.get(sessionId);
    if (pieces === undefined) return;
    const left = messageId === null ? [] : pieces.filter((piece) => piece.messageId !== messageId);
    if (left.length === 0) this.partials.delete(sessionId);
    else this.partials.set(sessionId, left);
  }
}

const partOf = (delta: PartialAnswer['delta']): string =>
  delta.type === 'tool-input' ? `tool-input ${delta.toolCallId}` : `${delta.type} ${delta.id}`;
