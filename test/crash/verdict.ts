// What has to be true of a store and its witness once no process has them open; the processes have no say in it.
import { expect } from 'vitest';
import type { StoredMessage } from '../../src/index.js';
import type { TurnStore } from '../../src/store/level-store.js';
import type { Service } from './package.js';
import type { Place } from './processes.js';
import { witnessed } from './witness.js';

/** Everything the tests ask of a store, read at once and closed again. */
export interface Found {
  readonly session: NonNullable<Awaited<ReturnType<TurnStore['load']>>>;
  readonly markers: Awaited<ReturnType<TurnStore['markers']>>;
  readonly reviews: Awaited<ReturnType<TurnStore['reviews']>>;
  readonly waitingInput: readonly string[];
  readonly outcome: Awaited<ReturnType<TurnStore['outcome']>>;
}

export async function lookInto(service: Service, place: Place, sessionId = 's'): Promise<Found> {
  const store = await service.level.openLevelStore({ path: place.store });
  try {
    const session = await store.load(sessionId);
    if (session === undefined) throw new Error(`there is no session ${sessionId}`);
    return {
      session,
      markers: await store.markers('crash'),
      reviews: await store.reviews('crash'),
      waitingInput: await store.waitingInput('crash'),
      outcome: await store.outcome(session.head.turnId ?? ''),
    };
  } finally {
    await store.close();
  }
}

/** What a list of a session with one turn of one batch looks like. */
export const ONE_BATCH = ['user', 'assistant', 'tool', 'assistant'];

export const rolesOf = (messages: readonly StoredMessage[]): readonly string[] =>
  messages.map(({ message }) => message.role);

/** I10, C2: behind every answer with calls stands one message with exactly one result for each, in its order. */
export function expectPaired(messages: readonly StoredMessage[]): void {
  messages.forEach(({ message }, index) => {
    if (message.role !== 'assistant') return;
    const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
    const behind = messages[index + 1]?.message;
    expect(behind?.role === 'tool' ? resultsOf(behind).map(({ toolCallId }) => toolCallId) : []).toEqual(calls);
  });
  const results = messages.filter(({ message }) => message.role === 'tool');
  expect(messages.filter(({ message }) => isAnswerWithCalls(message))).toHaveLength(results.length);
}

const isAnswerWithCalls = (message: StoredMessage['message']): boolean =>
  message.role === 'assistant' && message.content.some(({ type }) => type === 'tool-call');

export const resultsOf = (message: StoredMessage['message']) =>
  message.role === 'tool' ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part] : [])) : [];

/** I3: one metadata record per message, and as many as the head says. */
export function expectWholeList({ head, messages }: Found['session']): void {
  expect(messages).toHaveLength(head.count);
  const ids = messages.map(({ meta }) => meta.id);
  expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
}

/** I2, C12: nothing is in progress, marked, due, waiting or in doubt any more. */
export function expectNothingOpen({ session, markers, reviews, waitingInput }: Found): void {
  const { head, checkpoint, inbox } = session;
  expect(markers).toEqual([]);
  expect(reviews).toEqual([]);
  expect(waitingInput).toEqual([]);
  expect(inbox).toEqual([]);
  expect(checkpoint).toBeNull();
  expect(head).toMatchObject({ inProgress: false, waiting: null, outcomesDue: [], waitingInput: 0, handedOver: false });
}

/** C5: an external effect never twice, an idempotent one only ever with its key, and none of them lost. */
export function expectEachEffectOnce({ session }: Found, place: Place): void {
  const effects = witnessed(place, 'effect').filter((line) => line.session === session.head.sessionId);
  const keysIn = (tool: string): readonly (string | undefined)[] =>
    effects.filter((line) => line.tool === tool).map(({ key }) => key);
  for (const toolName of new Set(session.calls.map((call) => call.toolName))) {
    const calls = session.calls.filter((call) => call.toolName === toolName);
    const keys = calls.map((call) => call.idempotencyKey).sort();
    expect(new Set(keys).size, `calls of ${toolName} share a key`).toBe(keys.length);
    const external = calls.every(({ effect }) => effect === 'external');
    const landed = external ? keysIn(toolName) : [...new Set(keysIn(toolName))];
    expect([...landed].sort(), `effects of ${toolName}`).toEqual(keys);
  }
}

/** Every call of the journal is done, and the model reads its own receipt in its place. */
function expectReceipts({ calls, messages }: Found['session']): void {
  expect(calls.filter(({ state }) => state !== 'succeeded')).toEqual([]);
  const results = messages.flatMap(({ message }) => resultsOf(message));
  const inOrder = [...calls].sort((a, b) => (a.callId < b.callId ? -1 : 1));
  expect(results.map(({ toolName, output }) => ({ toolName, output }))).toEqual(
    inOrder.map(({ toolName, idempotencyKey }) => ({
      toolName,
      output: { type: 'json', value: { receipt: idempotencyKey } },
    })),
  );
}

export interface Wanted {
  readonly roles: readonly string[];
  readonly calls: number;
  /** How often a process was started at this place, the last one included. */
  readonly starts: number;
}

/** The end of every schedule: the turn is done, whole, and did what it was asked exactly once. */
export async function expectCompleted(service: Service, place: Place, wanted: Wanted): Promise<void> {
  const found = await lookInto(service, place);
  const { head, messages, calls } = found.session;
  expect(head).toMatchObject({ phase: 'completed', ended: { kind: 'completed' } });
  expect(found.outcome).toMatchObject({ status: 'completed', text: 'done' });
  expectNothingOpen(found);
  expectWholeList(found.session);
  expectPaired(messages);
  expect(calls).toHaveLength(wanted.calls);
  expectReceipts(found.session);
  expectEachEffectOnce(found, place);
  // I11: one user message, with the id it was sent with, however often it was sent.
  expect(rolesOf(messages)).toEqual(wanted.roles);
  expect(messages[0]?.meta).toMatchObject({ id: 'm1', origin: 'input' });
  expect(head.attempts).toBeLessThan(3);
  expect(head.recoveries).toBeLessThan(wanted.starts);
  // At least once across crashes, and never anything else.
  const outcomes = witnessed(place, 'outcome');
  expect(outcomes.length).toBeGreaterThan(0);
  for (const { status, turnId } of outcomes)
    expect({ status, turnId }).toEqual({ status: 'completed', turnId: head.turnId });
}
