/**
 * Owns the processes that the demo starts: that each ends when the demo ends, however it ends.
 * Must not know what they do.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to standard error: shown only where it failed. */
  readonly errors: string;
}

export interface Child<In> {
  readonly pid: number;
  send(message: In): void;
  /** SIGKILL: the process learns nothing of it. */
  kill(): void;
  /** Resolves when it is gone and everything it said has been heard. */
  readonly ended: Promise<Ended>;
}

const alive = new Set<ChildProcess>();
const ERRORS_KEPT = 20_000;

/** For every way out that can still run code; behind a SIGKILL of the director, the children see their channel close. */
export function killChildren(): void {
  for (const child of alive) child.kill('SIGKILL');
}

/**
 * @param file Beside this code, in the modules and in the package (.ci/bundle.mjs).
 * @param hear Called for every message, in order.
 */
export function startChild<In, Out>(file: string, hear: (message: Out) => void): Child<In> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
  alive.add(child);
  child.on('message', (message) => hear(message as Out));
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-ERRORS_KEPT);
  });
  // A message to a process that was just killed: its end says everything.
  const ignore = (): void => undefined;
  child.on('error', ignore);
  return {
    pid: child.pid ?? 0,
    send: (message) => void child.send(message as object, ignore),
    kill: () => void child.kill('SIGKILL'),
    ended: endOf(child).then(({ code, signal }) => ({ code, signal, errors })),
  };
}

function endOf(child: ChildProcess): Promise<Omit<Ended, 'errors'>> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      alive.delete(child);
      const end = { code, signal };
      // What it said last may still be in the channel when it is gone.
      if (child.connected) child.once('disconnect', () => resolve(end));
      else resolve(end);
    });
  });
}
