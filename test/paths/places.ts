// Where the paths are gone: every store has the same to say about them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { TurnStore } from '../../src/index.js';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';

export const PLACES = ['in memory', 'on a real database'] as const;
export type Place = (typeof PLACES)[number];

/** A folder that is gone with the test. */
export function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paths-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** An empty store; one in a folder is closed with the test. */
export async function storeIn(place: Place): Promise<TurnStore> {
  if (place === 'in memory') return memoryStore();
  const store = await openLevelStore({ path: folderOfTest() });
  onTestFinished(() => store.close());
  return store;
}
