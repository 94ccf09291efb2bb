/**
 * Owns asking tools what became of their calls in doubt: who can be asked, when, and who did not know.
 * Must not know the batch or the chart; an answer goes back to whoever asked.
 */
import type { CallRecord } from '../core/records.js';
import type { ToolContext } from '../core/tools.js';
import { pause } from './clock.js';
import { type CallOutcome, reconcileCall } from './tool-calls.js';
import type { TurnScope } from './turn-scope.js';

export class Reconciliation {
  private readonly scope: TurnScope;
  private readonly asking = new Map<string, AbortController>();
  /** Calls whose tool could not say what became of them. */
  private readonly unknown = new Set<string>();

  constructor(scope: TurnScope) {
    this.scope = scope;
  }

  get isUnderWay(): boolean {
    return this.asking.size > 0;
  }

  /** In doubt, and its tool has not said yet that it does not know. */
  isAskable({ callId, state, effect }: CallRecord): boolean {
    if (state !== 'inDoubt' || effect !== 'external' || this.unknown.has(callId)) return false;
    return this.scope.known.get(callId)?.tool?.reconcile !== undefined;
  }

  /** Its outcome is known, from whomever: nobody has to be asked; a new dispatch would be a new question. */
  forget(callId: string): void {
    this.unknown.delete(callId);
    this.asking.get(callId)?.abort();
    this.asking.delete(callId);
  }

  /** Asks once the call can no longer land. `answered` runs in the mailbox, with what the tool said. */
  async ask(
    call: CallRecord,
    context: Omit<ToolContext, 'signal'>,
    signal: AbortSignal,
    answered: (outcome: CallOutcome | undefined) => Promise<void>,
  ): Promise<void> {
    const { known, settings, snapshot, records } = this.scope;
    const { tool, input } = known.get(call.callId) ?? {};
    if (tool === undefined || this.asking.has(call.callId)) return;
    const own = new AbortController();
    this.asking.set(call.callId, own);
    const ended = AbortSignal.any([signal, own.signal]);
    const { clock } = settings;
    const afterMs = tool.reconcileAfterMs ?? 0;
    const landedBy = (call.dispatchedAt ?? clock.now()) + afterMs;
    // A clock that was set back must not make the wait longer than the tool asked for.
    await pause(clock, Math.min(afterMs, landedBy - clock.now()), ended);
    if (ended.aborted) return;
    const timeoutMs = known.timeoutMs(call, snapshot.context.limits.toolMs);
    const outcome = await reconcileCall(tool, call, input, context, { clock, timeoutMs, signal: ended });
    this.scope.enqueue(async () => {
      if (this.asking.get(call.callId) === own) this.asking.delete(call.callId);
      const now = records.journal.get(call.callId);
      // A person or a late result may have been faster.
      if (now?.state !== 'inDoubt' || now.dispatch !== call.dispatch) return;
      if (outcome === undefined) this.unknown.add(call.callId);
      await answered(outcome);
    });
  }
}
