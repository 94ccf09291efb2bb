// The store as one process sees it. Its commits can be held, made to fail before or after they were applied, or be the
// last thing the process does; a dead process gets no answer any more and holds no route.
import { type Commit, type Lease, TurnError, type TurnStore } from '../../src/index.js';
import { MortalStore, never } from '../../src/testing/mortal-store.js';
import type { Witness } from './witness.js';

export type Fate = 'pass' | 'failBefore' | 'failAfter' | 'dieBefore' | 'dieAfter';

export const storeFailed = (): TurnError => new TurnError('TURN_STORE_FAILED', 'the disk is full');

export class ProcessStore extends MortalStore {
  /** What becomes of the nth commit of this process, counted from 1; failed ones count as well. */
  fate: (nth: number, commit: Commit) => Fate | Promise<Fate> = () => 'pass';
  commits = 0;
  /** Called where a fate says that the process dies. */
  onDeath: () => void = () => undefined;
  private readonly witness: Witness;
  private readonly leases = new Set<Lease>();

  constructor(shared: TurnStore, witness: Witness) {
    super(shared);
    this.witness = witness;
  }

  /** Cuts the process off. What it had handed to the store is applied or not when this resolves. */
  async end(): Promise<void> {
    this.die();
    await this.atRest();
    for (const lease of this.leases) await this.inner.release(lease);
    this.leases.clear();
  }

  override async commit(commit: Commit): Promise<void> {
    if (this.dead) return never();
    this.commits += 1;
    const fate = await this.fate(this.commits, commit);
    if (this.dead) return never();
    if (fate === 'dieBefore') return this.fall();
    if (fate === 'failBefore') throw storeFailed();
    await this.whileAlive(() => this.apply(commit));
    if (fate === 'dieAfter') return this.fall();
    if (fate === 'failAfter') throw storeFailed();
  }

  private fall(): Promise<never> {
    this.die();
    this.onDeath();
    return never();
  }

  private async apply(commit: Commit): Promise<void> {
    try {
      await this.inner.commit(commit);
    } catch (thrown) {
      if (thrown instanceof TurnError && thrown.code === 'TURN_CONFLICT') {
        this.witness.found(`I7: ${thrown.message}`);
      }
      throw thrown;
    }
    await this.witness.afterCommit(commit);
  }

  override async acquire(routeKey: string): Promise<Lease | undefined> {
    return this.whileAlive(async () => {
      const lease = await this.inner.acquire(routeKey);
      // Noted even where the process dies before it hears of it: whoever buries it gives everything back.
      if (lease !== undefined) this.leases.add(lease);
      return lease;
    });
  }

  override async release(lease: Lease): Promise<void> {
    return this.whileAlive(async () => {
      await this.inner.release(lease);
      this.leases.delete(lease);
    });
  }
}
