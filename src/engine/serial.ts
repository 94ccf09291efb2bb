/**
 * Owns the order of work on one session: one task at a time, first come, first served.
 * Must not know what the tasks do.
 */

export class Serial {
  private readonly tails = new Map<string, Promise<unknown>>();

  /** Runs `task` when every earlier one under this key has ended, well or not. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.tails.get(key) ?? Promise.resolve();
    const result = before.then(task, task);
    const tail = result
      .catch(() => undefined)
      .then(() => {
        if (this.tails.get(key) === tail) this.tails.delete(key);
      });
    this.tails.set(key, tail);
    return result;
  }

  /** Resolves when nothing is left to run. */
  async idle(): Promise<void> {
    while (this.tails.size > 0) await Promise.all(this.tails.values());
  }
}
