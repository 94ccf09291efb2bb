/**
 * Owns the answer to one question: do the records of a database that LevelDB can read agree with each other?
 * Must not know files, nor what is done about it. Changes nothing.
 */
import { messageOf } from '../core/errors.js';
import type { Head, Marker } from '../core/records.js';
import * as keys from './keys.js';
import { checkTraces, readArchive, readSession } from './reads.js';
import { decodeRecord } from './records.js';
import { isBeingRemoved } from './removal.js';
import { readable } from './salvage.js';
import { decodeHead, markerOf } from './sessions.js';
import type { Tables } from './tables.js';

/** One thing that is wrong, and whose it is; null where nothing tells. */
export interface Disagreement {
  readonly sessionId: string | null;
  readonly what: string;
}

/**
 * Every record by itself, every session as a whole, every marker with its head, every part with its record. Costs all
 * that is stored.
 * @param progress Gets the records looked at so far, then the parts of large ones.
 */
export async function* checkRecords(
  tables: Tables,
  progress: (records: number) => void = () => {},
): AsyncGenerator<Disagreement> {
  const named = new Set<string>();
  let records = 0;
  for (const kind of keys.KINDS) {
    // Bytes in quarantine are damaged: that is why they are there.
    if (kind === 'quarantine') continue;
    let unreadable = false;
    const missing = () => {
      unreadable = true;
    };
    for await (const [key, bytes] of readable(tables, kind, {}, missing)) {
      records += 1;
      progress(records);
      const record = decodeRecord(kind, key, bytes);
      if (record.ok) continue;
      const sessionId = keys.sessionOfKey(kind, key) ?? null;
      if (sessionId !== null) named.add(sessionId);
      yield { sessionId, what: `the ${kind} record ${key} has ${record.damage}` };
    }
    if (unreadable) yield { sessionId: null, what: `LevelDB cannot read all ${kind} records` };
  }
  yield* sessionsOf(tables, named);
  yield* markersOf(tables);
  yield* partsOf(tables, progress);
}

/** A session with a damaged record has been named already, and nothing more is to be learned of it. */
async function* sessionsOf(tables: Tables, named: ReadonlySet<string>): AsyncGenerator<Disagreement> {
  for await (const head of headsIn(tables)) {
    const { sessionId } = head;
    if (named.has(sessionId)) continue;
    try {
      await readSession(tables, sessionId);
      await readArchive(tables, sessionId);
      await checkTraces(tables, head);
    } catch (error) {
      yield { sessionId, what: messageOf(error).replace(`Session ${JSON.stringify(sessionId)}: `, '') };
    }
  }
}

/** I2: in progress or with an outcome due <=> there is a marker. */
async function* markersOf(tables: Tables): AsyncGenerator<Disagreement> {
  for await (const { sessionId, ...head } of headsIn(tables)) {
    const wanted = markerOf({ sessionId, ...head }, 0);
    const key = keys.markerKey(sessionId);
    const bytes = await tables.get('marker', key).catch(() => undefined);
    const found = bytes === undefined ? undefined : decodeRecord('marker', key, bytes);
    if (found?.ok === false) continue;
    const marker = found?.value as unknown as Marker | undefined;
    if (wanted?.turnId === marker?.turnId) continue;
    const what =
      wanted === null
        ? 'it has a marker, and nothing in progress'
        : marker === undefined
          ? 'its marker is missing'
          : `its marker names another turn, ${marker.turnId}`;
    yield { sessionId, what };
  }
  for await (const [key] of readable(tables, 'marker')) {
    const sessionId = keys.sessionOfMarker(key);
    if (sessionId === undefined || (await hasHead(tables, sessionId))) continue;
    yield { sessionId, what: 'it has a marker, and no head' };
  }
}

/** Parts go in the batch of their record: one that no record names is what is left of a record that was lost. */
async function* partsOf(tables: Tables, progress: (records: number) => void): AsyncGenerator<Disagreement> {
  let record = '';
  let named: readonly string[] | null = [];
  let parts = 0;
  for await (const [key] of readable(tables, keys.PART)) {
    parts += 1;
    progress(parts);
    const [kind, name] = [keys.kindOfPart(key), keys.recordOfPart(key)];
    if (kind === undefined) {
      yield { sessionId: null, what: `the part ${key} belongs to no kind of record` };
      continue;
    }
    if (`${kind}!${name}` !== record) {
      [record, named] = [`${kind}!${name}`, await tables.partsOf(kind, name)];
    }
    // Nothing is to be learned of it from a record that cannot be read, which has been named already.
    if (named === null || named.includes(key)) continue;
    const sessionId = keys.sessionOfKey(kind, name) ?? null;
    if (sessionId !== null && (await isBeingRemoved(tables, sessionId))) continue;
    yield { sessionId, what: `the part ${key} is without the record it belongs to` };
  }
}

/** One that cannot be read is there. */
const hasHead = (tables: Tables, sessionId: string): Promise<boolean> =>
  tables.get('head', keys.headKey(sessionId)).then(
    (bytes) => bytes !== undefined,
    () => true,
  );

async function* headsIn(tables: Tables): AsyncGenerator<Head> {
  for await (const [key, bytes] of readable(tables, 'head')) {
    const sessionId = keys.sessionOfKey('head', key);
    if (sessionId === undefined || !decodeRecord('head', key, bytes).ok) continue;
    yield decodeHead(sessionId, bytes);
  }
}
