// The behaviour of a store, over what users get: a folder and a memory.
import { rmSync } from 'node:fs';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';
import { describeStore, type Place } from './contract.js';
import { describeSessions } from './contract-sessions.js';
import { temporaryFolder } from './world.js';

function folder(): Place {
  const path = temporaryFolder();
  return {
    open: () => openLevelStore({ path }),
    dispose: async () => rmSync(path, { recursive: true, force: true }),
  };
}
const memory = (): Place => ({ open: async () => memoryStore(), dispose: async () => {} });

for (const describeAll of [describeStore, describeSessions]) {
  describeAll('openLevelStore', folder);
  describeAll('memoryStore', memory);
}
