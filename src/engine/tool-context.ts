/**
 * Owns what a tool is given beside its input. Must not know when tools run.
 */

import { NOTE_CHARS } from '../../machines/index.js';
import { messageOf, TurnError } from '../core/errors.js';
import { type Json, toJson } from '../core/json.js';
import type { CallRecord } from '../core/records.js';
import type { ToolContext } from '../core/tools.js';
import type { TurnInfo } from './options.js';
import type { TurnScope } from './turn-scope.js';

export function toolContext(
  scope: TurnScope,
  deps: unknown,
  call: Pick<CallRecord, 'callId' | 'idempotencyKey'>,
): Omit<ToolContext, 'signal'> {
  const { attended, recovered, turnId, sessionId } = scope.info();
  const { callId, idempotencyKey } = call;
  return {
    idempotencyKey,
    attended,
    recovered,
    callId,
    turnId,
    sessionId,
    deps,
    note: (value) => {
      const noted = (async () => note(scope, callId, toJson(value, 'note')))();
      // A tool that does not wait for its note has not asked to hear that it was refused.
      noted.catch(() => undefined);
      return noted;
    },
    progress: (value) => tellProgress(scope, callId, value),
  };
}

/** Never stored, so what cannot be told must not make the call fail. */
function tellProgress(scope: TurnScope, callId: string, value: unknown): void {
  try {
    scope.announce({ type: 'progress', callId, value: toJson(value, 'progress') }, false);
  } catch (thrown) {
    process.emitWarning(`progress of ${callId}: ${messageOf(thrown)}`, 'DurableTurnWarning');
  }
}

/** For approval functions before a turn is resumed: they decide, they do not act. */
export function askingContext(
  { attended, recovered, turnId, sessionId }: TurnInfo,
  deps: unknown,
  { callId, idempotencyKey }: Pick<CallRecord, 'callId' | 'idempotencyKey'>,
): ToolContext {
  return {
    signal: new AbortController().signal,
    idempotencyKey,
    attended,
    recovered,
    callId,
    turnId,
    sessionId,
    deps,
    note: () => Promise.reject(new TypeError('note() is for execute and reconcile.')),
    progress: () => undefined,
  };
}

/** Durable when it resolves: what a tool writes down before its effect is there for `reconcile`. */
function note(scope: TurnScope, callId: string, value: Json): Promise<void> {
  if (JSON.stringify(value).length > NOTE_CHARS) {
    throw new TurnError(
      'TURN_TOO_LARGE',
      `a note has at most ${NOTE_CHARS} characters of JSON; note a reference instead`,
    );
  }
  return new Promise((resolve, reject) => {
    scope.enqueue(
      async () => {
        const call = scope.records.journal.get(callId);
        if (call !== undefined) scope.records.journal.amend(callId, { notes: [...call.notes, value] });
        await scope.writeFacts().catch((thrown: unknown) => {
          reject(thrown);
          throw thrown;
        });
        resolve();
      },
      () => reject(new TurnError('TURN_ENGINE_CLOSING', 'the turn is over or handed over: the note was not stored')),
    );
  });
}
