/**
 * Owns the order in which the things of a session happened, as its records tell it.
 * Must not know how it is printed.
 */
import type { CallRecord } from '../../core/records.js';
import type { Sheet } from './sheet.js';
import { linesOf, oneLine } from './words.js';

export interface Moment {
  /** ms since the epoch. */
  readonly at: number;
  readonly what: string;
}

export function timelineOf(sheet: Sheet): readonly Moment[] {
  const moments: Moment[] = [];
  const add = (at: number | null | undefined, what: string): void => {
    if (typeof at === 'number') moments.push({ at, what });
  };
  for (const { message, meta } of [...sheet.archive, ...sheet.messages]) {
    if (meta.resumed !== undefined) add(meta.resumed.at, `the turn was resumed, attempt ${meta.resumed.attempt}`);
    add(meta.at, `${meta.origin}: ${oneLine(linesOf(message).join(' '))}`);
  }
  for (const call of sheet.calls) addCall(call, add);
  for (const input of sheet.inbox) add(input.acceptedAt, `input ${input.messageId} was accepted and waits`);
  for (const { turnId, status, reason, endedAt } of sheet.outcomes) {
    add(endedAt, `turn ${turnId} ended: ${status}${reason === undefined ? '' : ` (${reason})`}`);
  }
  if (sheet.head?.inProgress === true) add(sheet.head.startedAt, `turn ${sheet.head.turnId} began`);
  // Stable: what falls on one moment stays in the order of its records.
  return moments.sort((a, b) => a.at - b.at);
}

function addCall(call: CallRecord, add: (at: number | null, what: string) => void): void {
  const name = `${call.toolName} ${call.callId}`;
  if (call.approval !== null) {
    add(call.approval.requestedAt, `${name} was put to a person (now ${call.approval.state})`);
  }
  const again = call.dispatch > 1 ? `, dispatch ${call.dispatch}` : '';
  add(call.dispatchedAt, `${name} was dispatched${again}`);
  if (call.state === 'inDoubt') add(call.dispatchedAt, `${name} is in doubt (${call.doubt})`);
  add(call.settledAt, `${name} ${call.state}`);
}
