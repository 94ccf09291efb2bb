// What the tests of the pure core draw from: JSON, text, calls of a journal and lists of messages, for fast-check.
import fc from 'fast-check';
import type { Json } from '../../src/core/json.js';
import type { AssistantPart, Message, ToolMessage } from '../../src/core/messages.js';
import type { CallRecord } from '../../src/core/records.js';

/** Any well-formed text: every character of Unicode, control characters and separators included. */
export const text = fc.string({ unit: 'binary', maxLength: 12 });

/** Any text at all, halves of characters included. */
export const brokenText = fc
  .array(fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7f0, max: 0xe00f })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units));

/** Names that mean something to JavaScript, beside ordinary ones. */
export const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toJSON', 'hasOwnProperty', 'length', '', '0', '-1', 'a.b'),
  text,
);

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
  fc.constantFrom(0, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE, Number.MAX_VALUE),
);

/** An object of the pairs; fromEntries defines, so a key named __proto__ is data here too. */
const record = (value: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.array(fc.tuple(key, value), { maxLength: 5 }).map((pairs) => Object.fromEntries(pairs));

/** Every value that may be stored. */
export const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<Json>(null, false, true, '', 0),
    number,
    text,
    fc.array(tie('value'), { maxLength: 5 }),
    record(tie('value')),
  ),
})).value;

/** Few enough values that two of them are often equal. */
export const smallJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<Json>(null, false, 0, 1, '', '0', 'a', '[]', '{}'),
    fc.array(tie('value'), { maxLength: 2 }),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '0', '__proto__'), tie('value')), { maxLength: 3 })
      .map((pairs): Json => Object.fromEntries(pairs)),
  ),
})).value;

/** A call that waits, with what a test says about it. */
export function callOf(callId: string, changes: Partial<CallRecord> = {}): CallRecord {
  return {
    callId,
    turnId: 's.t',
    messageId: 'm1',
    toolCallId: callId,
    toolName: 'send',
    input: null,
    effect: 'external',
    idempotencyKey: `key of ${callId}`,
    ordinal: 0,
    exclusive: null,
    state: 'prepared',
    dispatch: 0,
    preparedAt: 0,
    dispatchedAt: null,
    settledAt: null,
    approval: null,
    doubt: null,
    definitive: false,
    notes: [],
    output: null,
    ...changes,
  };
}

/** Local ids are few, so that they repeat within and across answers, as those of some servers do. */
const localId = fc.constantFrom('call_0', 'call_1', 'call_2');
const providerId = fc.constantFrom('srv_0', 'srv_1');

const resultOf = (toolCallId: string, value: number) =>
  ({ type: 'tool-result', toolCallId, toolName: 'f', output: { type: 'json', value } }) as const;
const result = fc.tuple(localId, fc.nat(9)).map(([id, value]) => resultOf(id, value));
const providerResult = fc.tuple(providerId, fc.nat(9)).map(([id, value]) => resultOf(id, value));

const assistantPart = fc.oneof(
  {
    weight: 4,
    arbitrary: localId.map(
      (toolCallId): AssistantPart => ({ type: 'tool-call', toolCallId, toolName: 'f', input: {} }),
    ),
  },
  {
    weight: 1,
    arbitrary: providerId.map(
      (toolCallId): AssistantPart => ({
        type: 'tool-call',
        toolCallId,
        toolName: 'search',
        input: {},
        providerExecuted: true,
      }),
    ),
  },
  { weight: 1, arbitrary: providerResult.map((part): AssistantPart => part) },
  { weight: 1, arbitrary: fc.constant<AssistantPart>({ type: 'text', text: 'well' }) },
  {
    weight: 1,
    arbitrary: providerId.map(
      (id): AssistantPart => ({ type: 'tool-approval-request', approvalId: id, toolCallId: id }),
    ),
  },
);

const toolPart: fc.Arbitrary<ToolMessage['content'][number]> = fc.oneof(
  { weight: 6, arbitrary: result },
  { weight: 1, arbitrary: providerResult },
  {
    weight: 1,
    arbitrary: providerId.map((id) => ({ type: 'tool-approval-response', approvalId: id, approved: true }) as const),
  },
);

const message: fc.Arbitrary<Message> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(assistantPart, { maxLength: 4 }).map((content): Message => ({ role: 'assistant', content })),
  },
  { weight: 4, arbitrary: fc.array(toolPart, { maxLength: 3 }).map((content): Message => ({ role: 'tool', content })) },
  { weight: 1, arbitrary: fc.constant<Message>({ role: 'user', content: [{ type: 'text', text: 'go on' }] }) },
  { weight: 1, arbitrary: fc.constant<Message>({ role: 'system', content: 'be brief' }) },
);

/** Any list at all, whatever stopped the turn that wrote it. Every message is an object of its own. */
export const messages: fc.Arbitrary<readonly Message[]> = fc
  .array(message, { maxLength: 12 })
  .map((list) => structuredClone(list));
