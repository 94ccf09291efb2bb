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
export function pictureOf(events: readonly FollowEvent[]): Picture {
  let phase: string | null = null;
  let inProgress = false;
  let messages: string[] = [];
  let approvals: string[] = [];
  /** Text of each piece by its name, which begins with the id of its message. */
  let partial = new Map<string, string>();
  const drop = (messageId: string | null): void => {
    for (const name of partial.keys()) if (messageId === null || name.startsWith(`${messageId} `)) partial.delete(name);
  };
  const add = (piece: SessionView['partial'][number]): void => {
    partial.set(pieceName(piece), (partial.get(pieceName(piece)) ?? '') + piece.delta.text);
  };
  for (const event of events) {
    if (event.type === 'snapshot') {
      ({ phase, inProgress } = event);
      messages = event.messages.map(({ meta }) => meta.id);
      approvals = event.approvals.map(({ id }) => id);
      partial = new Map();
      event.partial.forEach(add);
    } else if (event.type === 'phase') {
      phase = event.phase;
      inProgress = !FINAL.has(phase);
    } else if (event.type === 'delta') add(event);
    else if (event.type === 'deltasDiscarded') drop(event.messageId);
    else if (event.type === 'message') {
      messages.push(event.meta.id);
      drop(event.meta.id);
    } else if (event.type === 'approvalRequested') approvals = [...new Set([...approvals, event.approval.id])];
    else if (event.type === 'approvalDecided') approvals = approvals.filter((id) => id !== event.approvalId);
    else if (event.type === 'outcome') {
      inProgress = false;
      approvals = [];
      drop(null);
    }
  }
  return { phase, inProgress, messages, partial: [...partial].map(([name, text]) => `${name}: ${text}`), approvals };
}
