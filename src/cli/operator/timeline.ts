/**
 * Owns the order in which the things of a session happened, as its records tell it.
 * Must not know how it is printed.
 */
import type { MessageMeta, StoredMessage } from '../../core/messages.js';
import type { CallRecord, InboxRecord, OutcomeRecord } from '../../core/records.js';
import type { Sheet } from './sheet.js';
import { decisionOn, linesOf, oneLine } from './words.js';

export interface Moment {
  /** ms since the epoch. */
  readonly at: number;
  readonly what: string;
}

export function timelineOf(sheet: Sheet): readonly Moment[] {
  // Stable: what falls on one millisecond stays in the order of cause and effect.
  return causesFirst(sheet).sort((a, b) => a.at - b.at);
}

/** Each thing behind those that must have come before it: a call between the message that asks for it and its result. */
function causesFirst(sheet: Sheet): Moment[] {
  const list = [...sheet.archive, ...sheet.messages];
  const last = new Map(list.map(({ meta }) => [meta.turnId, meta.id]));
  const beginnings = new Map([[sheet.head?.turnId ?? '', beginningOf(sheet)]]);
  const calls = grouped(sheet.calls, ({ messageId }) => messageId, momentsOfCall);
  const ends = grouped(sheet.outcomes, ({ turnId }) => turnId, momentsOfEnd);
  const told: Moment[] = [];
  let running: readonly Moment[] = [];
  for (const stored of list) {
    const { id, turnId } = stored.meta;
    told.push(...taken(beginnings, turnId), ...momentsOfResume(stored.meta), ...running, momentOfMessage(stored));
    running = taken(calls, id);
    if (last.get(turnId) !== id) continue;
    told.push(...running, ...taken(ends, turnId));
    running = [];
  }
  // Of messages that are not stored any more: they came before the list as it is now.
  const before = [beginnings, calls, ends].flatMap((left) => [...left.values()].flat());
  return [...before, ...told, ...sheet.inbox.map(momentOfInput)];
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string, momentsOf: (item: T) => readonly Moment[]) {
  const groups = new Map<string, readonly Moment[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), ...momentsOf(item)]);
  return groups;
}

function taken(groups: Map<string, readonly Moment[]>, key: string): readonly Moment[] {
  const found = groups.get(key) ?? [];
  groups.delete(key);
  return found;
}

/** None where the moment is not known. */
const moments = (at: number | null, what: string): readonly Moment[] => (at === null ? [] : [{ at, what }]);

function beginningOf({ head }: Sheet): readonly Moment[] {
  return head?.inProgress === true ? moments(head.startedAt, `turn ${head.turnId} began`) : [];
}

function momentsOfResume({ resumed }: MessageMeta): readonly Moment[] {
  if (resumed === undefined) return [];
  // A hand-over is no attempt, so none is counted.
  const how = resumed.attempt === 0 ? 'after a hand-over' : `attempt ${resumed.attempt}`;
  return moments(resumed.at, `the turn was resumed, ${how}`);
}

const momentOfMessage = ({ message, meta }: StoredMessage): Moment => ({
  at: meta.at,
  what: `${meta.origin}: ${oneLine(linesOf(message).join(' '))}`,
});

function momentsOfCall(call: CallRecord): readonly Moment[] {
  const name = `${call.toolName} ${call.callId}`;
  const { approval, dispatchedAt } = call;
  const again = call.dispatch > 1 ? `, dispatch ${call.dispatch}` : '';
  return [
    ...(approval === null
      ? []
      : moments(approval.requestedAt, `${name} was put to a person (${decisionOn(approval)})`)),
    ...moments(dispatchedAt, `${name} was dispatched${again}`),
    ...(call.state === 'inDoubt' ? moments(dispatchedAt, `${name} is in doubt (${call.doubt})`) : []),
    ...moments(call.settledAt, `${name} ${call.state}`),
  ];
}

const momentsOfEnd = ({ turnId, status, reason, endedAt }: OutcomeRecord): readonly Moment[] =>
  moments(endedAt, `turn ${turnId} ended: ${status}${reason === undefined ? '' : ` (${reason})`}`);

const momentOfInput = ({ acceptedAt, messageId }: InboxRecord): Moment => ({
  at: acceptedAt,
  what: `input ${messageId} was accepted and waits`,
});
