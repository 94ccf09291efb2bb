/**
 * Owns a clock that moves only when told to: hours of back-off pass in a test without waiting.
 * Must not know what the timers are for.
 */
import type { Clock } from '../core/ports.js';

export interface SimulatedClock extends Clock {
  /**
   * Moves the time on, firing timers in their order; work they start is let run in between.
   * @throws {TypeError} `ms` is no number of 0 or more: time does not go back.
   */
  advance(ms: number): Promise<void>;
}

/** For what moves the time by itself. */
export interface SteppedClock extends SimulatedClock {
  /** The moment of the next timer, ms since the epoch; undefined where none is armed. */
  readonly nextAt: number | undefined;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Turns of the event loop given to work between two moments: stores answer in a few. */
const TURNS = 20;

async function letWorkRun(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** `startAt` is ms since the epoch; default: the moment 1,000,000,000,000. */
export const simulatedClock = (startAt?: number): SimulatedClock => steppedClock(startAt);

export function steppedClock(startAt = 1_000_000_000_000): SteppedClock {
  let now = startAt;
  let order = 0;
  const timers = new Set<Timer>();
  const nextUntil = (end: number): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.at > end) continue;
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  };
  return {
    now: () => now,
    get nextAt() {
      return nextUntil(Number.POSITIVE_INFINITY)?.at;
    },
    after(ms, fire) {
      order += 1;
      const timer = { at: now + Math.max(0, ms), order, fire };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      if (!(Number.isFinite(ms) && ms >= 0)) throw new TypeError('advance(ms) takes a number of ms, 0 or more.');
      const end = now + ms;
      await letWorkRun();
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        now = Math.max(now, timer.at);
        timers.delete(timer);
        timer.fire();
        await letWorkRun();
      }
      now = end;
    },
  };
}
