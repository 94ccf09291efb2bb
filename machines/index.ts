/**
 * Owns the entry point `durable-turn/machines`: the three charts and their limits, safe in a browser.
 * Must not know anything but xstate.
 */
export * from './call.machine.js';
export * from './limits.js';
export * from './recovery.machine.js';
export * from './turn.machine.js';
export * from './turn.setup.js';
