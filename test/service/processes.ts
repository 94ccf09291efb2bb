// Starts the example service as real processes, one after the other on one port, and ends them as an operator or a
// crash does. The program runs as a project of its own has it: plain JavaScript beside its own node_modules.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';
import { plainEnv } from '../crash/package.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
export const programFolder = join(here, 'program');
export const TOKEN = 'a token of the tests';

/** Long after a healthy process would be ready or gone, also on a busy machine. */
const HANGS_AFTER_MS = 120_000;

export interface Project {
  readonly folder: string;
  remove(): void;
}

/** The program without its types, in a folder outside of the repository. */
export async function makeProject(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-service-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'durable-turn'), 'junction');
  symlinkSync(join(root, 'node_modules', 'fastify'), join(folder, 'node_modules', 'fastify'), 'junction');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'chat', private: true, type: 'module' }));
  for (const name of readdirSync(programFolder)) {
    const from = join(programFolder, name);
    if (!name.endsWith('.ts')) copyFileSync(from, join(folder, name));
    else {
      const { code } = await transformWithOxc(readFileSync(from, 'utf8'), from);
      writeFileSync(join(folder, name.replace(/\.ts$/, '.js')), code);
    }
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

export interface Gone {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly stderr: string;
}

/** One line of the world outside: an effect that took place. */
export interface Effect {
  readonly key: string;
  readonly tool: string;
  readonly sessionId: string;
  readonly what: string;
}

/** One service, through all its processes: the same store, outbox and address. */
export class Service {
  /** How many processes were started. */
  starts = 0;
  /** Resolves when the process that runs now has ended. */
  gone: Promise<Gone> = Promise.reject(new Error('not started'));
  private readonly project: Project;
  private readonly env: Record<string, string>;
  private readonly data: string;
  private child: ChildProcess | undefined;
  private port = 0;

  constructor(project: Project, env: Record<string, string> = {}) {
    this.project = project;
    this.env = env;
    this.data = mkdtempSync(join(project.folder, 'data-'));
    this.gone.catch(() => undefined);
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get storePath(): string {
    return join(this.data, 'store');
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Starts a process and waits until it is ready, or dead: a turn may kill it right away. */
  async start(): Promise<'ready' | 'dead'> {
    this.starts += 1;
    const settings = { STORE: this.storePath, OUTBOX: this.outboxPath, PORT: `${this.port}`, TOKEN, ...this.env };
    const child = spawn(process.execPath, ['service.js'], {
      cwd: this.project.folder,
      env: { ...plainEnv, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    let stderr = '';
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    this.gone = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve({ signal, code, stderr }));
    });
    const ready = new Promise<'ready'>((resolve) => {
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        const port = /^ready at http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
        if (port === undefined) return;
        this.port = Number(port);
        resolve('ready');
      });
    });
    const dead = this.gone.then((): 'dead' => 'dead');
    return inTime(Promise.race([ready, dead]), `process ${this.starts} is ready`, () => stderr);
  }

  /** kill -9 */
  async kill(): Promise<Gone> {
    this.child?.kill('SIGKILL');
    return this.gone;
  }

  /** A deploy: told to go, and gone by itself. */
  async deploy(): Promise<Gone> {
    this.child?.kill('SIGTERM');
    return inTime(this.gone, 'the process goes', () => 'it hangs');
  }

  /** What took place outside, in this order. */
  effects(): readonly Effect[] {
    const lines = readFileSync(this.outboxPath, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Effect);
  }

  async request(path: string, body?: unknown): Promise<{ readonly status: number; readonly body: any }> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${this.address}${path}`, init);
    return { status: answer.status, body: await answer.json() };
  }

  send(sessionId: string, text: string, messageId: string): Promise<{ readonly status: number; readonly body: any }> {
    return this.request(`/sessions/${sessionId}/messages`, { text, messageId });
  }

  private get outboxPath(): string {
    return join(this.data, 'outbox.jsonl');
  }
}

async function inTime<T>(promise: Promise<T>, what: string, more: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`it never came to this: ${what}\n${more()}`)), HANGS_AFTER_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
