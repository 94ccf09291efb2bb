// Why: a service whose readers all come back at once must not read one session once for each of them, nor a thousand
// sessions at the same time, and a reader that waits must not hold what it was shown. What is shared is never old.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { FOLLOW_CONCURRENCY } from '../../machines/limits.js';
import { Feed } from '../../src/engine/feed.js';
import { Looks } from '../../src/engine/looks.js';
import type { Roster } from '../../src/engine/roster.js';
import type { FollowEvent, Json, TurnEngine, TurnStore } from '../../src/index.js';
import { createWorld, hello, only, type WholeWorld } from '../whole-turn/world.js';
import { Client } from './following.js';
import { calm, gate, until, within } from './waiting.js';

type Snapshot = FollowEvent & { readonly type: 'snapshot' };

/** Loads of the store, each held until the test lets it go. */
function heldLoads(store: TurnStore) {
  const load = store.load.bind(store);
  const asked: string[] = [];
  const release: (() => void)[] = [];
  store.load = async (sessionId) => {
    asked.push(sessionId);
    const session = await load(sessionId);
    const held = gate();
    release.push(held.open);
    await held.opened;
    return session;
  };
  return { asked, release: () => release.shift()?.() };
}

const clients = (engine: TurnEngine, count: number): readonly Client[] =>
  Array.from({ length: count }, () => new Client(engine));

const viewOf = ({ events }: Client): Snapshot => events[0] as Snapshot;

async function restingSession(world: WholeWorld, engine: TurnEngine): Promise<void> {
  await within((await engine.startTurn(hello)).outcome);
  await calm();
}

it('readers who ask at the same moment share one view, of a session at rest and of one that runs', async () => {
  const world = createWorld();
  let redacted = 0;
  const redact = (value: Json): Json => {
    redacted += 1;
    return value;
  };
  const engine = world.boot({ redact });
  await restingSession(world, engine);
  const { asked, release } = heldLoads(world.process.store);
  redacted = 0;
  const resting = clients(engine, 50);
  await calm();
  release();
  await calm();
  expect(asked).toEqual(['s']);
  // Two messages, and the outcome with its text.
  expect(redacted).toBe(3);
  expect(new Set(resting.map((client) => viewOf(client).messages)).size).toBe(1);
  release();
  world.says({ hang: true });
  const started = engine.startTurn(hello);
  await until(() => asked.length === 2, 'the turn loads its session');
  release();
  await within(started);
  await until(() => world.requests.length === 2, 'the model is asked');
  const live = clients(engine, 50);
  await calm();
  expect(asked).toHaveLength(2);
  expect(viewOf(live[0] as Client)).toMatchObject({ inProgress: true, messages: [{}, {}, {}] });
  expect(new Set(live.map((client) => viewOf(client).messages)).size).toBe(1);
});

it('a view that is being read is given to nobody who asks later: they share the next one', async () => {
  const world = createWorld();
  const engine = world.boot();
  await restingSession(world, engine);
  const { asked, release } = heldLoads(world.process.store);
  const early = new Client(engine);
  await calm();
  await engine.deleteSession('s');
  const late = clients(engine, 20);
  await calm();
  expect(asked).toHaveLength(1);
  release();
  await calm();
  release();
  await calm();
  release();
  await calm();
  expect(viewOf(early).messages).toHaveLength(2);
  for (const client of late) expect(viewOf(client).messages).toEqual([]);
  // Its list became another one, so the early reader is shown what there is now; the others know.
  expect(early.types).toEqual(['snapshot', 'snapshot']);
  expect(asked.length).toBeLessThanOrEqual(3);
});

it('only some sessions are read at the same time, and every reader gets its view', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { asked, release } = heldLoads(world.process.store);
  const sessions = Array.from({ length: FOLLOW_CONCURRENCY + 3 }, (_, index) => `s${index}`);
  const readers = sessions.map((sessionId) => new Client(engine, sessionId));
  await calm();
  expect(asked).toHaveLength(FOLLOW_CONCURRENCY);
  release();
  await calm();
  expect(asked).toHaveLength(FOLLOW_CONCURRENCY + 1);
  for (const _ of sessions) {
    release();
    await calm(5);
  }
  expect(asked).toEqual(sessions);
  expect(readers.map(({ types }) => types)).toEqual(sessions.map(() => ['snapshot']));
});

it('a session that cannot be read keeps no reader of another one waiting', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { store } = world.process;
  const load = store.load.bind(store);
  store.load = (sessionId) => (sessionId === 's' ? load(sessionId) : Promise.reject(new Error('cannot be read')));
  const failing = Array.from({ length: FOLLOW_CONCURRENCY * 2 }, (_, index) => new Client(engine, `bad${index}`));
  const reader = new Client(engine);
  await calm();
  expect(failing.every(({ thrown }) => String(thrown).includes('cannot be read'))).toBe(true);
  expect(reader.types).toEqual(['snapshot']);
});

it('a reader that waits for the next event holds nothing of what it was shown', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const world = createWorld();
  const engine = world.boot();
  await restingSession(world, engine);
  const reader = engine.follow('s');
  const shown = async (): Promise<WeakRef<object>> => {
    const { value } = (await reader.next()) as { value: Snapshot };
    expect(value.messages).toHaveLength(2);
    return new WeakRef(value.messages);
  };
  const messages = await shown();
  const waiting = reader.next();
  for (let turn = 0; turn < 20 && messages.deref() !== undefined; turn += 1) {
    await calm(2);
    collect();
  }
  expect(messages.deref()).toBeUndefined();
  await reader.return?.();
  expect(await within(waiting)).toEqual({ value: undefined, done: true });
});

it('of the messages in a view only those are remembered that are told behind it', async () => {
  const world = createWorld();
  const engine = world.boot();
  await restingSession(world, engine);
  const roster = Reflect.get(engine, 'roster') as Roster;
  const looks = new Looks(roster);
  const { feeds } = roster.announcer;
  const quiet = await looks.at('s', feeds.enter('s'));
  expect(quiet?.view.messages).toHaveLength(2);
  await calm();
  expect(quiet?.behind.shown.size).toBe(0);
  expect((await looks.at('nobody', new Feed(0)))?.behind.shown.size).toBe(0);
});

it('a message that is on disk and not told yet when a view is read comes once, however late it is told', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { store } = world.process;
  const commit = store.commit.bind(store);
  const held = gate();
  store.commit = async (change) => {
    await commit(change);
    await held.opened;
  };
  const starting = engine.startTurn(hello);
  await until(async () => (await store.messages('s')).length === 1, 'the input is on disk');
  const client = new Client(engine);
  await calm();
  expect(viewOf(client).messages).toHaveLength(1);
  held.open();
  await within((await within(starting)).outcome);
  await client.told();
  const told = client.events.flatMap((event) => (event.type === 'message' ? [event.message.role] : []));
  expect(only(told)).toBe('assistant');
});

it('a message that a driver has on disk and not told yet comes once, where the driver came while the view was read', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { store } = world.process;
  const load = store.load.bind(store);
  const reading = gate();
  let loads = 0;
  store.load = async (sessionId) => {
    loads += 1;
    if (loads === 1) await reading.opened;
    return load(sessionId);
  };
  const client = new Client(engine);
  await calm();
  const turn = await engine.startTurn(hello);
  const commit = store.commit.bind(store);
  const held = gate();
  store.commit = async (change) => {
    await commit(change);
    await held.opened;
  };
  await until(async () => (await store.messages('s')).length === 2, 'the answer is on disk');
  reading.open();
  await calm();
  expect(viewOf(client).messages).toHaveLength(2);
  held.open();
  await within(turn.outcome);
  await client.told();
  expect(client.types).not.toContain('message');
  expect(client.types).toContain('outcome');
});
