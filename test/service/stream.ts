// A client of the service's stream, as EventSource is one: it reads, and when the connection is lost it comes back with
// the id of the last event it got, until it is told to leave.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { FollowEvent } from '../../src/index.js';
import { TOKEN } from './processes.js';

const AGAIN_AFTER_MS = 50;

export class Connection {
  /** How many connections gave a stream. */
  connected = 0;
  /** Answers that were no stream. */
  readonly refused: number[] = [];
  private readonly address: () => string;
  readonly sessionId: string;
  private readonly take: (event: FollowEvent) => void;
  private lastId: string | undefined;
  private current: ClientRequest | undefined;
  private timer: NodeJS.Timeout | undefined;
  private left = false;

  /** `address` is asked anew for every connection. */
  constructor(address: () => string, sessionId: string, take: (event: FollowEvent) => void) {
    this.address = address;
    this.sessionId = sessionId;
    this.take = take;
    this.connect();
  }

  /** The connection breaks; it comes back by itself. */
  drop(): void {
    this.current?.destroy();
  }

  leave(): void {
    this.left = true;
    clearTimeout(this.timer);
    this.current?.destroy();
  }

  private connect(): void {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      ...(this.lastId === undefined ? {} : { 'last-event-id': this.lastId }),
    };
    const asked = request(`${this.address()}/sessions/${this.sessionId}/events`, { headers, agent: false });
    this.current = asked;
    asked.once('response', (answer) => this.read(answer));
    asked.once('error', () => undefined);
    asked.once('close', () => {
      if (!this.left) this.timer = setTimeout(() => this.connect(), AGAIN_AFTER_MS);
    });
    asked.end();
  }

  private read(answer: IncomingMessage): void {
    if (answer.statusCode !== 200) {
      this.refused.push(answer.statusCode ?? 0);
      answer.resume();
      return;
    }
    this.connected += 1;
    let rest = '';
    answer.setEncoding('utf8');
    answer.on('error', () => undefined);
    answer.on('data', (chunk: string) => {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.readBlock(block);
    });
  }

  private readBlock(block: string): void {
    const id = /^id: (.*)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (id === undefined || data === undefined) return;
    this.lastId = id;
    this.take(JSON.parse(data) as FollowEvent);
  }
}

/** A connection that keeps all it was told, and can be waited on. */
export class Stream extends Connection {
  readonly events: FollowEvent[];
  private readonly listeners: Set<(event: FollowEvent) => void>;

  constructor(address: () => string, sessionId: string) {
    const events: FollowEvent[] = [];
    const listeners = new Set<(event: FollowEvent) => void>();
    super(address, sessionId, (event) => {
      events.push(event);
      for (const listen of listeners) listen(event);
    });
    this.events = events;
    this.listeners = listeners;
  }

  /** Resolves with the first event like this, of those that came already or that come. */
  async until(matches: (event: FollowEvent) => boolean, within = 30_000): Promise<FollowEvent> {
    const known = this.events.find(matches);
    return known ?? this.next(matches, within);
  }

  /** Resolves with the next event like this. */
  next(matches: (event: FollowEvent) => boolean, within = 30_000): Promise<FollowEvent> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.listeners.delete(listen);
        clearTimeout(timer);
      };
      const listen = (event: FollowEvent): void => {
        if (!matches(event)) return;
        end();
        resolve(event);
      };
      const timer = setTimeout(() => {
        end();
        const types = this.events.map(({ type }) => type);
        reject(new Error(`no such event of ${this.sessionId}; there were ${types.join(' ')}; refused ${this.refused}`));
      }, within);
      this.listeners.add(listen);
    });
  }
}
