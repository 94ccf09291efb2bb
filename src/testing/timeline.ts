/**
 * Owns the account of one schedule for people: what was written, asked and done, by which process, and when.
 * Must not know how a schedule runs.
 */
import type { Commit } from '../core/ports.js';

export class Timeline {
  readonly #lines: string[] = [];
  #now: () => number = () => 0;
  #startedAt = 0;

  /** From here on moments are those of this clock, counted from now. */
  startAt(now: () => number): void {
    this.#now = now;
    this.#startedAt = now();
  }

  /** `who` is the number of the process. */
  add(who: number, what: string): void {
    const seconds = ((this.#now() - this.#startedAt) / 1000).toFixed(3);
    this.#lines.push(`${seconds.padStart(10)} s  process ${who}  ${what}`);
  }

  /** How much has happened. */
  get length(): number {
    return this.#lines.length;
  }

  toString(): string {
    return this.#lines.join('\n');
  }
}

/** What a commit says, in one line. */
export function commitText({ head, transcript, calls, inbox }: Commit): string {
  const messages = transcript?.messages.map(({ message }) => message.role) ?? [];
  const parts = [
    head.inProgress ? (head.phase ?? 'in progress') : `${head.ended?.kind ?? 'idle'}, at rest`,
    ...(messages.length === 0 ? [] : [`${transcript?.kind === 'rewrite' ? 'list of' : 'new'} ${messages.join(' ')}`]),
    ...(calls?.put ?? []).map(
      (call) => `${call.toolName} ${call.state}${call.dispatch > 1 ? ` (${call.dispatch}.)` : ''}`,
    ),
    ...(inbox?.put ?? []).map(({ messageId }) => `input ${messageId}`),
    ...(head.attempts === 0 ? [] : [`attempt ${head.attempts}`]),
  ];
  return `${head.sessionId}: ${parts.join('; ')}`;
}
