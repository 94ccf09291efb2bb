/**
 * Owns recovery that is done again and again: rounds with a pause between them, never two at a time, until the engine
 * closes. Must not know what a round does.
 */
import type { Clock } from '../core/ports.js';

export class Rounds {
  private readonly clock: Clock;
  /** Runs one round; what it throws is told by whoever gives it. Resolves when it is over. */
  private readonly round: () => Promise<void>;
  private everyMs = 0;
  private running = false;
  private stopped = false;
  private disarm: (() => void) | undefined;

  constructor(clock: Clock, round: () => Promise<void>) {
    this.clock = clock;
    this.round = round;
  }

  /** The first round comes after this pause; another pause takes the place of an earlier one. */
  start(everyMs: number): void {
    this.everyMs = everyMs;
    if (!this.running) this.arm();
  }

  stop(): void {
    this.stopped = true;
    this.disarm?.();
  }

  private arm(): void {
    this.disarm?.();
    if (!this.stopped) this.disarm = this.clock.after(this.everyMs, () => void this.run(), true);
  }

  private async run(): Promise<void> {
    this.running = true;
    await this.round();
    this.running = false;
    this.arm();
  }
}
