/**
 * Owns how much of one kind of work goes on at the same time: first come, first served. Must not know what the work is.
 */

export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.waiting.shift();
      // Handed on: whoever comes meanwhile does not get past those who wait.
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
