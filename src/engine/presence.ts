/**
 * Owns who is there, for this process only: presence is never stored, and a recovered turn has none it was not given
 * anew (I6). Must not know what presence is good for.
 */
import type { Clock } from '../core/ports.js';
import type { InboxRecord } from '../core/records.js';

export class Presence {
  private readonly clock: Clock;
  /** Turns that were started attended in this process. */
  private readonly turns = new Set<string>();
  /** Until when somebody is there, by session, ms since the epoch. */
  private readonly sessions = new Map<string, number>();
  /** Waiting input whose sender was there when it came, by session. */
  private readonly inputs = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  noteTurn(turnId: string): void {
    this.turns.add(turnId);
  }

  hasTurn(turnId: string): boolean {
    return this.turns.has(turnId);
  }

  forgetTurn(turnId: string): void {
    this.turns.delete(turnId);
  }

  attend(sessionId: string, forMs: number): void {
    if (forMs > 0) this.sessions.set(sessionId, this.clock.now() + forMs);
    else this.sessions.delete(sessionId);
  }

  isIn(sessionId: string): boolean {
    const until = this.sessions.get(sessionId);
    if (until === undefined) return false;
    if (until > this.clock.now()) return true;
    this.sessions.delete(sessionId);
    return false;
  }

  noteInput(sessionId: string, messageId: string): void {
    const inputs = this.inputs.get(sessionId);
    if (inputs === undefined) this.inputs.set(sessionId, new Set([messageId]));
    else inputs.add(messageId);
  }

  /** It was taken back: whoever sends its id again may be somebody else. */
  forgetInput(sessionId: string, messageId: string): void {
    this.inputs.get(sessionId)?.delete(messageId);
  }

  /** Whether somebody who sent this input was there; asked once, when it starts a turn or none of it is left. */
  takeInputs(sessionId: string, waiting: readonly InboxRecord[]): boolean {
    const inputs = this.inputs.get(sessionId);
    this.inputs.delete(sessionId);
    return waiting.some((input) => inputs?.has(input.messageId) === true);
  }
}
