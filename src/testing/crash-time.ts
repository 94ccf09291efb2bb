/**
 * Owns how time passes while a schedule runs: at once, when nothing else can happen, or by the clock on the wall.
 * Must not know processes or crashes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/ports.js';
import { systemClock } from '../engine/clock.js';
import { simulatedClock } from './simulated-clock.js';

/** Turns of the event loop that everything has that waits for no timer and no I/O. */
const TURNS = 3;
/** How long simulated time waits for real work that makes no progress, in ms. */
export const PATIENCE_MS = 1_000;

export async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** The clock of a process that a matrix runs. */
export interface WorldClock extends Clock {
  /** Lets time pass: at once where it is simulated, else by waiting. */
  advance(ms: number): Promise<void>;
}

export interface Time {
  readonly clock: WorldClock;
  /** Lets the next thing happen. */
  pass(): Promise<void>;
}

/** Real work under way: sockets, files, timers of this process beyond those that are always there. */
export class RealWork {
  #usual = new Map<string, number>();
  #since: number | undefined;

  constructor() {
    this.takeForUsual();
  }

  /** What is open now is no sign of work: servers of the test, connections that are kept open. */
  takeForUsual(): void {
    for (const [kind, count] of open()) this.#usual.set(kind, Math.max(count, this.#usual.get(kind) ?? 0));
  }

  get isUnderWay(): boolean {
    return [...open()].some(([kind, count]) => count > (this.#usual.get(kind) ?? 0));
  }

  /** Waits a little where real work is under way. false: there is none, or it has been open for long without an end. */
  async waited(): Promise<boolean> {
    if (!this.isUnderWay) {
      this.#since = undefined;
      return false;
    }
    this.#since ??= performance.now();
    if (performance.now() - this.#since > PATIENCE_MS) {
      this.takeForUsual();
      this.#since = undefined;
      return false;
    }
    await sleep(1);
    return true;
  }

  /** Until none is under way, `ms` at most. */
  async over(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (this.isUnderWay && performance.now() < end) await sleep(1);
  }
}

function open(): Map<string, number> {
  const found = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) found.set(kind, (found.get(kind) ?? 0) + 1);
  return found;
}

/** Hours pass at once: the next timer fires as soon as nothing else can happen. */
export function simulatedTime(work: RealWork): Time {
  const clock = simulatedClock();
  return {
    clock,
    async pass() {
      if (await work.waited()) return;
      if (clock.nextAt === undefined) await sleep(1);
      else await clock.advance(clock.nextAt - clock.now());
    },
  };
}

/** By the clock on the wall. */
export const realTime = (): Time => ({ clock: { ...systemClock, advance: (ms) => sleep(ms) }, pass: () => sleep(1) });

/** A clock whose timers can be dropped together, as they are when a process ends. */
export function droppable(clock: WorldClock): { readonly clock: WorldClock; drop(): void } {
  const armed = new Set<() => void>();
  let dropped = false;
  return {
    clock: {
      now: () => clock.now(),
      advance: (ms) => clock.advance(ms),
      after(ms, fire) {
        if (dropped) return () => undefined;
        const cancel = clock.after(ms, () => {
          armed.delete(cancel);
          fire();
        });
        armed.add(cancel);
        return () => {
          armed.delete(cancel);
          cancel();
        };
      },
    },
    drop() {
      dropped = true;
      for (const cancel of armed) cancel();
      armed.clear();
    },
  };
}
