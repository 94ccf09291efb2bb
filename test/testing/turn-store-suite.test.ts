// The suite of stores over what users get, a folder and a memory; and that it notices what a broken store does.
import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { TurnStore } from '../../src/core/ports.js';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';
import { testTurnStore } from '../../src/testing/index.js';
import { temporaryFolder } from '../store/world.js';
import { BROKEN_STORES } from './broken-stores.js';

describe('openLevelStore', () => {
  const folders = new WeakMap<TurnStore, string>();
  const openIn = async (path: string): Promise<TurnStore> => {
    const store = await openLevelStore({ path });
    folders.set(store, path);
    return store;
  };
  const folderOf = (store: TurnStore) => folders.get(store) as string;
  testTurnStore({
    test: it,
    factory: () => openIn(temporaryFolder()),
    reopen: (store) => openIn(folderOf(store)),
    dispose: async (store) => rmSync(folderOf(store), { recursive: true, force: true }),
  });
});

describe('memoryStore', () => {
  testTurnStore({ test: it, factory: async () => memoryStore() });
});

describe('a broken store', () => {
  /** What the test of this name says of a store; undefined where it passes. */
  async function verdict(named: string, make: () => TurnStore): Promise<string | undefined> {
    const tests = new Map<string, () => Promise<void>>();
    testTurnStore({ test: (name, run) => tests.set(name, run), factory: async () => make() });
    const run = tests.get(`TurnStore: ${named}`);
    if (run === undefined) throw new Error(`the suite has no test "${named}"`);
    return run().then(
      () => undefined,
      (thrown: unknown) => String(thrown),
    );
  }

  for (const { fault, make, noticedBy } of BROKEN_STORES) {
    it(`that ${fault} is noticed by "${noticedBy}", which says how to repeat it`, async () => {
      expect(await verdict(noticedBy, make)).toContain('(seed "1")');
    });
  }
});

it('says which function it lacks', () => {
  expect(() => testTurnStore({ test: it } as never)).toThrow('testTurnStore needs factory');
  expect(() => testTurnStore(undefined as never)).toThrow(TypeError);
});

it('refuses a field nobody knows, behind which tests would be left out', () => {
  const suite = { test: () => undefined, factory: async () => memoryStore() };
  expect(() => testTurnStore({ ...suite, reopens: suite.factory } as never)).toThrow(
    'reopens is unknown; there are test,',
  );
  expect(() => testTurnStore({ ...suite, reopen: true } as never)).toThrow('reopen must be a function.');
});

it('says that what should open a store gave none', async () => {
  const first = async (suite: object): Promise<unknown> => {
    const runs: (() => Promise<void>)[] = [];
    testTurnStore({
      test: (_name: string, run: () => Promise<void>) => runs.push(run),
      factory: async () => memoryStore(),
      ...suite,
    } as never);
    return Promise.allSettled(runs.map((run) => run()));
  };
  expect(await first({ factory: async () => undefined })).toContainEqual({
    status: 'rejected',
    reason: new TypeError('factory must give a TurnStore.'),
  });
  expect(await first({ reopen: async () => ({}) })).toContainEqual({
    status: 'rejected',
    reason: new TypeError('reopen must give a TurnStore. (seed "1")'),
  });
});
