/**
 * Owns how records of the journal go that are too many for the batch of their commit: which may wait, and the batches
 * behind it. Must not know why they go.
 *
 * Nothing names them once the commit is durable: whoever dies before the last of these batches leaves records that
 * nobody reads, of turns that are over and whose ids do not come again. They go with their session.
 */
import type { Commit } from '../core/ports.js';
import { SWEEP_KEYS } from './epochs.js';
import { callKey, type Kind } from './keys.js';
import { partsOfRecord } from './part-deletion.js';
import { del, type Op, type Tables } from './tables.js';
import type { Job, Step } from './write-queue.js';

/** The ids of the calls that go behind the commit. The head counts those of its own turn: they go with it. */
export function removedLater({ head, calls }: Commit): ReadonlySet<string> {
  // Nearly always: this is on the way of every commit.
  if (calls === undefined || calls.remove.length <= SWEEP_KEYS) return new Set();
  const stored = new Set(calls.put.map(({ callId }) => callId));
  const counted = (callId: string): boolean => head.turnId !== null && callId.startsWith(`${head.turnId}.`);
  return new Set(calls.remove.filter((callId) => !stored.has(callId) && !counted(callId)).slice(SWEEP_KEYS));
}

/** One lane for all of them: they run one after the other, beside the commits of their own session. */
const LATE_REMOVALS = Symbol('late removals');

export class LateRemovalJob implements Job {
  readonly lane = LATE_REMOVALS;
  readonly #callIds: readonly string[];
  #chunks: AsyncIterator<readonly Op[]> | null = null;

  constructor(callIds: readonly string[]) {
    this.#callIds = callIds;
  }

  size(): { readonly ops: number; readonly bytes: number } {
    return { ops: SWEEP_KEYS, bytes: 0 };
  }

  restart(): void {
    this.#chunks = null;
  }

  async next(tables: Tables): Promise<Step | null> {
    this.#chunks ??= deletions(tables, this.#callIds);
    const chunk = await this.#chunks.next();
    return chunk.done === true ? null : { ops: chunk.value, last: false };
  }
}

/** Parts go in the batch of their record. */
async function* deletions(tables: Tables, callIds: readonly string[]): AsyncGenerator<readonly Op[]> {
  const kind: Kind = 'call';
  let chunk: Op[] = [];
  for (const key of callIds.map(callKey)) {
    const ops = [del(kind, key), ...(await partsOfRecord(tables, kind, key))];
    if (chunk.length > 0 && chunk.length + ops.length > SWEEP_KEYS) {
      yield chunk;
      chunk = [];
    }
    chunk.push(...ops);
  }
  if (chunk.length > 0) yield chunk;
}
