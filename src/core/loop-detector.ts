/**
 * Owns the judgement whether a turn goes in circles, from its last calls alone.
 * Must not know the chart: what a verdict leads to is decided there.
 */
import { hash } from 'node:crypto';
import { type Effect, LOOP_WINDOW } from '../../machines/index.js';
import { identityOf } from './journal.js';
import type { CallRecord } from './records.js';

/** A settled call as the detector sees it. Equal texts mean equal things. */
export interface CallTrace {
  readonly toolName: string;
  readonly effect: Effect;
  /** Tool and input. */
  readonly identity: string;
  /** What came of it. */
  readonly outcome: string;
  readonly failed: boolean;
}

export type LoopVerdict =
  | { readonly verdict: 'continue' }
  | { readonly verdict: 'nudge' | 'stop'; readonly reason: string };

/** Given the last settled calls of a turn, oldest first; asked after every batch. */
export type LoopDetector = (calls: readonly CallTrace[]) => LoopVerdict;

/** How often in the window is a reason to nudge, and how often to stop. */
const SAME_CALL = { nudge: 3, stop: 5 };
const PING_PONG = { nudge: 6, stop: 10 };
const FAILING_TOOL = { nudge: 5, stop: 8 };

const traces = new WeakMap<CallRecord, CallTrace>();

/** Records never change, so each is looked at once. */
export function traceOf(call: CallRecord): CallTrace {
  let trace = traces.get(call);
  if (trace === undefined) {
    let outcome: string | undefined;
    trace = {
      toolName: call.toolName,
      effect: call.effect,
      identity: identityOf(call.toolName, call.input),
      // Writes are judged without it, and an output may be long.
      get outcome() {
        outcome ??= hash('sha256', JSON.stringify(call.output), 'base64url');
        return outcome;
      },
      failed: call.state === 'failed',
    };
    traces.set(call, trace);
  }
  return trace;
}

/**
 * Reads are judged by what they gave: asking again is fine while the answer changes. Writes are judged by what they
 * were asked to do.
 */
export const detectLoop: LoopDetector = (calls) => {
  const recent = calls.slice(-LOOP_WINDOW);
  const verdicts = [sameCall(recent), pingPong(recent), failingTool(recent)];
  return (
    verdicts.find((verdict) => verdict.verdict === 'stop') ??
    verdicts.find((verdict) => verdict.verdict === 'nudge') ?? { verdict: 'continue' }
  );
};

const isJudgedByOutcome = ({ effect, failed }: CallTrace): boolean => effect === 'none' && !failed;

/** The outcome is asked for last: to know it costs a hash over an output, and most calls differ before. */
const isSame = (a: CallTrace, b: CallTrace): boolean =>
  a.identity === b.identity &&
  isJudgedByOutcome(a) === isJudgedByOutcome(b) &&
  (!isJudgedByOutcome(a) || a.outcome === b.outcome);

function judge(count: number, bounds: { readonly nudge: number; readonly stop: number }, reason: string): LoopVerdict {
  if (count < bounds.nudge) return { verdict: 'continue' };
  return { verdict: count < bounds.stop ? 'nudge' : 'stop', reason };
}

/** The latest call, made before in the same way. */
function sameCall(calls: readonly CallTrace[]): LoopVerdict {
  const last = calls.at(-1);
  if (last === undefined) return { verdict: 'continue' };
  const same = calls.filter((call) => isSame(call, last)).length;
  const how = last.failed ? 'fails' : last.effect === 'none' ? 'gives the same' : 'is made';
  return judge(same, SAME_CALL, `the same call of "${last.toolName}" ${how} again and again`);
}

/** Two calls in turns, and nothing else. */
function pingPong(calls: readonly CallTrace[]): LoopVerdict {
  const [a, b] = [calls.at(-1), calls.at(-2)];
  if (a === undefined || b === undefined || isSame(a, b)) return { verdict: 'continue' };
  let count = 0;
  while (count < calls.length) {
    if (!isSame(calls.at(-1 - count) as CallTrace, count % 2 === 0 ? a : b)) break;
    count += 1;
  }
  return judge(count, PING_PONG, `"${b.toolName}" and "${a.toolName}" alternate without progress`);
}

/** One tool, failing whatever it is given. */
function failingTool(calls: readonly CallTrace[]): LoopVerdict {
  const last = calls.at(-1);
  if (last === undefined || !last.failed) return { verdict: 'continue' };
  const own = calls.filter((call) => call.toolName === last.toolName);
  const since = own.findLastIndex((call) => !call.failed);
  return judge(own.length - 1 - since, FAILING_TOOL, `"${last.toolName}" fails again and again`);
}
