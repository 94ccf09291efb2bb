/**
 * Owns the giving back of routes and who waits for them: by route, first come, first served.
 * Must not know what the work does that waits.
 */
import type { Lease, TurnStore } from '../core/ports.js';
import { type Background, type Closing, NOBODY } from './background.js';

/** Asks for the route itself. Answers whether it is taken now, by this work or by somebody else. */
export type RouteWork = () => Promise<boolean>;

export class Routes {
  private readonly store: TurnStore;
  private readonly background: Background;
  private readonly engine: Closing;
  /** By route, and within it by session. */
  private readonly queues = new Map<string, Map<string, RouteWork>>();

  constructor(store: TurnStore, background: Background, engine: Closing) {
    this.store = store;
    this.background = background;
    this.engine = engine;
  }

  /** Runs `work` for a session when the route is given back; a session waits once. */
  waitFor(routeKey: string, sessionId: string, work: RouteWork): void {
    const queue = this.queues.get(routeKey) ?? new Map<string, RouteWork>();
    this.queues.set(routeKey, queue.set(sessionId, work));
  }

  async giveBack(lease: Lease): Promise<void> {
    await this.store.release(lease);
    if (this.queues.has(lease.routeKey)) void this.background.run(NOBODY, () => this.wakeNext(lease.routeKey));
  }

  /** Whoever has nothing left to do on the route leaves it to the next; whoever holds it then wakes the others. */
  private async wakeNext(routeKey: string): Promise<void> {
    const queue = this.queues.get(routeKey);
    for (const [sessionId, work] of queue ?? []) {
      if (this.engine.closing) return;
      queue?.delete(sessionId);
      if (queue?.size === 0) this.queues.delete(routeKey);
      try {
        if (await work()) return;
      } catch {
        // What one session could not do now it does when the store works; the next one has its turn.
        this.background.untilStored({ sessionId, turnId: '' }, work);
      }
    }
  }
}
