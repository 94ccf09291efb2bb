/**
 * Owns the head of one session as it is on disk, and the way every commit of that session goes: one revision after
 * another. Must not know what the other records of a commit mean.
 */

import { NO_USAGE } from '../core/messages.js';
import type { Clock, Commit, Lease, TurnStore } from '../core/ports.js';
import type { Head } from '../core/records.js';

/** What a commit holds beside the head. */
export type CommitParts = Omit<Commit, 'head' | 'base' | 'lease' | 'savedAt'>;

export class HeadWriter {
  private readonly store: TurnStore;
  private readonly clock: Clock;
  private current: Head;

  constructor(store: TurnStore, clock: Clock, head: Head) {
    this.store = store;
    this.clock = clock;
    this.current = head;
  }

  get head(): Head {
    return this.current;
  }

  /**
   * The commit that would come next, with everything fixed: it can be handed in again until it is durable. Of what
   * changes in the head, the later word counts.
   */
  next(parts: CommitParts, lease: Lease | null, ...patches: readonly Partial<Head>[]): Commit {
    const revision = this.current.revision + 1;
    const { checkpoint } = parts;
    const written = checkpoint === undefined ? {} : { checkpointAt: checkpoint === null ? null : revision };
    // Assigned to a copy: V8 takes ten times as long for a second spread, and this is in every commit.
    const head: Head = Object.assign({ ...this.current }, ...patches, written, { revision });
    return Object.assign({ head, base: this.current.revision, lease, savedAt: this.clock.now() }, parts);
  }

  /** @throws {TurnError} TURN_STORE_FAILED, TURN_CONFLICT: nothing changed here. */
  async write(commit: Commit): Promise<void> {
    await this.store.commit(commit);
    this.current = commit.head;
  }
}

/** The head of a session before its first commit. */
export function newHead(sessionId: string, agent: string, routeKey: string): Head {
  return {
    sessionId,
    agent,
    revision: 0,
    routeKey,
    turnId: null,
    inProgress: false,
    phase: null,
    handedOver: false,
    waiting: null,
    ended: null,
    context: null,
    limits: {},
    answer: null,
    startedAt: null,
    activeMs: 0,
    lastProgressAt: null,
    attempts: 0,
    recoveries: 0,
    modelCalls: 0,
    usage: NO_USAGE,
    sessionUsage: NO_USAGE,
    grants: [],
    compactionRefusedAt: null,
    outcomesDue: [],
    nextTurnId: null,
    epoch: 0,
    count: 0,
    archived: 0,
    dispatched: 0,
    settled: 0,
    waitingInput: 0,
    checkpointAt: null,
  };
}
