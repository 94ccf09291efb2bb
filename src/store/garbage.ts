/**
 * Owns what the opening does with garbage records: epochs and sessions that a crash left half swept.
 * Must not know commits. Costs garbage, not sessions.
 */

import { clearEpoch } from './epochs.js';
import { epochOfGarbage, headKey, sessionOfRemoval } from './keys.js';
import { decodeRecord } from './records.js';
import { finishedRemoval } from './removal.js';
import { readable } from './salvage.js';
import { readHead } from './sessions.js';
import { del, isCorruption, type Op, type Tables } from './tables.js';

/** Before anybody commits: deletes every epoch and every removed session of which something is left. */
export async function sweepGarbage(tables: Tables): Promise<void> {
  for await (const [key, value] of readable(tables, 'garbage')) {
    // A damaged record might name what is in use.
    if (!decodeRecord('garbage', key, value).ok) continue;
    const removed = sessionOfRemoval(key);
    const garbage = epochOfGarbage(key);
    try {
      if (removed !== undefined) await write(tables, restOfSession(tables, removed, key));
      else if (garbage !== undefined) await write(tables, restOfEpoch(tables, garbage, key));
    } catch (error) {
      if (!isCorruption(error)) throw error;
    }
  }
}

async function* restOfSession(tables: Tables, sessionId: string, key: string): AsyncGenerator<readonly Op[]> {
  const head = await tables.get('head', headKey(sessionId));
  if (head === undefined) yield* finishedRemoval(tables, sessionId);
  // A removal ends before another session begins, so this record came back from an older state; it must not be obeyed
  // later, when this session is set aside.
  else yield [del('garbage', key)];
}

async function* restOfEpoch(
  tables: Tables,
  { sessionId, epoch }: { readonly sessionId: string; readonly epoch: number },
  key: string,
): AsyncGenerator<readonly Op[]> {
  const named = await readHead(tables, sessionId).then(
    (head) => head?.epoch,
    () => epoch,
  );
  if (named === epoch) return;
  yield* clearEpoch(tables, sessionId, epoch);
  yield [del('garbage', key)];
}

async function write(tables: Tables, batches: AsyncIterable<readonly Op[]>): Promise<void> {
  for await (const ops of batches) await tables.write(ops);
}
