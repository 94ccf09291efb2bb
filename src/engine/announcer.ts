/**
 * Owns how what happens is told: numbered, redacted, to `onEvent` and to those who follow the session.
 * Must not know what the events mean or who causes them.
 */
import { messageOf } from '../core/errors.js';
import type { EventBody, TurnEvent } from '../core/events.js';
import { writtenEvents } from './announcements.js';
import type { TurnName } from './driver-start.js';
import { Feeds } from './feeds.js';
import type { Settings } from './options.js';
import { redactEvent } from './redaction.js';
import type { Durable } from './written.js';

export class Announcer {
  readonly feeds: Feeds;
  private readonly settings: Settings;

  constructor(settings: Settings) {
    this.settings = settings;
    this.feeds = new Feeds(settings.clock, settings.ids());
  }

  announce(body: EventBody, { sessionId, turnId }: TurnName, durable: boolean): void {
    const { onEvent, redact, clock } = this.settings;
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
}
