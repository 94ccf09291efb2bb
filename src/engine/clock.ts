/**
 * Owns the real clock and the real ids. Everything else in the engine gets them injected.
 * Must not know who asks.
 */
import { randomBytes } from 'node:crypto';
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
export const randomIds: Ids = () => randomBytes(12).toString('base64url');
