// Whole lives of sessions, with records of every kind, and what every reader says about one.
import { expect } from 'vitest';
import type { Commit, TurnStore } from '../../src/core/ports.js';
import { appended, callOf, checkpointOf, compacted, inputOf, outcomeOf, reviewOf, turnOf } from './fixtures.js';
import { everything, inWorld, type Stored, type World, type WorldName } from './world.js';

export const texts = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** Records of each kind, of several turns and epochs. */
export function lifeOf(id: string, size = 3): readonly Commit[] {
  const turn = turnOf(id);
  const calls = [callOf(turn, 0), callOf(turn, 1), ...texts('', size).map((_, i) => callOf(turnOf(id, 7), i))];
  const first = appended(undefined, id, texts('a', size));
  const second = compacted(first.head, id, texts('b', size), texts('a', size));
  const head = { ...second.head, dispatched: 2, waitingInput: 2 };
  return [
    first,
    {
      ...second,
      head,
      checkpoint: checkpointOf(head),
      calls: { put: calls, remove: [] },
      inbox: { put: [inputOf(id, 0), inputOf(id, 1)], remove: [] },
      seen: texts('m', size).map((messageId) => ({ messageId, turnId: turn })),
      outcomes: [outcomeOf(turn), outcomeOf(turnOf(id, 7))],
      reviews: { put: calls.slice(0, 2).map(reviewOf), remove: [] },
    },
  ];
}

export async function live(store: TurnStore, id: string, size?: number): Promise<void> {
  for (const commit of lifeOf(id, size)) await store.commit(commit);
}

export const stored = (world: World) => world.inspect(everything);

/** What every reader of the port says about the session. */
export async function told(store: TurnStore, id: string) {
  const [turn, listed] = [turnOf(id), [] as string[]];
  for await (const head of store.sessions('agent')) listed.push(head.sessionId);
  const of = (found: readonly { readonly sessionId: string }[]) => found.filter(({ sessionId }) => sessionId === id);
  return {
    head: (await store.head(id)) !== undefined,
    records: (await store.load(id)) !== undefined,
    messages: (await store.messages(id)).length > 0,
    archive: (await store.archive(id)).length > 0,
    inbox: (await store.inbox(id)).length > 0,
    call: (await store.call(callOf(turn, 0).callId)) !== undefined,
    seen: (await store.seen(id, 'm0')) !== undefined,
    outcome: (await store.outcome(turn)) !== undefined,
    marker: of(await store.markers('agent')).length > 0,
    waiting: (await store.waitingInput('agent')).includes(id),
    review: of(await store.reviews('agent')).length > 0,
    listed: listed.includes(id),
  };
}

/** Whole for all readers or gone for all of them. */
export async function isThere(store: TurnStore, id: string): Promise<boolean> {
  const answers = Object.entries(await told(store, id));
  const there = answers.filter(([, answer]) => answer).map(([reader]) => reader);
  expect([0, answers.length], there.join()).toContain(there.length);
  return there.length > 0;
}

/** Waits until the sweeps that commits started are over. */
export async function swept(world: World): Promise<void> {
  const isGarbage = async () => (await stored(world)).some(({ kind }) => kind === 'garbage');
  while (await isGarbage()) await new Promise((resolve) => setImmediate(resolve));
}

/** What is stored when the sessions lived in a place of their own. */
export async function storedAfter(name: WorldName, live: (store: TurnStore) => Promise<void>) {
  let result: Stored[] = [];
  await inWorld(name, async (world) => {
    const store = await world.open();
    await live(store);
    await swept(world);
    result = await stored(world);
    await store.close();
  });
  return result;
}
