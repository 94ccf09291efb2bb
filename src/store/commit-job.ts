/**
 * Owns one commit on its way through the queue: checks its base, stages a new epoch, switches over, sweeps the old one.
 * Must not know how batches are merged.
 *
 * A rewrite that does not fit into one batch is staged under the next epoch, which no head names yet, after a garbage
 * record for it. The last batch switches head, marker and checkpoint and turns the garbage record to the old epoch: a
 * crash anywhere leaves the old list or the new one.
 */
import { TurnError } from '../core/errors.js';
import type { EncodedCommit } from './commit.js';
import { clearEpoch, clearRange, garbageOp, SWEEP_KEYS, setAsideMessages } from './epochs.js';
import { archiveFrom, garbageKey, headKey, messagesOfEpoch } from './keys.js';
import type { Leases } from './leases.js';
import { hasParts, partsBefore } from './part-deletion.js';
import { finishedRemoval, isBeingRemoved } from './removal.js';
import { type Known, knownOf, readHead, type Sessions } from './sessions.js';
import { BATCH_BYTES, BATCH_OPS, bytesOf, countOf, del, type Op, type Tables } from './tables.js';
import type { Job, Step } from './write-queue.js';

export interface CommitContext {
  readonly sessions: Sessions;
  readonly leases: Leases;
  /** The epoch is no longer named by its head. */
  readonly sweep: (sessionId: string, epoch: number) => void;
  /** Nothing names these calls any more. */
  readonly removeCalls: (callIds: readonly string[]) => void;
}

/** The two garbage records that a switch of epochs changes. */
const SWITCH_OPS = 2;

const NEW: Known = { revision: 0, epoch: 0, count: 0, archived: 0, inParts: false };

export class CommitJob implements Job {
  readonly lane: string;
  readonly #commit: EncodedCommit;
  readonly #context: CommitContext;
  /** What comes before the last step; null until the base was checked. */
  #before: AsyncIterator<readonly Op[]> | null = null;
  #old: Known | null = null;

  constructor(commit: EncodedCommit, context: CommitContext) {
    this.lane = commit.sessionId;
    this.#commit = commit;
    this.#context = context;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    const { ops, bytes, rewrite } = this.#commit;
    if (rewrite === null) return { ops: ops.length, bytes };
    if (!this.#fitsOneBatch(rewrite)) return { ops: BATCH_OPS, bytes: BATCH_BYTES };
    // Before it, leftovers may have to be cleared, in steps of their own.
    return { ops: Math.max(ops.length + rewrite.length + SWITCH_OPS, SWEEP_KEYS), bytes: bytes + bytesOf(rewrite) };
  }

  next(tables: Tables): Step | null | Promise<Step | null> {
    const known = this.#context.sessions.get(this.lane);
    const plain = this.#commit.rewrite === null;
    // The hot path: nothing to read, nothing to wait for.
    if (plain && known?.inParts === false && known.revision !== this.#commit.after.revision) {
      this.#check(known);
      return this.#last(known, []);
    }
    return this.#slow(tables);
  }

  restart(): void {
    this.#before = null;
    this.#old = null;
  }

  async landed(tables: Tables): Promise<boolean> {
    const bytes = await tables.get('head', headKey(this.lane));
    return bytes?.equals(this.#commit.head) === true;
  }

  async #slow(tables: Tables): Promise<Step | null> {
    if (this.#before === null) {
      const known = this.#context.sessions.get(this.lane) ?? (await this.#read(tables));
      // Reported as failed before, and durable all the same: the same commit again is done.
      if (known.revision === this.#commit.after.revision && (await this.landed(tables))) {
        this.#context.sessions.set(this.lane, this.#after(known));
        return null;
      }
      this.#check(known);
      this.#old = known;
      this.#before = this.#steps(tables);
    }
    const step = await this.#before.next();
    if (step.done !== true) return { ops: step.value, last: false };
    const old = this.#old as Known;
    const parts = old.inParts ? await partsBefore(tables, this.#commit.ops) : [];
    this.#checkLease();
    return this.#last(old, [...parts, ...this.#switch(old)]);
  }

  async #read(tables: Tables): Promise<Known> {
    const head = await readHead(tables, this.lane);
    // A new session overwrites nothing: what one of the same id has left has other turn ids or was set aside.
    return head === undefined ? NEW : knownOf(head, await hasParts(tables, this.lane));
  }

  /** What has to be durable before the last batch: usually nothing. */
  async *#steps(tables: Tables): AsyncGenerator<readonly Op[]> {
    const { rewrite, after, base, archivedBefore } = this.#commit;
    if (base === 0) {
      // What a removal that failed has left goes; the messages of a session that was quarantined stay, aside. A new
      // session under the id must not mix with either.
      if (await isBeingRemoved(tables, this.lane)) yield* finishedRemoval(tables, this.lane);
      else yield* setAsideMessages(tables, this.lane);
    }
    if (rewrite === null) return;
    // Left by a rewrite that was cut off.
    if ((await tables.keys('message', messagesOfEpoch(this.lane, after.epoch), 1)).length > 0) {
      yield* clearEpoch(tables, this.lane, after.epoch);
    }
    yield* clearRange(tables, 'archive', archiveFrom(this.lane, archivedBefore));
    if (this.#fitsOneBatch(rewrite)) return;
    yield* staged(this.lane, after, rewrite);
  }

  #fitsOneBatch(rewrite: readonly Op[]): boolean {
    const { ops, bytes } = this.#commit;
    return countOf(rewrite) + ops.length + SWITCH_OPS <= BATCH_OPS && bytesOf(rewrite) + bytes <= BATCH_BYTES;
  }

  /** What the last batch of a rewrite holds besides the commit. */
  #switch(old: Known): readonly Op[] {
    const { rewrite, after } = this.#commit;
    if (rewrite === null) return [];
    const ops: Op[] = this.#fitsOneBatch(rewrite) ? [...rewrite] : [];
    ops.push(del('garbage', garbageKey(this.lane, after.epoch)));
    if (old.count > 0) ops.push(garbageOp(this.lane, old.epoch, after.revision));
    return ops;
  }

  #last(old: Known, more: readonly Op[]): Step {
    const { ops, rewrite, removedLater } = this.#commit;
    return {
      ops: more.length === 0 ? ops : [...more, ...ops],
      last: true,
      durable: () => {
        this.#context.sessions.set(this.lane, this.#after(old));
        if (rewrite !== null && old.count > 0) this.#context.sweep(this.lane, old.epoch);
        if (removedLater.length > 0) this.#context.removeCalls(removedLater);
      },
    };
  }

  /** What had parts before may have them still: which, only the database knows. */
  #after(old: Known): Known {
    const { after } = this.#commit;
    return old.inParts ? { ...after, inParts: true } : after;
  }

  #check(known: Known): void {
    const { base, after, from, rewrite, archivedBefore } = this.#commit;
    if (known.revision !== base) {
      throw new TurnError(
        'TURN_CONFLICT',
        `Session ${JSON.stringify(this.lane)} is at revision ${known.revision}, not ${base}: somebody else committed. Load it again.`,
      );
    }
    this.#checkLease();
    if (from !== null && from !== known.count) {
      throw new TypeError(`Session ${JSON.stringify(this.lane)} has ${known.count} messages, not ${from}.`);
    }
    if (archivedBefore !== known.archived) {
      throw new TypeError(
        `Session ${JSON.stringify(this.lane)} has ${known.archived} archived messages, not ${archivedBefore}.`,
      );
    }
    // A new session may begin with any epoch.
    const epoch = known.epoch + (rewrite === null ? 0 : 1);
    if (known.revision > 0 && after.epoch !== epoch) {
      throw new TypeError(`Session ${JSON.stringify(this.lane)}: head.epoch is ${after.epoch} and must be ${epoch}.`);
    }
  }

  #checkLease(): void {
    const { lease } = this.#commit;
    if (lease === null || this.#context.leases.isNewest(lease)) return;
    throw new TurnError('TURN_CONFLICT', `The lease of route ${JSON.stringify(lease.routeKey)} was taken over.`);
  }
}

async function* staged(sessionId: string, after: Known, messages: readonly Op[]): AsyncGenerator<readonly Op[]> {
  let chunk: Op[] = [garbageOp(sessionId, after.epoch, after.revision)];
  let bytes = 0;
  let count = chunk.length;
  for (const op of messages) {
    const [size, writes] = [bytesOf([op]), countOf([op])];
    if (count + writes > BATCH_OPS || (bytes > 0 && bytes + size > BATCH_BYTES)) {
      yield chunk;
      [chunk, bytes, count] = [[], 0, 0];
    }
    chunk.push(op);
    bytes += size;
    count += writes;
  }
  yield chunk;
}
