// The store as one process sees it. Its commits can be held, made to fail before or after they were applied, or be the
// last thing the process does; a dead process gets no answer any more and holds no route.
import { type Commit, type Lease, TurnError, type TurnStore } from '../../src/index.js';
import { never } from './waiting.js';
import type { Witness } from './witness.js';

export type Fate = 'pass' | 'failBefore' | 'failAfter' | 'dieBefore' | 'dieAfter';

export const storeFailed = (): TurnError => new TurnError('TURN_STORE_FAILED', 'the disk is full');

export class ProcessStore implements TurnStore {
  readonly kind = 'process';
  /** What becomes of the nth commit of this process, counted from 1; failed ones count as well. */
  fate: (nth: number, commit: Commit) => Fate | Promise<Fate> = () => 'pass';
  commits = 0;
  dead = false;
  /** Called where a fate says that the process dies. */
  onDeath: () => void = () => undefined;
  private readonly shared: TurnStore;
  private readonly witness: Witness;
  private readonly leases = new Set<Lease>();
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(shared: TurnStore, witness: Witness) {
    this.shared = shared;
    this.witness = witness;
  }

  /** Cuts the process off. What it had handed to the store is applied or not when this resolves. */
  async die(): Promise<void> {
    this.dead = true;
    await Promise.allSettled(this.underWay);
    for (const lease of this.leases) await this.shared.release(lease);
    this.leases.clear();
  }

  async commit(commit: Commit): Promise<void> {
    if (this.dead) return never();
    this.commits += 1;
    const fate = await this.fate(this.commits, commit);
    if (this.dead) return never();
    if (fate === 'dieBefore') return this.end();
    if (fate === 'failBefore') throw storeFailed();
    await this.alive(() => this.apply(commit));
    if (fate === 'dieAfter') return this.end();
    if (fate === 'failAfter') throw storeFailed();
  }

  private end(): Promise<never> {
    this.dead = true;
    this.onDeath();
    return never();
  }

  private async apply(commit: Commit): Promise<void> {
    try {
      await this.shared.commit(commit);
    } catch (thrown) {
      if (thrown instanceof TurnError && thrown.code === 'TURN_CONFLICT') {
        this.witness.found(`I7: ${thrown.message}`);
      }
      throw thrown;
    }
    await this.witness.afterCommit(commit);
  }

  async acquire(routeKey: string): Promise<Lease | undefined> {
    const lease = await this.alive(() => this.shared.acquire(routeKey));
    if (lease !== undefined) this.leases.add(lease);
    return lease;
  }

  async release(lease: Lease): Promise<void> {
    this.leases.delete(lease);
    await this.alive(() => this.shared.release(lease));
  }

  head: TurnStore['head'] = (sessionId) => this.alive(() => this.shared.head(sessionId));
  load: TurnStore['load'] = (sessionId) => this.alive(() => this.shared.load(sessionId));
  messages: TurnStore['messages'] = (sessionId) => this.alive(() => this.shared.messages(sessionId));
  archive: TurnStore['archive'] = (sessionId) => this.alive(() => this.shared.archive(sessionId));
  inbox: TurnStore['inbox'] = (sessionId) => this.alive(() => this.shared.inbox(sessionId));
  call: TurnStore['call'] = (callId) => this.alive(() => this.shared.call(callId));
  seen: TurnStore['seen'] = (sessionId, messageId) => this.alive(() => this.shared.seen(sessionId, messageId));
  outcome: TurnStore['outcome'] = (turnId) => this.alive(() => this.shared.outcome(turnId));
  markers: TurnStore['markers'] = (agent) => this.alive(() => this.shared.markers(agent));
  waitingInput: TurnStore['waitingInput'] = (agent) => this.alive(() => this.shared.waitingInput(agent));
  reviews: TurnStore['reviews'] = (agent) => this.alive(() => this.shared.reviews(agent));
  sessions: TurnStore['sessions'] = (agent) => this.shared.sessions(agent);
  remove: TurnStore['remove'] = (sessionId) => this.alive(() => this.shared.remove(sessionId));
  quarantine: TurnStore['quarantine'] = (sessionId, reason) =>
    this.alive(() => this.shared.quarantine(sessionId, reason));
  close: TurnStore['close'] = () => this.alive(() => this.shared.close());

  private async alive<T>(ask: () => Promise<T>): Promise<T> {
    if (this.dead) return never();
    const asked = ask();
    this.underWay.add(asked);
    try {
      const answer = await asked;
      return this.dead ? await never<T>() : answer;
    } catch (thrown) {
      if (this.dead) return never();
      throw thrown;
    } finally {
      this.underWay.delete(asked);
    }
  }
}
