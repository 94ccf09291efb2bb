// Breaks of the code that the suite has to notice: where, what is put in the place of what, and which tests see it.
import { CORE } from './core.mjs';
import { ENGINE } from './engine.mjs';
import { MACHINES } from './machines.mjs';
import { STORE } from './store.mjs';
import { TESTING } from './testing.mjs';

export const MUTATIONS = [...MACHINES, ...CORE, ...STORE, ...ENGINE, ...TESTING];
