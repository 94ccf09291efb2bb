/**
 * Owns the entry point `durable-turn/testing`: what tests of turns, agents and stores need.
 * Must not be imported by a service.
 */
export { type Script, type ScriptedAnswer, scriptedModel } from './scripted-model.js';
export { type SimulatedClock, simulatedClock } from './simulated-clock.js';
export { type TurnStoreSuite, testTurnStore } from './turn-store-suite.js';
