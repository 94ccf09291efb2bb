// Waits without a clock: a bounded number of turns of the event loop, so that what never comes fails at once.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/index.js';

/** Everything in these tests lives in one process: what has not come after this many turns never comes. */
const TURNS = 3_000;

/** Gives work that is under way the chance to come to rest. */
export async function calm(turns = 60): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await setImmediate();
}

/** The value of a promise that has to be settled without the clock moving. */
export async function within<T>(promise: Promise<T>, what = 'the promise'): Promise<T> {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  for (let turn = 0; turn < TURNS && !settled; turn += 1) await setImmediate();
  if (!settled) throw new Error(`${what} is still open`);
  return promise;
}

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    if (await condition()) return;
    await setImmediate();
  }
  throw new Error(`it never came to this: ${what}`);
}

/** Whether a promise stays open when everything else has come to rest. */
export async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  let open = true;
  const done = (): void => {
    open = false;
  };
  promise.then(done, done);
  await calm();
  return open;
}

export interface Gate<T = void> {
  readonly opened: Promise<T>;
  open(value: T): void;
  fail(error: unknown): void;
}

/** A place where a test holds something back. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(() => undefined);
  return { opened, open, fail };
}

export { never } from '../../src/testing/mortal-store.js';

/** Ends when the signal aborts, and not before; rejects with its reason, as fetch does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** How many timers of a clock are armed, from now on. */
export function armedTimers(clock: Clock): ReadonlySet<number> {
  const armed = new Set<number>();
  const after = clock.after.bind(clock);
  let last = 0;
  clock.after = (ms, fire, background) => {
    last += 1;
    const id = last;
    const cancel = after(
      ms,
      () => {
        armed.delete(id);
        fire();
      },
      background,
    );
    armed.add(id);
    return () => {
      armed.delete(id);
      cancel();
    };
  };
  return armed;
}
