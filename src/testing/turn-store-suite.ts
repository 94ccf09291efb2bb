/**
 * Owns the suite that every `TurnStore` has to pass: it hands its tests to whatever runner there is.
 * Must not know a store, nor a test runner beyond `test(name, run)`.
 */
import { checkFields } from '../core/fields.js';
import type { TurnStore } from '../core/ports.js';
import { randomFrom } from './random.js';
import { COMMITS } from './store-suite/commits.js';
import { HISTORIES } from './store-suite/history.js';
import { MARKERS } from './store-suite/markers.js';
import { OWNERSHIP } from './store-suite/ownership.js';
import { SIZES } from './store-suite/sizes.js';
import type { StoreCase } from './store-suite/store-case.js';
import { VALUES } from './store-suite/values.js';
import { WHOLE_SESSIONS } from './store-suite/whole-sessions.js';

export interface TurnStoreSuite {
  /** `test` of vitest, jest or node:test, or anything else that takes a name and a function. */
  test(name: string, run: () => Promise<void>): unknown;
  /** Opens a new, empty store; called once for each test, which closes it. */
  factory(): Promise<TurnStore>;
  /** Opens what a store has stored, which is closed by then. Without it the tests of opening again are left out. */
  reopen?(closed: TurnStore): Promise<TurnStore>;
  /** Cleans up behind a store that is closed. */
  dispose?(closed: TurnStore): Promise<void>;
  /** What the random tests draw from; each failure tells it. Default `'1'`. */
  seed?: string;
}

const CASES: readonly StoreCase[] = [
  ...COMMITS,
  ...MARKERS,
  ...OWNERSHIP,
  ...VALUES,
  ...SIZES,
  ...WHOLE_SESSIONS,
  ...HISTORIES,
];

const FIELDS: Readonly<Record<keyof TurnStoreSuite, true>> = {
  test: true,
  factory: true,
  reopen: true,
  dispose: true,
  seed: true,
};

/**
 * Registers the tests of the port: atomicity, markers (I2), order, revisions, leases, values, ids, sizes, concurrency,
 * removal, opening again. Each takes some ten milliseconds on a store in memory.
 * @throws {TypeError} `test` or `factory` is missing, a field is no function, or nobody knows it.
 */
export function testTurnStore(suite: TurnStoreSuite): void {
  for (const name of ['test', 'factory'] as const) {
    if (typeof suite?.[name] !== 'function') throw new TypeError(`testTurnStore needs ${name}, a function.`);
  }
  // A misspelt `reopen` would leave out every test of opening again, without a word.
  checkFields(suite, FIELDS);
  for (const name of ['reopen', 'dispose'] as const) {
    if (suite[name] !== undefined && typeof suite[name] !== 'function')
      throw new TypeError(`${name} must be a function.`);
  }
  for (const one of CASES) {
    if (one.reopens === true && suite.reopen === undefined) continue;
    suite.test(`TurnStore: ${one.name}`, () => runCase(one, suite));
  }
}

async function runCase(one: StoreCase, suite: TurnStoreSuite): Promise<void> {
  const seed = suite.seed ?? '1';
  let store = storeOf('factory', await suite.factory());
  const reopen = async (): Promise<TurnStore> => {
    if (suite.reopen === undefined) throw new TypeError('testTurnStore needs reopen for this test.');
    await store.close();
    store = storeOf('reopen', await suite.reopen(store));
    return store;
  };
  try {
    await one.run({ store, reopen, random: randomFrom(`${seed} ${one.name}`) });
  } catch (thrown) {
    throw toldWith(seed, thrown);
  } finally {
    await store.close();
    await suite.dispose?.(store);
  }
}

/** What is no store would fail in the middle of a test, and once more where it is closed. */
function storeOf(name: 'factory' | 'reopen', given: TurnStore): TurnStore {
  if (typeof given?.commit === 'function' && typeof given.close === 'function') return given;
  throw new TypeError(`${name} must give a TurnStore.`);
}

/** The same error, so that the runner shows its place and difference; its message also says how to repeat it. */
function toldWith(seed: string, thrown: unknown): unknown {
  if (thrown instanceof Error) thrown.message = `${thrown.message} (seed ${JSON.stringify(seed)})`;
  return thrown;
}
