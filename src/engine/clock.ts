/**
 * Owns the real clock and the real ids, and waiting on whatever clock there is. Everything else in the engine gets them
 * injected. Must not know who asks.
 */
import { randomFillSync } from 'node:crypto';
import type { Clock, Ids } from '../core/ports.js';

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, fire, background = false) {
    const timer = setTimeout(fire, ms);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** 96 bits: two processes never make the same turn id, and nobody guesses one. */
const ID_BYTES = 12;
/** Asking the system for random bytes costs the same for many as for few. */
const pool = Buffer.alloc(ID_BYTES * 256);
let left = 0;

export const randomIds: Ids = () => {
  if (left === 0) left = randomFillSync(pool).length;
  left -= ID_BYTES;
  return pool.toString('base64url', left, left + ID_BYTES);
};

/** Resolves after `ms`, or when the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      disarm();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const disarm = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
