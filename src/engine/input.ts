/**
 * Owns what comes in with a message, and its check: each error names the field and the fix, and nothing is written.
 * Must not know what becomes of it.
 */

import { type Limits, RECORD_BYTES } from '../../machines/index.js';
import { TurnError } from '../core/errors.js';
import { checkFields } from '../core/fields.js';
import { checkId } from '../core/ids.js';
import { checkJson, type Json } from '../core/json.js';
import { checkUserParts } from '../core/message-check.js';
import type { UserPart } from '../core/messages.js';
import type { InboxRecord } from '../core/records.js';
import { shown } from '../core/shown.js';
import { nextTurnId } from './begin.js';
import { checkLimits } from './check-options.js';
import type { Settings } from './options.js';
import type { Turn } from './turn-handles.js';

export interface Input<X = Json> {
  readonly sessionId: string;
  readonly input: string | readonly UserPart[];
  /** A person is there now. Never stored: it counts for this process only. */
  readonly attended: boolean;
  /** Durable with the turn, given to every callback. Default null. */
  readonly context?: X;
  /** The same id again is a duplicate, not a second message. Default: a new one. */
  readonly messageId?: string;
  /** What must not run twice at the same time. Default: the session alone. */
  readonly routeKey?: string;
  /** For the turn this input starts; `Infinity` and 0 are off. */
  readonly limits?: Partial<Limits>;
  /** The name of one of the engine's `answers`: the final answer has to fit its schema. */
  readonly answer?: string;
  /** Rewinds first: the list goes on behind the message with this id. Only where no turn is in progress. */
  readonly after?: string;
}

const INPUT: Readonly<Record<keyof Input, true>> = {
  sessionId: true,
  input: true,
  attended: true,
  context: true,
  messageId: true,
  routeKey: true,
  limits: true,
  answer: true,
  after: true,
};

export interface Accepted {
  /** `queued`: it joins the turn in progress, or waits for its route. `duplicate`: it was accepted before. */
  readonly accepted: 'started' | 'queued' | 'duplicate';
  readonly messageId: string;
  /** The turn that it starts, joins or belongs to. */
  readonly turn: Turn;
}

/** Input that was checked. */
export interface Checked {
  readonly sessionId: string;
  readonly attended: boolean;
  readonly record: InboxRecord;
  readonly after: string | undefined;
}

/** @throws {TypeError} names the field and what it has to be; nothing is written. */
export function checkInput(settings: Settings, input: Input): Checked {
  if (typeof input !== 'object' || input === null)
    throw new TypeError('sendMessage needs { sessionId, input, attended }.');
  checkFields(input, INPUT);
  checkId(input.sessionId, 'sessionId');
  if (typeof input.attended !== 'boolean') {
    throw new TypeError('attended must be true (a person is there now) or false.');
  }
  if (input.answer !== undefined && !Object.hasOwn(settings.answers ?? {}, input.answer)) {
    throw new TypeError(`answer ${shown(input.answer)} is none of the engine's answers.`);
  }
  if (input.after !== undefined) checkId(input.after, 'after');
  if (input.messageId !== undefined) checkId(input.messageId, 'messageId');
  if (input.routeKey !== undefined) checkId(input.routeKey, 'routeKey');
  const given = input.context ?? null;
  checkJson(given, 'context');
  // A copy: what the application does to its object later must not reach the head.
  const context = structuredClone(given);
  const record: InboxRecord = {
    messageId: input.messageId ?? settings.ids(),
    seq: 0,
    turnId: nextTurnId(settings, input.sessionId),
    content: contentOf(input.input),
    context,
    acceptedAt: settings.clock.now(),
    limits: checkLimits(input.limits === undefined ? {} : input.limits, 'limits'),
    answer: input.answer ?? null,
    routeKey: input.routeKey ?? `session ${input.sessionId}`,
  };
  if (JSON.stringify(record).length > RECORD_BYTES / 4) {
    throw new TurnError(
      'TURN_TOO_LARGE',
      `input and context are larger than ${RECORD_BYTES / 4} characters; store files elsewhere and send a reference`,
    );
  }
  return { sessionId: input.sessionId, attended: input.attended, record, after: input.after };
}

function contentOf(input: Input['input']): readonly UserPart[] {
  if (typeof input === 'string') {
    if (input === '') throw new TypeError('input is empty; give the text of the message or its parts.');
    checkJson(input, 'input');
    return [{ type: 'text', text: input }];
  }
  if (!Array.isArray(input) || input.length === 0) {
    throw new TypeError('input must be a text or a non-empty array of user parts.');
  }
  checkUserParts(input, 'input');
  return input;
}
