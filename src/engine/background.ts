/**
 * Owns work that no caller waits for: what it throws is told, what has to be durable is tried until it is, and
 * `close()` waits for all of it. Must not know what the work is.
 */
import { messageOf, TurnError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import type { Announcer } from './announcer.js';
import { pause } from './clock.js';
import type { CutOff } from './cut-off.js';
import type { TurnName } from './driver-start.js';
import { FIRST_RETRY_MS, LAST_RETRY_MS } from './turn-commits.js';

/** Work of the engine itself, in no turn's name. */
export const NOBODY: TurnName = { sessionId: '', turnId: '' };

/** Whether the engine goes on: what fails while it closes is not tried again. */
export interface Closing {
  readonly closing: boolean;
  /** Aborts when the process waits no longer for code of the application. */
  readonly gone: CutOff;
}

export class Background {
  private readonly clock: Clock;
  private readonly announcer: Announcer;
  private readonly engine: Closing;
  private readonly running = new Set<Promise<unknown>>();

  constructor(clock: Clock, announcer: Announcer, engine: Closing) {
    this.clock = clock;
    this.announcer = announcer;
    this.engine = engine;
  }

  /** What the work throws is announced, never lost. Resolves when it is over. */
  run(turn: TurnName, work: () => Promise<unknown>): Promise<void> {
    const running = work().catch((thrown: unknown) => {
      if (thrown instanceof TurnError && thrown.code === 'TURN_STORE_CLOSED') return;
      this.announcer.announce({ type: 'storeFailed', reason: messageOf(thrown) }, turn, false);
    });
    this.running.add(running);
    return running.then(() => void this.running.delete(running));
  }

  /** The same for work that has to be durable in the end: while the store fails it is tried again, with growing pauses. */
  untilStored(turn: TurnName, work: () => Promise<unknown>): void {
    void this.run(turn, async () => {
      for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)) {
        try {
          await work();
          return;
        } catch (thrown) {
          const failed = thrown instanceof TurnError && thrown.code === 'TURN_STORE_FAILED';
          if (!failed || this.engine.closing) throw thrown;
          this.announcer.announce({ type: 'storeFailed', reason: thrown.message }, turn, false);
          await pause(this.clock, waitMs, this.engine.gone.signal);
        }
      }
    });
  }

  /** Resolves when nothing is left to run. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
