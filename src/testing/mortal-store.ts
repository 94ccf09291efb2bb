/**
 * Owns what a dead process looks like from inside: its store answers nobody, its timers do not fire, and what it awaits
 * never comes. Must not know how it died, nor what the store is made of.
 */
import type { Clock, Commit, Lease, TurnStore } from '../core/ports.js';

export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Another store as one process sees it, until that process dies. */
export class MortalStore implements TurnStore {
  readonly kind: string;
  protected readonly inner: TurnStore;
  readonly #underWay = new Set<Promise<unknown>>();
  #dead = false;

  constructor(inner: TurnStore) {
    this.kind = inner.kind;
    this.inner = inner;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** From here on nobody who waits for this process hears of it again; no error is thrown anywhere, as with SIGKILL. */
  die(): void {
    this.#dead = true;
  }

  /** Something that the process awaits has not come yet. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** Resolves when nothing that was asked of the inner store is under way. */
  async atRest(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** What the process awaits, from whomever; a dead process never gets it, and an error no more than a value. */
  async whileAlive<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#dead) return never();
    const asked = Promise.resolve(work());
    this.#underWay.add(asked);
    try {
      const answer = await asked;
      return this.#dead ? await never<T>() : answer;
    } catch (thrown) {
      if (this.#dead) return never();
      throw thrown;
    } finally {
      this.#underWay.delete(asked);
    }
  }

  /** The clock of this process: the time is everybody's, the timers die with it. */
  clockOf(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (ms, fire, background) => {
        const run = (): void => {
          if (!this.#dead) fire();
        };
        return clock.after(ms, run, background);
      },
    };
  }

  async *#listed<T>(all: () => AsyncIterable<T>): AsyncGenerator<T> {
    if (this.#dead) await never();
    for await (const one of all()) {
      if (this.#dead) await never();
      yield one;
    }
  }

  commit(commit: Commit): Promise<void> {
    return this.whileAlive(() => this.inner.commit(commit));
  }
  acquire(routeKey: string): Promise<Lease | undefined> {
    return this.whileAlive(() => this.inner.acquire(routeKey));
  }
  release(lease: Lease): Promise<void> {
    return this.whileAlive(() => this.inner.release(lease));
  }
  head: TurnStore['head'] = (sessionId) => this.whileAlive(() => this.inner.head(sessionId));
  load: TurnStore['load'] = (sessionId) => this.whileAlive(() => this.inner.load(sessionId));
  messages: TurnStore['messages'] = (sessionId) => this.whileAlive(() => this.inner.messages(sessionId));
  archive: TurnStore['archive'] = (sessionId) => this.whileAlive(() => this.inner.archive(sessionId));
  inbox: TurnStore['inbox'] = (sessionId) => this.whileAlive(() => this.inner.inbox(sessionId));
  call: TurnStore['call'] = (callId) => this.whileAlive(() => this.inner.call(callId));
  callsOf: TurnStore['callsOf'] = (turnId) => this.whileAlive(() => this.inner.callsOf(turnId));
  seen: TurnStore['seen'] = (sessionId, messageId) => this.whileAlive(() => this.inner.seen(sessionId, messageId));
  outcome: TurnStore['outcome'] = (turnId) => this.whileAlive(() => this.inner.outcome(turnId));
  markers: TurnStore['markers'] = (agent) => this.whileAlive(() => this.inner.markers(agent));
  waitingInput: TurnStore['waitingInput'] = (agent) => this.whileAlive(() => this.inner.waitingInput(agent));
  reviews: TurnStore['reviews'] = (agent, sessionId) => this.whileAlive(() => this.inner.reviews(agent, sessionId));
  sessions: TurnStore['sessions'] = (agent) => this.#listed(() => this.inner.sessions(agent));
  remove: TurnStore['remove'] = (sessionId) => this.whileAlive(() => this.inner.remove(sessionId));
  quarantine: TurnStore['quarantine'] = (sessionId, reason) =>
    this.whileAlive(() => this.inner.quarantine(sessionId, reason));
  damagedSessions: TurnStore['damagedSessions'] = (agent) => this.whileAlive(() => this.inner.damagedSessions(agent));
  damageTold: TurnStore['damageTold'] = (sessionId) => this.whileAlive(() => this.inner.damageTold(sessionId));
  close: TurnStore['close'] = () => this.whileAlive(() => this.inner.close());
}
