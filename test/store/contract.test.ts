// The behaviour of a store, over what users get: a folder and a memory.
import { rmSync } from 'node:fs';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';
import { describeStore } from './contract.js';
import { temporaryFolder } from './world.js';

describeStore('openLevelStore', () => {
  const path = temporaryFolder();
  return {
    open: () => openLevelStore({ path }),
    dispose: async () => rmSync(path, { recursive: true, force: true }),
  };
});

describeStore('memoryStore', () => ({ open: async () => memoryStore(), dispose: async () => {} }));
