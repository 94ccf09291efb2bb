/**
 * Owns what an answer changes: transcript, journal and snapshot go into one commit, and what may start is dispatched
 * in it (I1). Must not know how calls are run.
 */
import { admitCalls, openDecisions } from '../core/batch.js';
import type { CallRecord } from '../core/records.js';
import type { ReadAnswer } from './answer.js';
import type { ToolWork } from './tool-work.js';
import type { TurnScope } from './turn-scope.js';

/** An answer with nothing in it leaves no message. */
export const becomesMessage = ({ content, fault }: ReadAnswer): boolean => content.length > 0 && fault !== 'empty';

/** Only from within a task. */
export async function acceptAnswer(scope: TurnScope, work: ToolWork, answer: ReadAnswer): Promise<void> {
  const { records } = scope;
  if (becomesMessage(answer)) {
    const message = { role: 'assistant', content: answer.content } as const;
    records.append(message, 'model', { id: answer.messageId, answer: answer.facts });
  }
  records.finalAnswer = answer.answer;
  scope.known.begin(answer.calls);
  for (const { record } of answer.calls) {
    records.journal.add({ ...record, output: null });
    if (record.output !== null) fail(scope, record, record.output);
  }
  const isLast = scope.snapshot.context.stopping !== null;
  if (isLast || answer.fault !== null) closeUnrun(scope, isLast);
  else if (!scope.closing) admitCalls(records.journal, answer.messageId, work.facts());
  const calls = answer.calls.map(({ record }) => {
    const call = records.journal.get(record.callId) as CallRecord;
    // A call that failed before it started has no effect any more.
    return {
      effect: call.state === 'failed' ? ('none' as const) : call.effect,
      needsDecision: openDecisions([call]).length > 0,
    };
  });
  await scope.advance({ type: 'model.answered', calls, fault: answer.fault, goesOn: answer.goesOn });
}

function fail({ records, settings }: TurnScope, call: CallRecord, output: NonNullable<CallRecord['output']>): void {
  records.journal.advance(call.callId, 'call.failed', { output, settledAt: settings.clock.now() });
}

/** Calls of a faulty or a last answer are answered and never run. */
function closeUnrun(scope: TurnScope, isLast: boolean): void {
  const { records, snapshot } = scope;
  const value = isLast ? 'The turn is stopping: this call did not run.' : 'This call did not run.';
  for (const call of records.batch) if (call.state === 'prepared') fail(scope, call, { type: 'error-text', value });
  records.appendResults(snapshot.context.limits.outputBytes);
}
