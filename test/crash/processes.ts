// Starts processes of the service, two at a time, talks to them by signals and reads what they say. None outlives its
// test: each is waited for, and one that hangs is killed and reported.
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TurnRest } from '../../src/index.js';
import { plainEnv, type Service } from './package.js';

/** Long after a healthy process would have ended, also on a busy machine. */
const HANGS_AFTER_MS = 120_000;

/** What a process is to do, and where to die; see child/service.mjs. */
export interface Order {
  readonly script: 'batch' | 'review' | 'talk' | 'row' | 'traffic';
  readonly drive: 'send' | 'settle' | 'cancel' | 'traffic';
  readonly messageId?: string;
  /** The number or the name of the moment at which it kills itself. */
  readonly killAt?: number | string;
  /** The name of the moment at which it says `held` and stays. */
  readonly holdAt?: string;
  /** Whether SIGTERM lets go what is held, before the hand-over aborts it. */
  readonly letGo?: boolean;
  /** Calls of a batch work one after another; default true. */
  readonly inTurn?: boolean;
  readonly graceMs?: number;
  /** Tools take up to this long, and the clock is the real one. */
  readonly paceMs?: number;
  readonly seed?: number;
  readonly upTo?: Readonly<Record<string, number>>;
  /** As many recoveries as there are kills. */
  readonly limitless?: boolean;
}

export interface Moment {
  readonly name: string;
  /** Moments with the same state leave the same bytes behind. */
  readonly state: string;
}

interface Told {
  readonly turnId: string;
  readonly gate: string;
  readonly reason: string;
}

/** The last line of a process that came to its end. */
export interface End {
  readonly what: 'end';
  readonly passed: readonly Moment[];
  readonly events: readonly { type: string; gate: string; turnId: string; durable: boolean }[];
  readonly recovered: {
    readonly resumed: readonly string[];
    readonly held: readonly Told[];
    readonly parked: readonly string[];
    readonly abandoned: readonly Told[];
  };
  readonly accepted: 'started' | 'queued' | 'duplicate';
  readonly turnId: string;
  readonly rest: TurnRest;
  readonly reviews: readonly { readonly callId: string }[];
}

export interface Refused {
  readonly what: 'refused';
  readonly error: {
    readonly name: string;
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
  };
}

export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly last: End | Refused | { readonly what: 'open' | 'held' } | undefined;
  readonly stderr: string;
}

/** One store with its witness, outside of which no process leaves anything. */
export interface Place {
  readonly folder: string;
  readonly store: string;
  readonly witness: string;
}

export interface Running {
  /** Resolves when the process has said this. */
  said(what: 'open' | 'held'): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

const SLOTS = 2;

export class Processes {
  private readonly service: Service;
  private readonly alive = new Set<ChildProcess>();
  private readonly waiting: (() => void)[] = [];
  private free = SLOTS;
  private places = 0;
  /** How many were started. */
  count = 0;

  constructor(service: Service) {
    this.service = service;
  }

  place(): Place {
    this.places += 1;
    const folder = join(this.service.scratch, `place-${this.places}`);
    mkdirSync(folder);
    return { folder, store: join(folder, 'store'), witness: join(folder, 'witness.jsonl') };
  }

  /** Only for a place whose process has ended. */
  copy(from: Place): Place {
    const to = this.place();
    cpSync(from.folder, to.folder, { recursive: true });
    return to;
  }

  remove(place: Place): void {
    rmSync(place.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async run(place: Place, order: Order): Promise<Ended> {
    return (await this.start(place, order)).ended;
  }

  async start(place: Place, order: Order): Promise<Running> {
    await this.slot();
    this.count += 1;
    const argument = JSON.stringify({ ...order, store: place.store, witness: place.witness });
    const child = spawn(process.execPath, [this.service.program, argument], {
      env: plainEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.alive.add(child);
    return this.follow(child);
  }

  /** For the end of the tests: whatever went wrong, no process stays behind. */
  async endAll(): Promise<void> {
    const ends = [...this.alive].map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const child of this.alive) child.kill('SIGKILL');
    await Promise.all(ends);
  }

  private follow(child: ChildProcess): Running {
    const said = new Map<string, () => void>();
    const promises = new Map(
      ['open', 'held'].map((what) => [what, new Promise<void>((resolve) => said.set(what, resolve))]),
    );
    let last: Ended['last'];
    let stderr = '';
    let hangs = false;
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      last = JSON.parse(line);
      said.get(last?.what ?? '')?.();
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const watchdog = setTimeout(() => {
      hangs = true;
      child.kill('SIGKILL');
    }, HANGS_AFTER_MS);
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        clearTimeout(watchdog);
        this.alive.delete(child);
        this.giveBack();
        if (hangs) reject(new Error(`a process hung; it last said ${JSON.stringify(last)}\n${stderr}`));
        else resolve({ signal, code, last, stderr });
      });
    });
    const early = ended.then(({ stderr: text }) => Promise.reject(new Error(`the process ended too early\n${text}`)));
    early.catch(() => undefined);
    return {
      said: (what) => Promise.race([promises.get(what) as Promise<void>, early]),
      kill: (signal) => void child.kill(signal),
      ended,
    };
  }

  private async slot(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private giveBack(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
