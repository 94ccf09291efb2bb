// The clock of one process in a world whose time goes on without it.
import type { Clock } from '../../../src/index.js';
import type { Outside } from './outside.js';

export class LifeClock implements Clock {
  private readonly outside: Outside;
  private readonly timers = new Set<{ readonly at: number; readonly fire: () => void }>();

  constructor(outside: Outside) {
    this.outside = outside;
  }

  now(): number {
    return this.outside.now;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.outside.now + Math.max(0, ms), fire };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  get next(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.timers) if (next === undefined || at < next) next = at;
    return next;
  }

  /** Those that are due, in the order in which they were set. */
  fireDue(): void {
    for (const timer of [...this.timers]) {
      if (timer.at > this.outside.now || !this.timers.delete(timer)) continue;
      timer.fire();
    }
  }
}
