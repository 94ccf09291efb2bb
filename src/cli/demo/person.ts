/**
 * Owns the person of the demo: once a restart has found the turn waiting for them, they think, decide, and say it
 * again to the next process where the last one died without an answer.
 * Must not know how a service is started or killed.
 */
import type { Decide, FromService } from './wire.js';

export const PERSON = 'ann';

/** How long the person thinks. */
const THINK_MS = 150;

export class Person {
  private readonly say: (decision: Decide, again: boolean) => void;
  /** By the id of the call they are about. */
  private readonly thoughts = new Map<string, NodeJS.Timeout>();
  /** Said, and no answer came. */
  private readonly unanswered = new Set<string>();
  private met = false;

  constructor(say: (decision: Decide, again: boolean) => void) {
    this.say = say;
  }

  /** A restart has found the turn waiting: from then on this person decides whatever they are asked. */
  get isThere(): boolean {
    return this.met;
  }

  hear(message: FromService): void {
    switch (message.type) {
      case 'recovered':
        // What it found parked asks by itself; for the rest nobody knows whether the last word was heard.
        if (message.parked === 0) for (const id of this.unanswered) this.decide(id);
        break;
      case 'parked':
        this.met ||= message.found;
        for (const { id } of message.approvals) this.think(id);
        break;
      case 'event':
        // A call that has to run once more is asked about once more.
        if (message.event.type === 'approvalRequested') this.think(message.event.approval.id);
        break;
      case 'decided':
        this.unanswered.delete(message.id);
        break;
    }
  }

  /** Whoever asked is gone; the next process asks again. */
  stopThinking(): void {
    for (const thought of this.thoughts.values()) clearTimeout(thought);
    this.thoughts.clear();
  }

  private think(id: string): void {
    if (!this.met || this.thoughts.has(id)) return;
    const decide = (): void => {
      this.thoughts.delete(id);
      this.decide(id);
    };
    this.thoughts.set(id, setTimeout(decide, THINK_MS));
  }

  private decide(id: string): void {
    const again = this.unanswered.has(id);
    this.unanswered.add(id);
    this.say({ type: 'decide', id, allow: true, by: PERSON, reason: 'It reads well.' }, again);
  }
}
