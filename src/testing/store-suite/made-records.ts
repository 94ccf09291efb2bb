/**
 * Owns records of a made-up session, and the commits that make it: what the suite hands to a store.
 * Must not know a store. A head made here agrees with the records that the same function makes.
 */
import { callIdOf, turnIdOf } from '../../core/ids.js';
import type { StoredMessage } from '../../core/messages.js';
import type { Commit } from '../../core/ports.js';
import type { CallRecord, Checkpoint, Head, InboxRecord, OutcomeRecord, ReviewRecord } from '../../core/records.js';

export const turnOf = (sessionId: string, n = 1): string => turnIdOf(sessionId, `t${n}`);

export function headOf(sessionId: string, changes: Partial<Head> = {}): Head {
  return {
    sessionId,
    agent: 'agent',
    revision: 1,
    routeKey: sessionId,
    turnId: turnOf(sessionId),
    inProgress: true,
    phase: 'awaitingLLM',
    handedOver: false,
    waiting: null,
    ended: null,
    context: null,
    limits: {},
    answer: null,
    startedAt: 1000,
    activeMs: 0,
    lastProgressAt: 1000,
    attempts: 0,
    recoveries: 0,
    modelCalls: 0,
    usage: { input: {}, output: {} },
    sessionUsage: { input: {}, output: {} },
    grants: [],
    compactionRefusedAt: null,
    archived: 0,
    outcomesDue: [],
    nextTurnId: null,
    epoch: 0,
    count: 0,
    dispatched: 0,
    settled: 0,
    waitingInput: 0,
    ...changes,
  };
}

export function messageOf(text: string, id = text): StoredMessage {
  return {
    message: { role: 'user', content: [{ type: 'text', text }] },
    meta: { id, at: 1, turnId: 't', origin: 'input' },
  };
}

/** The commit that follows `head`; `changes` are changes of the head. */
export function commitAfter(
  head: Head | undefined,
  sessionId: string,
  changes: Partial<Head> = {},
  rest: Partial<Commit> = {},
): Commit {
  const base = head?.revision ?? 0;
  const next = { ...(head ?? headOf(sessionId)), revision: base + 1, ...changes };
  return { base, lease: null, savedAt: 1000 + base, ...rest, head: next };
}

/** Appends texts behind `head`. */
export function appended(
  head: Head | undefined,
  sessionId: string,
  texts: readonly string[],
  rest: Partial<Commit> = {},
) {
  const from = head?.count ?? 0;
  const messages = texts.map((text, i) => messageOf(text, `${from + i}`));
  return commitAfter(
    head,
    sessionId,
    { count: from + texts.length },
    { transcript: { kind: 'append', from, messages }, ...rest },
  );
}

/** Another whole list. */
export function rewritten(
  head: Head | undefined,
  sessionId: string,
  texts: readonly string[],
  rest: Partial<Commit> = {},
) {
  const epoch = head === undefined ? 0 : head.epoch + 1;
  const messages = texts.map((text, i) => messageOf(text, `${i}`));
  return commitAfter(
    head,
    sessionId,
    { count: texts.length, epoch },
    { transcript: { kind: 'rewrite', epoch, messages }, ...rest },
  );
}

/** Another list, with messages of the old one kept beside it. */
export function compacted(
  head: Head | undefined,
  sessionId: string,
  texts: readonly string[],
  archivedTexts: readonly string[],
): Commit {
  const commit = rewritten(head, sessionId, texts);
  const archive = archivedTexts.map((text) => messageOf(text));
  return { ...commit, head: { ...commit.head, archived: (head?.archived ?? 0) + archive.length }, archive };
}

export const textsOf = (messages: readonly StoredMessage[]): string[] =>
  messages.map(({ message }) =>
    message.role === 'user' && message.content[0]?.type === 'text' ? message.content[0].text : '?',
  );

export function checkpointOf(head: Head): Checkpoint {
  return {
    format: 1,
    machineId: 'turn',
    machineVersion: '1',
    turnId: head.turnId ?? '',
    revision: head.revision,
    savedAt: 1,
    deadlines: {},
    snapshot: { value: 'running', revision: head.revision },
  };
}

export function callOf(turnId: string, index: number, changes: Partial<CallRecord> = {}): CallRecord {
  return {
    callId: callIdOf(turnId, 1, index),
    turnId,
    messageId: 'm',
    toolCallId: `call_${index}`,
    toolName: 'send',
    input: { to: 'x' },
    effect: 'external',
    idempotencyKey: `k${index}`,
    ordinal: 0,
    state: 'dispatched',
    dispatch: 1,
    preparedAt: 1,
    dispatchedAt: 1,
    settledAt: null,
    approval: null,
    doubt: null,
    definitive: false,
    exclusive: null,
    notes: [],
    output: null,
    ...changes,
  };
}

export function inputOf(sessionId: string, seq: number): InboxRecord {
  return {
    messageId: `in${seq}`,
    seq,
    turnId: turnOf(sessionId, 2),
    content: [{ type: 'text', text: `input ${seq}` }],
    context: null,
    acceptedAt: 1,
    limits: {},
    answer: null,
    routeKey: sessionId,
  };
}

export function outcomeOf(turnId: string): OutcomeRecord {
  return {
    turnId,
    status: 'completed',
    text: 'done',
    usage: { input: {}, output: {} },
    context: null,
    startedAt: 1,
    modelCalls: 1,
    endedAt: 2,
  };
}

export function reviewOf(call: CallRecord): ReviewRecord {
  return {
    callId: call.callId,
    turnId: call.turnId,
    toolName: call.toolName,
    input: call.input,
    idempotencyKey: call.idempotencyKey,
    dispatch: call.dispatch,
    dispatchedAt: call.dispatchedAt ?? 0,
    doubt: 'crash',
    notes: [],
  };
}
