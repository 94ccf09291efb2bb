/**
 * Owns what a tool is given when a test calls it without an engine.
 * Must not know when engines call tools.
 */
import { checkFields } from '../core/fields.js';
import type { Json } from '../core/json.js';
import type { ToolContext } from '../core/tools.js';

export interface CallContextOver {
  readonly attended?: boolean;
  readonly recovered?: boolean;
  readonly idempotencyKey?: string;
  readonly callId?: string;
  readonly turnId?: string;
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
}

/** The second argument of `execute` and `reconcile`, with what a tool noted and told. */
export interface CallContext<D> extends ToolContext<D> {
  readonly notes: readonly Json[];
  readonly told: readonly Json[];
}

const OVER: Readonly<Record<keyof CallContextOver, true>> = {
  attended: true,
  recovered: true,
  idempotencyKey: true,
  callId: true,
  turnId: true,
  sessionId: true,
  signal: true,
};

/**
 * Nobody is there and nothing was interrupted, unless `over` says so.
 * @throws {TypeError} names the field of `over` that nobody knows.
 */
export function callContext<D>(deps: D, over: CallContextOver = {}): CallContext<D> {
  checkFields(over, OVER, (name) => `over.${name}`);
  const notes: Json[] = [];
  const told: Json[] = [];
  return {
    signal: new AbortController().signal,
    idempotencyKey: 'key',
    attended: false,
    recovered: false,
    callId: 'session.turn.00000.0000',
    turnId: 'session.turn',
    sessionId: 'session',
    ...over,
    deps,
    notes,
    told,
    // Copies, as an engine stores them: what the tool changes later was not noted.
    note: async (value) => void notes.push(structuredClone(value)),
    progress: (value) => void told.push(structuredClone(value)),
  };
}
