// What is outside of every process and survives each of them: the time, the receiver of effects, the provider, and what
// senders and people know. The receiver is the independent ledger: it counts what happened to the world, not what the
// engine says of it.

/** Something that happened to the world. */
export interface Effect {
  readonly tool: string;
  readonly input: string;
  readonly key: string;
}

interface Flight {
  readonly effect: Effect;
  readonly landsAt: number;
}

const START_MS = 1_000_000_000_000;

export class Outside {
  now = START_MS;
  /** Processes that were started. */
  lives = 0;
  /** Crashes so far. */
  crashes = 0;
  /** Moments that all processes together have passed: what a schedule can be timed by. */
  moments = 0;
  /** Grows with everything below that a later process could tell: two moments with the same number are one. */
  version = 0;
  readonly landed: Effect[] = [];
  readonly flying: Flight[] = [];
  /** Runs of external calls by key, since somebody who knows said that the last one had not started (I5). */
  readonly begun = new Set<string>();
  /** What senders and people have had confirmed. */
  readonly done = new Set<string>();
  /** Turn ids by the message that started or joined them. */
  readonly turns = new Map<string, string>();
  /** Whatever a scenario counts: calls of the provider, outcomes that were delivered. */
  readonly counts = new Map<string, number>();

  /** The same world, free to go another way. */
  fork(): Outside {
    const fork = new Outside();
    fork.now = this.now;
    fork.lives = this.lives;
    fork.crashes = this.crashes;
    fork.moments = this.moments;
    fork.version = this.version;
    fork.landed.push(...this.landed);
    fork.flying.push(...this.flying);
    for (const key of this.begun) fork.begun.add(key);
    for (const name of this.done) fork.done.add(name);
    for (const [name, turnId] of this.turns) fork.turns.set(name, turnId);
    for (const [name, count] of this.counts) fork.counts.set(name, count);
    return fork;
  }

  /** The request arrives. A receiver that takes keys does nothing the second time. */
  land(effect: Effect, takesKeys: boolean): void {
    if (takesKeys && this.has(effect.key)) return;
    this.landed.push(effect);
    this.version += 1;
  }

  /** The request is on its way and arrives whether its sender lives or not. */
  send(effect: Effect, afterMs: number): void {
    this.flying.push({ effect, landsAt: this.now + afterMs });
    this.version += 1;
  }

  get nextLanding(): number | undefined {
    return this.flying.length === 0 ? undefined : Math.min(...this.flying.map(({ landsAt }) => landsAt));
  }

  /** The time goes on to this moment, and what was to arrive by then has. */
  passTo(now: number): void {
    this.now = Math.max(this.now, now);
    for (const flight of this.flying.filter(({ landsAt }) => landsAt <= this.now)) {
      this.flying.splice(this.flying.indexOf(flight), 1);
      this.landed.push(flight.effect);
      this.version += 1;
    }
  }

  has(key: string): boolean {
    return this.landed.some((effect) => effect.key === key);
  }

  isDone(name: string): boolean {
    return this.done.has(name);
  }

  confirm(name: string): void {
    this.done.add(name);
    this.version += 1;
  }

  count(name: string): number {
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    this.version += 1;
    return count;
  }

  counted(name: string): number {
    return this.counts.get(name) ?? 0;
  }
}
