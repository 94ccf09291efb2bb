/**
 * Owns asking the loop detector, the engine's own or the application's, and what its word comes to.
 * Must not know the chart: what a stop or a nudge leads to is decided there.
 */
import { REASON_BYTES } from '../../machines/index.js';
import { messageOf } from '../core/errors.js';
import { isSettled } from '../core/journal.js';
import { cutText } from '../core/json.js';
import { detectLoop, traceOf } from '../core/loop-detector.js';
import type { CallRecord } from '../core/records.js';
import { shown } from '../core/shown.js';
import type { Settings } from './options.js';

const MUST_GIVE = "{ verdict: 'continue' } or { verdict: 'nudge' | 'stop', reason }";

const warn = (did: string): void => process.emitWarning(`loopDetector ${did}`, 'DurableTurnWarning');

/** After a restart, the output of a call that a compaction took out of the list is not known: it proves no circle. */
const isJudged = (call: CallRecord): boolean => isSettled(call) && call.output !== null;

export function loopVerdict(
  { loopDetector = detectLoop }: Settings,
  recent: readonly CallRecord[],
): { readonly stop: string | null; readonly nudge: boolean } {
  if (loopDetector === false) return { stop: null, nudge: false };
  try {
    const given = loopDetector(recent.filter(isJudged).map(traceOf));
    const verdict = given?.verdict;
    if (verdict === 'stop') return { stop: cutText(`loop: ${String(given.reason)}`, REASON_BYTES), nudge: false };
    if (verdict !== 'nudge' && verdict !== 'continue') warn(`gave ${shown(given)}; it must give ${MUST_GIVE}`);
    return { stop: null, nudge: verdict === 'nudge' };
  } catch (thrown) {
    // A judge that fails says nothing about the turn, and must not go unnoticed.
    warn(`threw: ${messageOf(thrown)}`);
    return { stop: null, nudge: false };
  }
}
