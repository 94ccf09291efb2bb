/**
 * Owns how time passes while a schedule runs: at once, when nothing else can happen, or by the clock on the wall.
 * Must not know processes or crashes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../engine/clock.js';
import { type SimulatedClock, steppedClock } from './simulated-clock.js';

/** Turns of the event loop that everything has that waits for no timer and no I/O. */
const TURNS = 3;
/**
 * How long real work that leads to nothing is waited for: in ms, and in looks at it. On a busy machine a second passes
 * in which nothing here had its turn, and work that was not let run has not been waited for.
 */
const PATIENCE_MS = 1_000;
const PATIENCE_LOOKS = 500;
/**
 * How often simulated time passes, with no real work under way, before nothing will happen any more. Counted in timers
 * that fired and in looks at a loop that had its turns: how fast the machine is does not come into it.
 */
const PASSES = 2_000;

export async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

export interface Time {
  readonly clock: SimulatedClock;
  /** Lets the next thing happen. */
  pass(): Promise<void>;
  /** Nothing has happened for so long that nothing will. */
  readonly isStuck: boolean;
}

/**
 * Real work under way: sockets, files and timers of this process beyond those that are open anyway, as servers of the
 * test and connections that are kept. Nobody tells which is which, so what stays open for long while nothing happens
 * counts as usual, until it is seen to be gone. A timer never does from the start: that of a test runner fires soon, and
 * one of a tool would then pass for it.
 */
export class RealWork {
  readonly #usual = open();
  #since = 0;
  #looks = 0;
  #happened = -1;

  constructor() {
    this.#usual.delete('Timeout');
  }

  /**
   * Whether more is open than usual. What is gone is no longer usual, so whoever lets time pass has to look now and then:
   * a connection that was closed unseen would hide a new one.
   */
  look(): boolean {
    const now = open();
    for (const [kind, count] of this.#usual) this.#usual.set(kind, Math.min(count, now.get(kind) ?? 0));
    return [...now].some(([kind, count]) => count > (this.#usual.get(kind) ?? 0));
  }

  /**
   * Waits a little where real work is under way; `happened` counts what it has led to. false: there is none, or it has
   * led to nothing for long.
   */
  async waited(happened: number): Promise<boolean> {
    if (!this.look()) {
      this.#happened = -1;
      return false;
    }
    if (happened !== this.#happened) {
      this.#since = performance.now();
      this.#looks = 0;
    }
    this.#happened = happened;
    this.#looks += 1;
    if (this.#looks > PATIENCE_LOOKS && performance.now() - this.#since > PATIENCE_MS) {
      for (const [kind, count] of open()) this.#usual.set(kind, count);
      this.#happened = -1;
      return false;
    }
    await sleep(1);
    return true;
  }

  /** Until none is under way, or it leads to nothing. */
  async over(happened: () => number): Promise<void> {
    while (await this.waited(happened())) await turns();
  }
}

function open(): Map<string, number> {
  const found = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) found.set(kind, (found.get(kind) ?? 0) + 1);
  return found;
}

/** Counts looks at something that may have moved since the last one. */
class Standstill {
  readonly #happened: () => number;
  #seen = -1;
  #since = 0;
  looks = 0;

  constructor(happened: () => number) {
    this.#happened = happened;
  }

  look(): void {
    const now = this.#happened();
    if (now !== this.#seen) {
      this.#seen = now;
      this.#since = performance.now();
      this.looks = 0;
    }
    this.looks += 1;
  }

  get ms(): number {
    return performance.now() - this.#since;
  }
}

/** Hours pass at once: the next timer fires as soon as nothing else can happen. `happened` counts what has. */
export function simulatedTime(work: RealWork, happened: () => number): Time {
  const clock = steppedClock();
  const still = new Standstill(happened);
  return {
    clock,
    async pass() {
      if (await work.waited(happened())) return;
      still.look();
      if (clock.nextAt === undefined) await sleep(1);
      else await clock.advance(clock.nextAt - clock.now());
    },
    get isStuck() {
      return still.looks > PASSES;
    },
  };
}

/** By the clock on the wall; it is stuck where nothing has happened for so many ms. */
export function realTime(work: RealWork, happened: () => number, timeoutMs: number): Time {
  const still = new Standstill(happened);
  return {
    clock: { ...systemClock, advance: (ms) => sleep(ms) },
    async pass() {
      work.look();
      still.look();
      await sleep(1);
    },
    get isStuck() {
      return still.looks > PATIENCE_LOOKS && still.ms > timeoutMs;
    },
  };
}

/** A clock whose timers can be dropped together, as they are when a process ends. */
export function droppable(clock: SimulatedClock): { readonly clock: SimulatedClock; drop(): void } {
  const armed = new Set<() => void>();
  let dropped = false;
  return {
    clock: {
      now: () => clock.now(),
      advance: (ms) => clock.advance(ms),
      after(ms, fire, background) {
        if (dropped) return () => undefined;
        const run = (): void => {
          armed.delete(cancel);
          fire();
        };
        const cancel = clock.after(ms, run, background);
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
