/**
 * Owns what happens between the engine and one tool: the call with its time-out, and asking what became of it.
 * Must not know the journal or the chart; it reports outcomes and the driver decides what they mean.
 */

import { RECORD_BYTES } from '../../machines/index.js';
import { DefinitiveFailure, messageOf, OutcomeUnknown, TurnError } from '../core/errors.js';
import { cutText, isLongerThan, type Json, toJson } from '../core/json.js';
import { isToolOutput } from '../core/message-check.js';
import type { ToolOutput } from '../core/messages.js';
import type { Clock } from '../core/ports.js';
import type { CallRecord, DoubtCause } from '../core/records.js';
import { shown } from '../core/shown.js';
import type { AnyTool, ToolContext } from '../core/tools.js';
import { CutOff } from './cut-off.js';
import { warnOfTool } from './tool-warning.js';

export type CallOutcome =
  | { readonly kind: 'succeeded'; readonly output: ToolOutput }
  | { readonly kind: 'failed'; readonly output: ToolOutput; readonly definitive: boolean }
  | { readonly kind: 'inDoubt'; readonly cause: DoubtCause }
  | { readonly kind: 'notStarted' };

export interface Running {
  /** Aborts the tool's signal; what it still reports is late. */
  abort(reason: unknown): void;
}

/**
 * Runs a call. `report` hears its outcome once, and after a time-out once more when the tool comes back after all:
 * that late result counts only for a call that is still in doubt with the same dispatch.
 */
export function runCall(
  tool: AnyTool,
  call: CallRecord,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  settings: { readonly clock: Clock; readonly timeoutMs: number; report(outcome: CallOutcome): void },
): Running {
  const ending = new CutOff();
  const disarm = settings.clock.after(settings.timeoutMs, () => {
    ending.abort(() => new Error(`the tool ran longer than ${settings.timeoutMs} ms`));
    settings.report(timedOut(call, settings.timeoutMs));
  });
  const execute = async (): Promise<CallOutcome> => {
    try {
      const value = await tool.execute(input, contextWith(context, ending));
      return { kind: 'succeeded', output: outputOf(tool, value, input) };
    } catch (thrown) {
      return failure(call, thrown, ending.isAborted);
    }
  };
  void execute().then((outcome) => {
    disarm();
    settings.report(outcome);
  });
  return {
    abort(reason) {
      disarm();
      ending.abort(() => reason);
    },
  };
}

/** A getter of its own, so that a copy of the context has the signal as well. */
export const contextWith = (context: Omit<ToolContext, 'signal'>, ending: CutOff): ToolContext => ({
  ...context,
  get signal() {
    return ending.signal;
  },
});

/** Asks the tool what became of a call in doubt. What it cannot say in time, or says by throwing, is unknown. */
export async function reconcileCall(
  tool: AnyTool,
  call: CallRecord,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  settings: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<CallOutcome | undefined> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(settings.signal.reason);
  settings.signal.addEventListener('abort', abort, { once: true });
  let disarm = (): void => undefined;
  const late = new Promise<undefined>((resolve) => {
    disarm = settings.clock.after(settings.timeoutMs, () => {
      controller.abort(new Error(`reconcile took longer than ${settings.timeoutMs} ms`));
      resolve(undefined);
    });
  });
  const ask = async (): Promise<CallOutcome | undefined> => {
    const doubt = {
      input,
      idempotencyKey: call.idempotencyKey,
      dispatchedAt: call.dispatchedAt ?? call.preparedAt,
      cause: call.doubt ?? 'crash',
      notes: call.notes,
    } as const;
    const said: unknown = await tool.reconcile?.(doubt, { ...context, signal: controller.signal });
    const settlement = (said ?? {}) as { outcome?: unknown; output?: unknown; error?: unknown };
    switch (settlement.outcome) {
      case 'succeeded':
        return { kind: 'succeeded', output: outputOf(tool, settlement.output, input) };
      case 'failed':
        return { kind: 'failed', output: errorText(messageOf(settlement.error)), definitive: false };
      case 'notStarted':
        return { kind: 'notStarted' };
      case 'unknown':
        return undefined;
      default:
        // Nobody guesses: what is no settlement is the same as not knowing, and a person is asked.
        warnOfTool(call.toolName, 'reconcile', `gave ${shown(said)}`, 'It counts as unknown.');
        return undefined;
    }
  };
  try {
    return await Promise.race([ask(), late]);
  } catch {
    return undefined;
  } finally {
    disarm();
    settings.signal.removeEventListener('abort', abort);
  }
}

/** Bytes of an error that are kept. Prevents: a call whose error is too large for its record, and a turn that ends with it. */
const ERROR_BYTES = 1024 * 1024;

export const errorText = (value: string): ToolOutput => ({ type: 'error-text', value: cutText(value, ERROR_BYTES) });

/** The result as the model reads it. A result that cannot be stored does not undo the success. */
export function outputOf(tool: Pick<AnyTool, 'modelOutput'>, value: unknown, input: unknown): ToolOutput {
  try {
    const json = value === undefined ? null : toJson(value, 'output');
    const stored = asOutput(tool.modelOutput === undefined ? json : toJson(tool.modelOutput(json, input), 'output'));
    return isLongerThan(stored as unknown as Json, RECORD_BYTES / 4) ? tooLarge() : stored;
  } catch (thrown) {
    if (thrown instanceof TurnError && thrown.code === 'TURN_TOO_LARGE') return tooLarge();
    return errorText(`The call succeeded. Its result cannot be stored: ${messageOf(thrown)}`);
  }
}

const tooLarge = (): ToolOutput => errorText('The call succeeded. Its result is too large to be stored.');

/** Anything may come from a tool: data of an API that has a `type` of its own is no output. */
function asOutput(json: Json): ToolOutput {
  if (typeof json === 'string') return { type: 'text', value: json };
  if (isToolOutput(json)) return json;
  return { type: 'json', value: json };
}

/** An error behind an aborted signal says only that the tool stopped waiting: an external call stays in doubt. */
function failure(call: CallRecord, thrown: unknown, aborted: boolean): CallOutcome {
  const message = messageOf(thrown);
  if (isNamed(thrown, DefinitiveFailure)) return { kind: 'failed', output: errorText(message), definitive: true };
  const unknown = aborted || isNamed(thrown, OutcomeUnknown);
  if (unknown && call.effect === 'external') return { kind: 'inDoubt', cause: 'unknown' };
  // In front: a long error is cut at its end, and this is what the model must read of it.
  const text = call.effect === 'none' ? message : `${MAY_HAVE_HAPPENED}\n${message}`;
  return { kind: 'failed', output: errorText(text), definitive: false };
}

const MAY_HAVE_HAPPENED = 'The call failed, but it may have taken effect: check before you repeat it.';

/** By name: two copies of this package may be loaded, one by the tool. What cannot even be asked is neither. */
function isNamed(thrown: unknown, kind: { readonly name: string }): boolean {
  try {
    return thrown instanceof Error && thrown.name === kind.name;
  } catch {
    return false;
  }
}

function timedOut(call: CallRecord, timeoutMs: number): CallOutcome {
  if (call.effect === 'external') return { kind: 'inDoubt', cause: 'timeout' };
  const tail = call.effect === 'none' ? '' : ` ${MAY_HAVE_HAPPENED}`;
  return { kind: 'failed', output: errorText(`The call timed out after ${timeoutMs} ms.${tail}`), definitive: false };
}
