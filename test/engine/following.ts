// A reader of a session, and what a client makes of what it reads: a view, changed by every event behind it. Whatever a
// client missed, its picture has to be the one that a new reader would be given.
import { onTestFinished } from 'vitest';
import type { FollowEvent, FollowOptions, SessionView, TurnEngine } from '../../src/index.js';
import { calm } from './waiting.js';

/** Collects what it is given as fast as it comes; ends with its test. */
export class Client {
  readonly events: FollowEvent[] = [];
  ended = false;
  /** What ended it, where something did. */
  thrown: unknown;
  private readonly stop = new AbortController();

  constructor(engine: TurnEngine, sessionId = 's', options: FollowOptions = {}) {
    void this.read(engine.follow(sessionId, { signal: this.stop.signal, ...options }));
    onTestFinished(() => this.leave());
  }

  private async read(events: AsyncIterable<FollowEvent>): Promise<void> {
    try {
      for await (const event of events) this.events.push(event);
    } catch (thrown) {
      this.thrown = thrown;
    }
    this.ended = true;
  }

  /** Everything that has been told by now. */
  async told(): Promise<readonly FollowEvent[]> {
    await calm(10);
    return this.events;
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  get last(): FollowEvent {
    return this.events.at(-1) as FollowEvent;
  }

  leave(): void {
    this.stop.abort();
  }
}

/** What a careful client shows: phase, ids and texts of messages, pieces that are no message yet, open questions. */
export interface Picture {
  readonly phase: string | null;
  readonly inProgress: boolean;
  readonly messages: readonly string[];
  readonly partial: readonly string[];
  readonly approvals: readonly string[];
}

const FINAL: ReadonlySet<string | null> = new Set(['completed', 'stopped', 'failed', 'cancelled']);

const pieceName = ({ messageId, delta }: SessionView['partial'][number]): string =>
  `${messageId} ${delta.type} ${delta.type === 'tool-input' ? delta.toolCallId : delta.id}`;

/** Follows the rules that the README gives to clients, and no others. */
export class Shown {
  private phase: string | null = null;
  private inProgress = false;
  private messages: string[] = [];
  private approvals: string[] = [];
  /** Text of each piece by its name, which begins with the id of its message. */
  private partial = new Map<string, string>();

  take(event: FollowEvent): void {
    if (event.type === 'snapshot') this.begin(event);
    else if (event.type === 'phase') {
      this.phase = event.phase;
      this.inProgress = !FINAL.has(event.phase);
    } else if (event.type === 'delta') this.add(event);
    else if (event.type === 'deltasDiscarded') this.drop(event.messageId);
    else if (event.type === 'message') {
      this.messages.push(event.meta.id);
      this.drop(event.meta.id);
    } else if (event.type === 'approvalRequested') {
      this.approvals = [...new Set([...this.approvals, event.approval.id])];
    } else if (event.type === 'approvalDecided') {
      this.approvals = this.approvals.filter((id) => id !== event.approvalId);
    } else if (event.type === 'outcome') {
      this.inProgress = false;
      this.approvals = [];
      this.drop(null);
    }
  }

  get picture(): Picture {
    const { phase, inProgress, messages, approvals } = this;
    return {
      phase,
      inProgress,
      messages,
      partial: [...this.partial].map(([name, text]) => `${name}: ${text}`),
      approvals,
    };
  }

  private begin(view: SessionView): void {
    this.phase = view.phase;
    this.inProgress = view.inProgress;
    this.messages = view.messages.map(({ meta }) => meta.id);
    this.approvals = view.approvals.map(({ id }) => id);
    this.partial = new Map();
    for (const piece of view.partial) this.add(piece);
  }

  private add(piece: SessionView['partial'][number]): void {
    const name = pieceName(piece);
    this.partial.set(name, (this.partial.get(name) ?? '') + piece.delta.text);
  }

  private drop(messageId: string | null): void {
    for (const name of this.partial.keys()) {
      if (messageId === null || name.startsWith(`${messageId} `)) this.partial.delete(name);
    }
  }
}

export function pictureOf(events: readonly FollowEvent[]): Picture {
  const shown = new Shown();
  for (const event of events) shown.take(event);
  return shown.picture;
}
