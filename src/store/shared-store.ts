/**
 * Owns databases that one process opens more than once: who opens a folder again gets the open database, and the last
 * one to close closes it. For hot reload in development, where a module runs again and what it opened before is still
 * open. Must not know what a store does.
 */
import type { TurnStore } from '../core/ports.js';
import { closedError } from './database.js';

interface Shared {
  readonly store: Promise<TurnStore>;
  users: number;
  /** Set when the last user has closed it. */
  closing: Promise<void> | undefined;
}

/** Shared by all copies of this module in the process: a reload may bring along another one. */
const SHARED_STORES = Symbol.for('durable-turn.sharedStores');

function sharedStores(): Map<string, Shared> {
  const scope = globalThis as { [SHARED_STORES]?: Map<string, Shared> };
  scope[SHARED_STORES] ??= new Map();
  return scope[SHARED_STORES];
}

/** `folder` is a real path; `open` opens its database, and is called where nobody shares it yet. */
export async function openShared(folder: string, open: () => Promise<TurnStore>): Promise<TurnStore> {
  const stores = sharedStores();
  for (let known = stores.get(folder); known?.closing !== undefined; known = stores.get(folder)) await known.closing;
  const shared: Shared = stores.get(folder) ?? { store: open(), users: 0, closing: undefined };
  stores.set(folder, shared);
  shared.users += 1;
  const leave = async (): Promise<void> => {
    shared.users -= 1;
    if (shared.users > 0) return;
    const closed = shared.store.then((store) => store.close());
    shared.closing = closed.catch(() => undefined).finally(() => stores.delete(folder));
    await closed;
  };
  try {
    return viewOf(await shared.store, leave);
  } catch (error) {
    await leave().catch(() => undefined);
    throw error;
  }
}

/** The store as one of its users has it: closed for that user alone. */
function viewOf(store: TurnStore, leave: () => Promise<void>): TurnStore {
  let left: Promise<void> | undefined;
  return new Proxy(store, {
    get(target, name) {
      if (name === 'close') {
        return () => {
          left ??= leave();
          return left;
        };
      }
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (left === undefined) return value.apply(target, given);
        if (name === 'sessions') throw closedError();
        return Promise.reject(closedError());
      };
    },
  });
}
