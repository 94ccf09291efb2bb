/**
 * Owns making the records of a repaired database agree with each other again: sessions without a readable head go into
 * quarantine, markers follow the heads, turns that may have gone back to an older state lose their checkpoint.
 * Must not know files. Whatever it finds is noted in the database, until somebody was told.
 */
import { TurnError } from '../core/errors.js';
import type { DamagedSession } from '../core/ports.js';
import type { Head } from '../core/records.js';
import { damageOp } from './damage.js';
import type { Kind } from './keys.js';
import * as keys from './keys.js';
import { partsOfRecord } from './part-deletion.js';
import { moveOps, nextQuarantine, quarantineOps } from './quarantine.js';
import { checkTraces, isCheckpointOf, readArchive, readSession } from './reads.js';
import { decodeRecord } from './records.js';
import { isBeingRemoved } from './removal.js';
import { decodeHead, markerOf, markerOp } from './sessions.js';
import type { Op, Tables } from './tables.js';

/** Why the head of a session cannot be trusted to be its newest; undefined where it can. */
export type Suspicion = (sessionId: string) => string | undefined;

/** What is left of a session without its head; what goes into quarantine leaves none of the first three. */
const TRACES: readonly Kind[] = ['inbox', 'marker', 'turn', 'message', 'archive', 'seen', 'call', 'outcome', 'review'];
const LEFT_ALONE: readonly Kind[] = TRACES.slice(3);

/**
 * Before anybody else uses the database. Costs every record of it.
 * @param between Called for each session; what it throws ends the work.
 */
export async function scrub(
  tables: Tables,
  suspicion: Suspicion,
  between: () => void,
): Promise<readonly DamagedSession[]> {
  const found: DamagedSession[] = [];
  for await (const [key, bytes] of tables.scan('head')) {
    between();
    const sessionId = keys.sessionOfHead(key);
    if (sessionId === undefined) continue;
    const damage = await scrubSession(tables, sessionId, bytes, suspicion);
    if (damage !== undefined) found.push(damage);
  }
  for (const sessionId of await headless(tables)) {
    const reason = `Session ${JSON.stringify(sessionId)} has lost its head.`;
    const damage = { sessionId, agent: null, turnId: '', reason };
    await tables.write([...(await quarantineOps(tables, sessionId, reason)), damageOp(damage)]);
    found.push(damage);
  }
  return found;
}

/** Sessions of which there is a trace and no head, and not for a good reason: removed, or in quarantine before. */
async function headless(tables: Tables): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const kind of TRACES) {
    let last: string | undefined;
    for await (const [key] of tables.scan(kind)) {
      const sessionId = keys.sessionOfKey(kind, key);
      if (sessionId === undefined || sessionId === last) continue;
      last = sessionId;
      if ((await tables.get('head', keys.headKey(sessionId))) !== undefined) continue;
      if (await isBeingRemoved(tables, sessionId)) continue;
      const known = await tables.keys('quarantine', keys.quarantineOfSession(sessionId), 1);
      if (known.length === 0 || !LEFT_ALONE.includes(kind)) found.add(sessionId);
    }
  }
  return found;
}

async function scrubSession(
  tables: Tables,
  sessionId: string,
  bytes: Buffer,
  suspicion: Suspicion,
): Promise<DamagedSession | undefined> {
  const head = readable(() => decodeHead(sessionId, bytes));
  if (typeof head === 'string') {
    const damage = { sessionId, agent: null, turnId: '', reason: head };
    await tables.write([...(await quarantineOps(tables, sessionId, head)), damageOp(damage)]);
    return damage;
  }
  const ops: Op[] = await markerRepair(tables, head);
  const suspect = (head.inProgress ? suspicion(sessionId) : undefined) ?? (await staleCheckpoint(tables, head));
  if (suspect !== undefined) ops.push(...(await withoutCheckpoint(tables, sessionId, suspect)));
  const reason = suspect ?? (await damageOf(tables, head));
  const damage = reason === undefined ? undefined : { sessionId, agent: head.agent, turnId: head.turnId ?? '', reason };
  if (damage !== undefined) ops.push(damageOp(damage));
  if (ops.length > 0) await tables.write(ops);
  return damage;
}

/** The value, or what is wrong with it. */
function readable<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof TurnError) return error.message;
    throw error;
  }
}

async function damageOf(tables: Tables, head: Head): Promise<string | undefined> {
  try {
    await readSession(tables, head.sessionId);
    await readArchive(tables, head.sessionId);
    await checkTraces(tables, head);
    return undefined;
  } catch (error) {
    if (error instanceof TurnError && error.code === 'TURN_DAMAGED') return error.message;
    throw error;
  }
}

/** I2: what has to change so that the marker is what the head asks for. */
async function markerRepair(tables: Tables, head: Head): Promise<Op[]> {
  const savedAt = head.lastProgressAt ?? head.startedAt ?? 0;
  const key = keys.markerKey(head.sessionId);
  const bytes = await tables.get('marker', key);
  const asked = markerOf(head, savedAt);
  if (bytes === undefined) return asked === null ? [] : [markerOp(head, savedAt)];
  const record = decodeRecord('marker', key, bytes);
  const turnId = record.ok ? (record.value as { readonly turnId?: unknown }).turnId : undefined;
  return asked !== null && asked.turnId === turnId ? [] : [markerOp(head, savedAt)];
}

/** The newest checkpoint was lost, and an older one came to light. */
async function staleCheckpoint(tables: Tables, head: Head): Promise<string | undefined> {
  const bytes = await tables.get('turn', keys.turnKey(head.sessionId));
  if (bytes === undefined || isCheckpointOf(head, bytes)) return undefined;
  return `Session ${JSON.stringify(head.sessionId)} has lost its newest checkpoint.`;
}

/**
 * I5: the head does not know what its turn did last, so nothing may go on by itself. Without a checkpoint recovery
 * abandons the turn, with an event, and its calls in doubt are listed for a person.
 */
async function withoutCheckpoint(tables: Tables, sessionId: string, reason: string): Promise<readonly Op[]> {
  const key = keys.turnKey(sessionId);
  const bytes = await tables.get('turn', key);
  if (bytes === undefined) return [];
  const parts = await partsOfRecord(tables, 'turn', key);
  return [...parts, ...moveOps(sessionId, await nextQuarantine(tables, sessionId), reason, [['turn', key, bytes]])];
}
