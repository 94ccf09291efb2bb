/**
 * Owns reading: decodes records and checks them against the head they belong to.
 * Must not know writing. What does not agree is damage and is told with session and record, never guessed.
 */
import { countOutdated, withoutOutput } from '../core/journal.js';
import type { Json } from '../core/json.js';
import type { StoredMessage } from '../core/messages.js';
import type { SessionRecords } from '../core/ports.js';
import type { CallRecord, Head, InboxRecord, OutcomeRecord, ReviewRecord, SeenRecord } from '../core/records.js';
import { damaged, damagedRecord } from './damage.js';
import type { Kind } from './keys.js';
import * as keys from './keys.js';
import { decodeRecord, revisionOf } from './records.js';
import { isBeingRemoved } from './removal.js';
import { readHead } from './sessions.js';
import type { Snapshot, Tables } from './tables.js';

/** A session as it is read: everything has to come from one state and to be no newer than its head. */
interface View {
  readonly tables: Tables;
  readonly snapshot: Snapshot;
  readonly sessionId: string;
  /** The newest revision that can have written a record. */
  readonly revision: number;
}

/** @throws {TurnError} TURN_DAMAGED */
export function readSession(tables: Tables, sessionId: string): Promise<SessionRecords | undefined> {
  return tables.atOnce(async (snapshot) => {
    const head = await readHead(tables, sessionId, snapshot);
    if (head === undefined) return undefined;
    const view = { tables, snapshot, sessionId, revision: head.revision };
    return {
      head,
      messages: await messagesOf(view, head),
      checkpoint: await checkpointOf(view, head),
      calls: await callsOf(view, head),
      inbox: await countedInbox(view, head),
      reviews: await reviewsOf(view),
    };
  });
}

/** @throws {TurnError} TURN_DAMAGED */
export function readMessages(tables: Tables, sessionId: string): Promise<readonly StoredMessage[]> {
  return tables.atOnce(async (snapshot) => {
    const head = await readHead(tables, sessionId, snapshot);
    return head === undefined ? [] : messagesOf({ tables, snapshot, sessionId, revision: head.revision }, head);
  });
}

/** @throws {TurnError} TURN_DAMAGED */
export function readArchive(tables: Tables, sessionId: string): Promise<readonly StoredMessage[]> {
  return tables.atOnce(async (snapshot) => {
    const head = await readHead(tables, sessionId, snapshot);
    if (head === undefined) return [];
    const view = { tables, snapshot, sessionId, revision: head.revision };
    const found = await decodeAll(view, 'archive', keys.archiveUpTo(sessionId, head.archived));
    if (found.length === head.archived) return found as StoredMessage[];
    throw damaged(sessionId, 'the archive', `has ${found.length} messages where the head has ${head.archived}`);
  });
}

/**
 * Looks at what all turns of a session have left, not only the last one: a record that is newer than the head is of a
 * commit that the head does not know, so the session has gone back. Costs all records of these kinds.
 * @throws {TurnError} TURN_DAMAGED
 */
export function checkTraces(tables: Tables, { sessionId, revision }: Head): Promise<void> {
  return tables.atOnce(async (snapshot) => {
    const view = { tables, snapshot, sessionId, revision };
    for (const [kind, range] of [
      ['call', keys.callsOfSession(sessionId)],
      ['outcome', keys.outcomesOfSession(sessionId)],
      ['seen', keys.seenOfSession(sessionId)],
    ] as const) {
      for await (const [key, bytes] of tables.scan(kind, range, { snapshot })) {
        decode(view, kind, key, bytes, () => `${kind} ${key}`);
      }
    }
  });
}

/** @throws {TurnError} TURN_DAMAGED */
export function readInbox(tables: Tables, sessionId: string): Promise<readonly InboxRecord[]> {
  return tables.atOnce((snapshot) => inboxOf({ tables, snapshot, sessionId, revision: Number.POSITIVE_INFINITY }));
}

/** @throws {TurnError} TURN_DAMAGED */
export async function readSeen(tables: Tables, sessionId: string, messageId: string): Promise<SeenRecord | undefined> {
  const value = await readOne(tables, 'seen', keys.seenKey(sessionId, messageId), sessionId);
  return value as unknown as SeenRecord | undefined;
}
/** @throws {TurnError} TURN_DAMAGED */
export async function readCall(tables: Tables, callId: string): Promise<CallRecord | undefined> {
  const value = await readOne(tables, 'call', keys.callKey(callId), keys.sessionOfDotted(callId));
  return value as unknown as CallRecord | undefined;
}
/** @throws {TurnError} TURN_DAMAGED */
export async function readCallsOf(tables: Tables, turnId: string): Promise<readonly CallRecord[]> {
  const sessionId = keys.sessionOfDotted(turnId) ?? '';
  return tables.atOnce(async (snapshot) => {
    if (await isBeingRemoved(tables, sessionId, snapshot)) return [];
    const view = { tables, snapshot, sessionId, revision: Number.POSITIVE_INFINITY };
    return (await decodeAll(view, 'call', keys.callsOfTurn(turnId))) as CallRecord[];
  });
}
/** @throws {TurnError} TURN_DAMAGED */
export async function readOutcome(tables: Tables, turnId: string): Promise<OutcomeRecord | undefined> {
  const value = await readOne(tables, 'outcome', keys.outcomeKey(turnId), keys.sessionOfDotted(turnId));
  return value as unknown as OutcomeRecord | undefined;
}

/** @param sessionId Whose record it is: it is found without a head, so nothing else tells that the session is gone. */
function readOne(tables: Tables, kind: Kind, key: string, sessionId?: string): Promise<Json | undefined> {
  return tables.atOnce(async (snapshot) => {
    const bytes = await tables.get(kind, key, snapshot);
    if (bytes === undefined) return undefined;
    if (sessionId !== undefined && (await isBeingRemoved(tables, sessionId, snapshot))) return undefined;
    const record = decodeRecord(kind, key, bytes);
    if (!record.ok) throw damagedRecord(kind, key, record.damage);
    return record.value;
  });
}

async function messagesOf(view: View, head: Head): Promise<readonly StoredMessage[]> {
  const { tables, snapshot, sessionId } = view;
  const keyOf = keys.messageKeys(sessionId, head.epoch);
  const range = keys.messagesOfEpoch(sessionId, head.epoch);
  const messages = await tables.collect('message', range, { snapshot }, (key, bytes, nth) => {
    if (key !== keyOf(nth)) throw damaged(sessionId, nameOf(nth, head), 'is missing');
    return decode(view, 'message', key, bytes, () => nameOf(nth, head)) as StoredMessage;
  });
  if (messages.length !== head.count) {
    throw damaged(view.sessionId, 'the transcript', `has ${messages.length} messages where the head has ${head.count}`);
  }
  return messages;
}

const nameOf = (nth: number, { epoch }: Head): string => `message ${nth} of epoch ${epoch}`;

/** Where it is missing there is nothing to go on from, which whoever needs one finds out. */
async function checkpointOf(view: View, head: Head): Promise<Json | null> {
  const key = keys.turnKey(view.sessionId);
  const bytes = await view.tables.get('turn', key, view.snapshot);
  if (bytes === undefined) return null;
  const checkpoint = decode(view, 'turn', key, bytes, () => 'the checkpoint') as Json;
  if (!isCheckpointOf(head, bytes))
    throw damaged(view.sessionId, 'the checkpoint', 'is of another revision than the head says');
  return checkpoint;
}

/** Heads of older releases do not say which it is. */
export const isCheckpointOf = ({ checkpointAt }: Head, bytes: Buffer): boolean =>
  checkpointAt === undefined || checkpointAt === revisionOf(bytes);

async function callsOf(view: View, head: Head): Promise<readonly CallRecord[]> {
  if (head.turnId === null) return [];
  const calls = await recentOutputs(view, keys.callsOfTurn(head.turnId));
  const dispatched = calls.filter((call) => call.dispatch > 0).length;
  const settled = calls.filter((call) => call.state === 'succeeded' || call.state === 'failed').length;
  if (dispatched !== head.dispatched || settled !== head.settled) {
    throw damaged(
      view.sessionId,
      'the journal',
      `has ${dispatched} dispatched and ${settled} settled calls where the head has ${head.dispatched} and ${head.settled}`,
    );
  }
  return calls;
}

/** The calls of a range. Outputs that nobody asks for are let go as they come: together they may not fit into memory. */
async function recentOutputs(view: View, range: keys.Range): Promise<readonly CallRecord[]> {
  const calls: CallRecord[] = [];
  const at = (nth: number): CallRecord => calls[nth] as CallRecord;
  let outdated = 0;
  await view.tables.collect('call', range, { snapshot: view.snapshot }, (key, bytes) => {
    calls.push(decode(view, 'call', key, bytes, () => `call ${key}`) as CallRecord);
    const end = countOutdated({ length: calls.length, at }, outdated);
    for (; outdated < end; outdated += 1) calls[outdated] = withoutOutput(at(outdated));
  });
  return calls;
}

async function countedInbox(view: View, head: Head): Promise<readonly InboxRecord[]> {
  const inbox = await inboxOf(view);
  if (inbox.length === head.waitingInput) return inbox;
  throw damaged(view.sessionId, 'the inbox', `has ${inbox.length} records where the head has ${head.waitingInput}`);
}

async function inboxOf(view: View): Promise<readonly InboxRecord[]> {
  const records = await decodeAll(view, 'inbox', keys.inboxOfSession(view.sessionId));
  return (records as { readonly input: InboxRecord }[]).map(({ input }) => input);
}

async function reviewsOf(view: View): Promise<readonly ReviewRecord[]> {
  const records = await decodeAll(view, 'review', keys.reviewsOfSession(view.sessionId));
  return (records as { readonly review: ReviewRecord }[]).map(({ review }) => review);
}

function decodeAll(view: View, kind: Kind, range: keys.Range): Promise<unknown[]> {
  const { tables, snapshot } = view;
  return tables.collect(kind, range, { snapshot }, (key, bytes) =>
    decode(view, kind, key, bytes, () => `${kind} ${key}`),
  );
}

/** @param name Told where it is damaged. */
function decode(view: View, kind: Kind, key: string, bytes: Buffer, name: () => string): unknown {
  const record = decodeRecord(kind, key, bytes);
  if (!record.ok) throw damaged(view.sessionId, name(), `has ${record.damage}`);
  if (record.revision > view.revision) {
    throw damaged(view.sessionId, name(), `is of revision ${record.revision}, newer than the head (${view.revision})`);
  }
  return record.value;
}
