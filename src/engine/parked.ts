/**
 * Owns one timer: the earliest deadline of the parked turns of this process.
 * Must not know what happens when a deadline passes.
 */
import { OFF_MS } from '../../machines/index.js';
import type { Clock } from '../core/ports.js';

interface Wait {
  readonly sessionId: string;
  readonly turnId: string;
  readonly until: number;
}

export class Parked {
  private readonly clock: Clock;
  private readonly due: (turn: Wait) => void;
  private readonly waits = new Map<string, Wait>();
  private disarm: (() => void) | undefined;

  constructor(clock: Clock, due: (turn: Wait) => void) {
    this.clock = clock;
    this.due = due;
  }

  add(sessionId: string, turnId: string, until: number): void {
    this.waits.set(turnId, { sessionId, turnId, until });
    this.arm();
  }

  remove(turnId: string): void {
    if (this.waits.delete(turnId)) this.arm();
  }

  clear(): void {
    this.waits.clear();
    this.arm();
  }

  private arm(): void {
    this.disarm?.();
    this.disarm = undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const { until } of this.waits.values()) earliest = Math.min(earliest, until);
    if (earliest === Number.POSITIVE_INFINITY) return;
    const ms = Math.min(Math.max(0, earliest - this.clock.now()), OFF_MS);
    this.disarm = this.clock.after(ms, () => this.fire());
  }

  private fire(): void {
    const now = this.clock.now();
    for (const wait of [...this.waits.values()]) {
      if (wait.until > now) continue;
      this.waits.delete(wait.turnId);
      this.due(wait);
    }
    this.arm();
  }
}
