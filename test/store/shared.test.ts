// `shared`: a module that runs again in the same process (hot reload) gets the database that it opened before.
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTurnEngine } from '../../src/index.js';
import { memoryStore, openLevelStore, type TurnStore } from '../../src/store/level-store.js';
import { openShared } from '../../src/store/shared-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

const locked = { code: 'TURN_STORE_LOCKED' };
const closed = { code: 'TURN_STORE_CLOSED' };
let scratch = '';
let path = '';

beforeEach(() => {
  scratch = temporaryFolder();
  path = join(scratch, 'db');
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

/** A store whose methods can be replaced. */
function methods(store: TurnStore): TurnStore {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store)) as (keyof TurnStore)[];
  const bound = names.map((name) => [name, typeof store[name] === 'function' ? store[name].bind(store) : store[name]]);
  return Object.fromEntries(bound) as TurnStore;
}

const shared = (at = path) => openLevelStore({ path: at, shared: true });

it('who opens the folder again has the same database, under whatever name', async () => {
  const [first, second] = await Promise.all([shared(), shared()]);
  symlinkSync(path, join(scratch, 'link'), 'junction');
  const third = await shared(join(scratch, 'link'));
  expect(first).not.toBe(second);
  await first.commit(appended(undefined, 's', ['one']));
  expect(textsOf(await second.messages('s'))).toEqual(['one']);
  expect(textsOf(await third.messages('s'))).toEqual(['one']);
  // Routes too: what one drives nobody else takes up (I7).
  const lease = await first.acquire('route');
  expect(await second.acquire('route')).toBeUndefined();
  if (lease !== undefined) await third.release(lease);
  expect(await second.acquire('route')).toBeDefined();
  for (const store of [first, second, third]) await store.close();
});

it('is closed for each user alone, and by the last one for all', async () => {
  const first = await shared();
  const second = await shared();
  await first.close();
  await first.close();
  await expect(first.head('s')).rejects.toMatchObject(closed);
  expect(() => first.sessions('agent')).toThrow(expect.objectContaining(closed));
  await second.commit(appended(undefined, 's', ['one']));
  await expect(openLevelStore({ path })).rejects.toMatchObject(locked);
  // Opened again while the last user closes it.
  const closing = second.close();
  const third = await shared();
  await closing;
  expect(textsOf(await third.messages('s'))).toEqual(['one']);
  await third.close();
  await (await openLevelStore({ path })).close();
});

it('who opens it while the last user closes it waits, and gets a database of its own', async () => {
  let close = (): void => undefined;
  const mayClose = new Promise<void>((resolve) => {
    close = resolve;
  });
  const slow = memoryStore();
  const opened: TurnStore[] = [];
  const open = (store: TurnStore) => async () => {
    opened.push(store);
    return store;
  };
  const first = await openShared('a folder', open({ ...methods(slow), close: () => mayClose }));
  const closing = first.close();
  const second = openShared('a folder', open(memoryStore()));
  await new Promise((resolve) => setImmediate(resolve));
  expect(opened).toHaveLength(1);
  close();
  await closing;
  expect(await (await second).head('s')).toBeUndefined();
  expect(opened).toHaveLength(2);
  await (await second).close();
});

it("a database that cannot be opened is nobody's, and opens at the next try", async () => {
  const failed = openShared('a folder', () => Promise.reject(new Error('no')));
  await expect(failed).rejects.toThrow('no');
  await (await openShared('a folder', async () => memoryStore())).close();
});

it('both have to say so: a folder opened without it stays with one store', async () => {
  const alone = await openLevelStore({ path });
  await expect(shared()).rejects.toMatchObject(locked);
  await alone.close();
  await (await shared()).close();
  await expect(openLevelStore({ path, shared: 'yes' as never })).rejects.toThrow(/shared must be true or false/);
});

it('a module that runs again makes its engine again, and the turns of the old one are left to it', async () => {
  const run = async (model = scriptedModel(['done'])) => {
    const store = await shared();
    return { store, engine: createTurnEngine({ agent: 'dev', store, model }) };
  };
  const old = await run(scriptedModel([{ hang: true }]));
  const turn = await old.engine.startTurn({ sessionId: 's', input: 'hi', attended: true });
  const reloaded = await run();
  expect((await reloaded.engine.recover()).held).toMatchObject([{ turnId: turn.turnId, gate: 'owner' }]);
  await (await reloaded.engine.startTurn({ sessionId: 'other', input: 'hi', attended: true })).outcome;
  // What a hook of the bundler does with the old module.
  await old.engine.close();
  await old.store.close();
  const { resumed } = await reloaded.engine.recover();
  expect(await resumed[0]?.outcome).toMatchObject({ status: 'completed' });
  await reloaded.engine.close();
  await reloaded.store.close();
});
