/**
 * Owns the armed timers of one turn and their absolute moments.
 * Must not know what a timer means: the chart raises and cancels them by id.
 */
import { OFF_MS } from '../../machines/index.js';
import type { Clock } from '../core/ports.js';
import type { TimerOperation } from '../core/step.js';

/** Moments by timer id, ms since the epoch. */
export type Deadlines = ReadonlyMap<string, number>;

interface Armed {
  readonly at: number;
  readonly disarm: () => void;
}

/**
 * The moments after a step. A restore keeps stored ones: they are looked up before that step's cancels are applied,
 * since a resume cancels and arms the same id.
 */
export function deadlinesAfter(
  before: Deadlines,
  operations: readonly TimerOperation[],
  now: number,
  kept?: { readonly [id: string]: number },
): Map<string, number> {
  const after = new Map(before);
  for (const operation of operations) {
    if (operation.kind === 'cancel') after.delete(operation.id);
    else after.set(operation.id, kept?.[operation.id] ?? now + operation.delayMs);
  }
  return after;
}

export class Timers {
  private readonly armed = new Map<string, Armed>();
  /** Moments of a restored turn whose timers are not armed yet: they count, and do not fire. */
  private readonly restored = new Map<string, number>();
  private readonly clock: Clock;
  private readonly fire: (id: string, take: () => boolean) => void;

  /**
   * `fire` says that a timer is due. It may be disarmed before anybody gets to it: `take` answers whether it still
   * counts, and takes it (m: a hard time-out that already waited in the mailbox killed the next model call).
   */
  constructor(clock: Clock, fire: (id: string, take: () => boolean) => void) {
    this.clock = clock;
    this.fire = fire;
  }

  get deadlines(): Deadlines {
    const deadlines = new Map(this.restored);
    for (const [id, { at }] of this.armed) deadlines.set(id, at);
    return deadlines;
  }

  /**
   * What the checkpoint says, until the step that resumes the turn arms it: a commit in between, which a crash may make
   * the last one, must not say that a wait has no end (I13).
   */
  restore(stored: { readonly [id: string]: number }): void {
    for (const [id, at] of Object.entries(stored)) this.restored.set(id, at);
  }

  /** Arms what these operations armed, and keeps the rest as it is. */
  adopt(operations: readonly TimerOperation[], after: Deadlines): void {
    for (const { id } of operations) {
      this.restored.delete(id);
      this.disarm(id);
    }
    for (const { id, kind } of operations) {
      const at = after.get(id);
      if (kind !== 'arm' || at === undefined || this.armed.has(id)) continue;
      // A moment that is past is due now; a clock that was set back must not make a wait longer than a timer can be.
      const ms = Math.min(Math.max(0, at - this.clock.now()), OFF_MS);
      const entry: Armed = {
        at,
        disarm: this.clock.after(ms, () => this.fire(id, () => this.armed.get(id) === entry && this.armed.delete(id))),
      };
      this.armed.set(id, entry);
    }
  }

  clear(): void {
    for (const id of [...this.armed.keys()]) this.disarm(id);
  }

  private disarm(id: string): void {
    this.armed.get(id)?.disarm();
    this.armed.delete(id);
  }
}
