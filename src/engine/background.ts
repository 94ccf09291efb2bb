/**
 * Owns work that no caller waits for: what it throws is told - of a session that cannot be read once, however often
 * work meets it -, what has to be durable is tried until it is, and `close()` waits for all of it.
 * Must not know what the work is.
 */
import { messageOf, TurnError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import type { Announcer } from './announcer.js';
import type { CutOff } from './cut-off.js';
import type { TurnName } from './driver-start.js';
import { untilStored } from './until-stored.js';

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
  /** What was told of sessions that cannot be read: no round of recovery makes it news. */
  private readonly damage = new Map<string, Set<string>>();

  constructor(clock: Clock, announcer: Announcer, engine: Closing) {
    this.clock = clock;
    this.announcer = announcer;
    this.engine = engine;
  }

  /** What the work throws is announced, never lost. Resolves when it is over. */
  run(turn: TurnName, work: () => Promise<unknown>): Promise<void> {
    const running = work().catch((thrown: unknown) => {
      if (thrown instanceof TurnError && thrown.code === 'TURN_STORE_CLOSED') return;
      if (thrown instanceof TurnError && thrown.code === 'TURN_DAMAGED') this.tellDamage(thrown.message, turn);
      else this.tell(messageOf(thrown), turn);
    });
    this.running.add(running);
    return running.then(() => void this.running.delete(running));
  }

  /** The same for work that has to be durable in the end: while the store fails it is tried again, with growing pauses. */
  untilStored(turn: TurnName, work: () => Promise<unknown>): void {
    const patience = {
      clock: this.clock,
      isOver: () => this.engine.closing,
      hurry: this.engine.gone,
      failed: ({ message }: TurnError) => this.tell(message, turn),
    };
    void this.run(turn, () => untilStored(work, patience));
  }

  /** Resolves when nothing is left to run. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  /** The session was deleted: damage of the next one under its id is news. */
  forgetDamage(sessionId: string): void {
    this.damage.delete(sessionId);
  }

  private tellDamage(reason: string, turn: TurnName): void {
    const told = this.damage.get(turn.sessionId) ?? new Set();
    if (told.has(reason)) return;
    this.damage.set(turn.sessionId, told.add(reason));
    this.announcer.announce({ type: 'sessionDamaged', reason }, turn, true);
  }

  private tell(reason: string, turn: TurnName): void {
    this.announcer.announce({ type: 'storeFailed', reason }, turn, false);
  }
}
