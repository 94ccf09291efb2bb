/**
 * Owns what one commit writes: checks it, and encodes all of it at once, so that later changes to the objects in it
 * change nothing. Must not know queues or what else is being written.
 */
import { hash } from 'node:crypto';
import { checkId } from '../core/ids.js';
import type { StoredMessage } from '../core/messages.js';
import type { Commit, Lease } from '../core/ports.js';
import {
  archiveKey,
  callKey,
  headKey,
  inboxKey,
  type Kind,
  messageKeys,
  outcomeKey,
  reviewKey,
  seenKey,
  turnKey,
} from './keys.js';
import { removedLater } from './late-removal.js';
import { checksumOf, encodeRecord } from './records.js';
import { encodeHead, type Known, knownOf, markerOp } from './sessions.js';
import { bytesOf, del, isCut, type Op, put } from './tables.js';

export interface EncodedCommit {
  readonly sessionId: string;
  readonly base: number;
  readonly lease: Lease | null;
  /** The state of the session after it. */
  readonly after: Known;
  /** Messages the list must have before it; null where it brings a whole list. */
  readonly from: number | null;
  /** Messages the archive must have before it. */
  readonly archivedBefore: number;
  readonly head: Buffer;
  /** Head, marker and all records but those of `rewrite`. */
  readonly ops: readonly Op[];
  readonly bytes: number;
  /** A whole list in a new epoch, with what it leaves to the archive. */
  readonly rewrite: readonly Op[] | null;
  /** Calls whose records go behind it, in batches of their own. */
  readonly removedLater: readonly string[];
}

/**
 * @throws {TypeError} the commit contradicts itself.
 * @throws {TurnError} TURN_INVALID_VALUE, TURN_TOO_LARGE
 */
export function encodeCommit(commit: Commit): EncodedCommit {
  checkCommit(commit);
  const { head, transcript } = commit;
  const messages = transcript === undefined ? [] : encodeMessages(commit);
  // The archive is staged as the new list is: neither counts before the head names it.
  const rewrite = transcript?.kind === 'rewrite' ? [...messages, ...encodeArchive(commit)] : null;
  const later = removedLater(commit);
  const records = [...(rewrite === null ? messages : []), ...encodeRecords(commit, later)];
  const gone = [...later].map((callId) => del('call', callKey(callId)));
  const headRecord = encodeHead(head, digestOf([...(rewrite ?? []), ...records, ...gone]));
  const ops = [...records, put('head', headKey(head.sessionId), headRecord), markerOp(head, commit.savedAt)];
  return {
    sessionId: head.sessionId,
    base: commit.base,
    lease: commit.lease,
    after: knownOf(head, [...ops, ...(rewrite ?? [])].some(isCut)),
    from: fromOf(commit),
    archivedBefore: head.archived - (commit.archive?.length ?? 0),
    head: headRecord,
    ops,
    bytes: bytesOf(ops),
    rewrite,
    removedLater: [...later],
  };
}

/** How many messages the list must have for this commit to fit behind it. */
function fromOf({ head, transcript }: Commit): number | null {
  if (transcript === undefined) return head.count;
  return transcript.kind === 'append' ? transcript.from : null;
}

function checkCommit({ head, base, transcript, archive, calls }: Commit): void {
  checkId(head.sessionId, 'head.sessionId');
  checkId(head.agent, 'head.agent');
  if (!Number.isSafeInteger(base) || base < 0 || head.revision !== base + 1) {
    throw new TypeError(`head.revision is ${head.revision}; based on ${base} it has to be ${base + 1}.`);
  }
  for (const field of ['epoch', 'count', 'archived'] as const) {
    if (!Number.isSafeInteger(head[field]) || head[field] < 0 || head[field] >= 1e10) {
      throw new TypeError(`head.${field} must be a whole number from 0 to 9999999999.`);
    }
  }
  if (transcript?.kind === 'append' && transcript.from + transcript.messages.length !== head.count) {
    throw new TypeError(`head.count is ${head.count}, but ${transcript.messages.length} follow ${transcript.from}.`);
  }
  if (transcript?.kind === 'rewrite' && transcript.messages.length !== head.count) {
    throw new TypeError(`head.count is ${head.count}, but the new list has ${transcript.messages.length} messages.`);
  }
  if (transcript?.kind === 'rewrite' && transcript.epoch !== head.epoch) {
    throw new TypeError(`head.epoch is ${head.epoch}, but the list is written as epoch ${transcript.epoch}.`);
  }
  if (archive !== undefined && (transcript?.kind !== 'rewrite' || archive.length > head.archived)) {
    throw new TypeError('archive goes with a rewrite, and head.archived counts it.');
  }
  for (const call of calls?.put ?? []) {
    if (!call.callId.startsWith(`${call.turnId}.`)) {
      throw new TypeError(`The call id ${JSON.stringify(call.callId)} must begin with its turn id and a dot.`);
    }
  }
}

function encodeMessages({ head, transcript }: Commit): Op[] {
  const from = transcript?.kind === 'append' ? transcript.from : 0;
  const messages: readonly StoredMessage[] = transcript?.messages ?? [];
  const keyOf = messageKeys(head.sessionId, head.epoch);
  return messages.map((message, index) => {
    const key = keyOf(from + index);
    return put('message', key, encodeRecord('message', key, head.revision, message, `messages[${index}]`));
  });
}

function encodeArchive({ head, archive = [] }: Commit): Op[] {
  const from = head.archived - archive.length;
  return archive.map((message, index) => {
    const key = archiveKey(head.sessionId, from + index);
    return put('archive', key, encodeRecord('archive', key, head.revision, message, `archive[${index}]`));
  });
}

function encodeRecords(commit: Commit, later: ReadonlySet<string>): Op[] {
  const { sessionId, agent, revision } = commit.head;
  const ops: Op[] = [];
  const store = (kind: Kind, key: string, value: unknown, path: string) =>
    ops.push(put(kind, key, encodeRecord(kind, key, revision, value, path)));

  if (commit.checkpoint === null) ops.push(del('turn', turnKey(sessionId)));
  else if (commit.checkpoint !== undefined) store('turn', turnKey(sessionId), commit.checkpoint, 'checkpoint');
  for (const callId of commit.calls?.remove ?? []) if (!later.has(callId)) ops.push(del('call', callKey(callId)));
  for (const [i, call] of (commit.calls?.put ?? []).entries()) store('call', callKey(call.callId), call, `calls[${i}]`);
  const keyOfInput = (input: { seq: number; messageId: string }) => inboxKey(sessionId, input.seq, input.messageId);
  for (const input of commit.inbox?.remove ?? []) ops.push(del('inbox', keyOfInput(input)));
  // The agent is in the record, so that a scan needs no head.
  for (const [i, input] of (commit.inbox?.put ?? []).entries()) {
    store('inbox', keyOfInput(input), { agent, input }, `inbox[${i}]`);
  }
  for (const [i, seen] of (commit.seen ?? []).entries()) {
    store('seen', seenKey(sessionId, seen.messageId), seen, `seen[${i}]`);
  }
  for (const [i, outcome] of (commit.outcomes ?? []).entries()) {
    store('outcome', outcomeKey(outcome.turnId), outcome, `outcomes[${i}]`);
  }
  for (const callId of commit.reviews?.remove ?? []) ops.push(del('review', reviewKey(sessionId, callId)));
  for (const [i, review] of (commit.reviews?.put ?? []).entries()) {
    store('review', reviewKey(sessionId, review.callId), { agent, sessionId, review }, `reviews[${i}]`);
  }
  return ops;
}

/** A checksum stands for kind, key and value; the marker is left out, since it follows from the head. */
function digestOf(ops: readonly Op[]): string {
  let parts = '';
  for (const op of ops) parts += op.type === 'put' ? `${checksumOf(op.value)}\n` : `${op.kind}!${op.key}\n`;
  return hash('sha256', parts).slice(0, 16);
}
