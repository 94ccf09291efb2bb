/**
 * Owns the entry point `durable-turn/testing`: what tests of turns, agents and stores need.
 * Must not be imported by a service.
 */

export { type CallContext, type CallContextOver, callContext } from './call-context.js';
export { type CrashMatrixOptions, crashMatrix } from './crash-matrix.js';
export type { CrashFailure, CrashReport } from './crash-report.js';
export type { CrashWorld } from './crash-run.js';
export { type Ledger, type LedgerEntry, ledger } from './ledger.js';
export type { AskedAnswer } from './scripted-model.js';
export { type Script, type ScriptedAnswer, scriptedModel } from './scripted-model.js';
export { type SimulatedClock, simulatedClock } from './simulated-clock.js';
export { type TurnStoreSuite, testTurnStore } from './turn-store-suite.js';
