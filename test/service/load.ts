// Many sessions on the example service while it is killed again and again: what was doubled, what was lost, which
// stream never came to its end, and what it cost. Loopback only, bounded in count and time; it stops by itself.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowEvent } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { Shown } from '../engine/following.js';
import { type Effect, type Project, Service } from './processes.js';
import { Connection } from './stream.js';

export interface Load {
  readonly sessions: number;
  readonly ms: number;
  readonly killEveryMs: number;
  /** ms between two words of the model; a turn says about a dozen. */
  readonly paceMs: number;
}

export interface Figures {
  readonly sessions: number;
  readonly kills: number;
  readonly turns: number;
  /** Outcomes by status, as the streams told them. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly effects: number;
  readonly doubled: number;
  readonly lost: number;
  /** Turns whose end never came over their stream. */
  readonly neverEnded: number;
  /** Sessions whose stream shows another list than the one that is stored. */
  readonly wrongPictures: number;
  /** Turns that are still in progress in the store. */
  readonly markers: number;
  readonly events: number;
  readonly connections: number;
  readonly lagged: number;
  /** ms from a start to the end of its recover(), median and longest; of lives that came that far. */
  readonly readyMs: { readonly median: number; readonly longest: number };
  /** MB of resident memory of the service: at its most in any life, and the most of the last life. */
  readonly memory: { readonly most: number; readonly lastLife: number };
}

/** What one turn does to the world outside: `/send 2`. */
const OF_A_TURN = ['number 1', 'number 2'];
/** After the last kill a turn that is well ends long before. */
const SETTLES_WITHIN_MS = 120_000;

export async function runLoad(project: Project, load: Load): Promise<Figures> {
  const service = new Service(project, { PACE_MS: `${load.paceMs}` });
  await service.start();
  const killer = new Killer(service, load.killEveryMs);
  const clients = Array.from({ length: load.sessions }, (_, n) => new Client(service, `session-${n}`));
  const watch = setInterval(() => killer.look(), 250);
  try {
    const until = Date.now() + load.ms;
    const talks = clients.map((client) => client.talk(until));
    await killer.run(Math.ceil(load.ms / load.killEveryMs) - 1);
    await Promise.all(talks);
  } finally {
    clearInterval(watch);
    for (const client of clients) client.leave();
    await service.kill();
  }
  return figuresOf(service, killer, clients);
}

/** Kills the process at every tick, wherever it is, and starts the next one at once. */
class Killer {
  kills = 0;
  readonly readyMs: number[] = [];
  /** The most resident memory of each life, in MB. */
  readonly memory: number[] = [0];
  private readonly service: Service;
  private readonly everyMs: number;

  constructor(service: Service, everyMs: number) {
    this.service = service;
    this.everyMs = everyMs;
  }

  /** A number of kills, and no moment for the last one: a busy machine would leave some out. */
  async run(kills: number): Promise<void> {
    while (this.kills < kills) {
      await sleep(this.everyMs);
      await this.service.kill();
      this.kills += 1;
      this.memory.push(0);
      const startedAt = Date.now();
      void this.service.start().then((state) => {
        if (state === 'ready') this.readyMs.push(Date.now() - startedAt);
      });
    }
  }

  /** How much memory the process of this life takes at this moment. */
  look(): void {
    const life = this.memory.length - 1;
    this.memory[life] = Math.max(this.memory[life] ?? 0, residentMb(this.service.pid));
  }
}

/** 0 where the system does not tell. */
function residentMb(pid: number): number {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}

/** A person who sends one message after the other, each when the turn before has ended, over one stream. */
class Client {
  readonly shown = new Shown();
  readonly outcomes: string[] = [];
  turns = 0;
  neverEnded = 0;
  events = 0;
  lagged = 0;
  readonly connection: Connection;
  private readonly service: Service;
  private ended: ((status: string) => void) | undefined;
  private waitsFor = '';
  /** The last end that the stream told: it may come before the answer to the message does. */
  private lastEnd: { readonly turnId: string; readonly status: string } | undefined;

  constructor(service: Service, sessionId: string) {
    this.service = service;
    this.connection = new Connection(
      () => service.address,
      sessionId,
      (event) => this.take(event),
    );
  }

  async talk(until: number): Promise<void> {
    while (Date.now() < until) {
      this.turns += 1;
      const turnId = await this.send(`${this.connection.sessionId} ${this.turns}`);
      const status = await this.endOf(turnId);
      if (status === undefined) this.neverEnded += 1;
      else this.outcomes.push(status);
    }
  }

  leave(): void {
    this.connection.leave();
  }

  /** Again under the same id until it was taken: nobody knows whether a connection broke before or behind that. */
  private async send(messageId: string): Promise<string> {
    for (;;) {
      const answer = await this.service.send(this.connection.sessionId, '/send 2', messageId).catch(() => undefined);
      if (answer?.status === 202) return answer.body.turnId;
      await sleep(100);
    }
  }

  private async endOf(turnId: string): Promise<string | undefined> {
    if (this.lastEnd?.turnId === turnId) return this.lastEnd.status;
    const end = new Promise<string>((resolve) => {
      this.waitsFor = turnId;
      this.ended = resolve;
    });
    const gone = new AbortController();
    const late = sleep(SETTLES_WITHIN_MS, undefined, { signal: gone.signal }).catch(() => undefined);
    const status = await Promise.race([end, late]);
    gone.abort();
    return status ?? undefined;
  }

  private take(event: FollowEvent): void {
    this.events += 1;
    if (event.type === 'lagged') this.lagged += 1;
    this.shown.take(event);
    const outcome = event.type === 'outcome' || event.type === 'snapshot' ? event.outcome : null;
    if (outcome === null) return;
    this.lastEnd = { turnId: event.turnId, status: outcome.status };
    if (event.turnId === this.waitsFor) this.ended?.(outcome.status);
  }
}

async function figuresOf(service: Service, killer: Killer, clients: readonly Client[]): Promise<Figures> {
  const sum = (of: (client: Client) => number) => clients.reduce((total, client) => total + of(client), 0);
  const outcomes: Record<string, number> = {};
  for (const status of clients.flatMap((client) => client.outcomes)) outcomes[status] = (outcomes[status] ?? 0) + 1;
  const effects = service.effects();
  const { doubled, lost } = compare(effects, clients);
  const ready = [...killer.readyMs].sort((a, b) => a - b);
  return {
    sessions: clients.length,
    kills: killer.kills,
    turns: sum((client) => client.turns),
    outcomes,
    effects: effects.length,
    doubled,
    lost,
    neverEnded: sum((client) => client.neverEnded),
    ...(await lookInto(service, clients)),
    events: sum((client) => client.events),
    connections: sum((client) => client.connection.connected),
    lagged: sum((client) => client.lagged),
    readyMs: { median: ready[Math.floor(ready.length / 2)] ?? 0, longest: ready.at(-1) ?? 0 },
    memory: { most: Math.max(...killer.memory), lastLife: killer.memory.at(-1) ?? 0 },
  };
}

/** The world outside against what the streams said: each completed turn has each of its effects, once. */
function compare(effects: readonly Effect[], clients: readonly Client[]): { doubled: number; lost: number } {
  const counts = new Map<string, number>();
  for (const { sessionId, what } of effects) {
    const name = `${sessionId} ${what}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  let doubled = effects.length - new Set(effects.map(({ key }) => key)).size;
  let lost = 0;
  for (const { outcomes, connection } of clients) {
    for (const what of OF_A_TURN) {
      const more = (counts.get(`${connection.sessionId} ${what}`) ?? 0) - outcomes.length;
      doubled += Math.max(0, more);
      lost += Math.max(0, -more);
    }
  }
  return { doubled, lost };
}

async function lookInto(service: Service, clients: readonly Client[]) {
  const store = await openLevelStore({ path: service.storePath });
  try {
    let wrongPictures = 0;
    for (const { shown, connection } of clients) {
      const stored = (await store.messages(connection.sessionId)).map(({ meta }) => meta.id);
      if (JSON.stringify(shown.picture.messages) !== JSON.stringify(stored)) wrongPictures += 1;
    }
    return { wrongPictures, markers: (await store.markers('assistant')).length };
  } finally {
    await store.close();
  }
}
