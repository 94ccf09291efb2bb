/**
 * Owns the effect `askPerson`, and what a person's decision does to the batch it belongs to.
 * Must not know where decisions come from or how calls run.
 */
import { SETUP_MS } from '../../machines/index.js';
import { allowTwins, type Decision, type DecisionResult, decide, openDecisions } from '../core/batch.js';
import { messageOf } from '../core/errors.js';
import type { Grant } from '../core/records.js';
import { phaseOf } from '../core/step.js';
import { type Validated, validate } from '../core/tools.js';
import { approvalOf } from './announcements.js';
import { inTime } from './in-time.js';
import type { ToolWork } from './tool-work.js';
import type { TurnScope } from './turn-scope.js';

export class PersonWork {
  private readonly scope: TurnScope;
  private readonly calls: ToolWork;
  /** Told already: the effect is level-triggered, the event is not. */
  private readonly asked = new Set<string>();

  constructor(scope: TurnScope, calls: ToolWork) {
    this.scope = scope;
    this.calls = calls;
  }

  /** Effect: where a person has said everything already, while nothing ran, the turn goes on. */
  async look(): Promise<void> {
    this.askPerson();
    if (phaseOf(this.scope.snapshot) === 'awaitingReview') await this.calls.runCalls();
  }

  /** A person is told what they are waited for. Durable already: the edge that leads here is a checkpoint. */
  askPerson(): void {
    const { records } = this.scope;
    const { sessionId } = this.scope.info();
    for (const call of openDecisions(records.batch)) {
      if (!this.isNew(`${call.callId} ${call.approval?.requestedAt}`)) continue;
      this.scope.announce({ type: 'approvalRequested', approval: approvalOf(sessionId, call) }, true);
    }
  }

  private isNew(question: string): boolean {
    if (this.asked.has(question)) return false;
    this.asked.add(question);
    return true;
  }

  /**
   * What a person decided about a call, with an edited input already in the tool's form. A grant covers the other open
   * calls of the same tool as well. Only from within a task.
   */
  async decide(
    callId: string,
    decision: Decision,
    edit: { readonly value: unknown } | undefined,
    grantFor: ((tool: string) => Grant) | undefined,
  ): Promise<DecisionResult> {
    const { records, settings, known } = this.scope;
    const { journal } = records;
    const now = settings.clock.now();
    const result = decide(journal, callId, decision, now);
    if (result !== 'applied') return result;
    if (edit !== undefined) known.edit(callId, edit.value);
    let twins: readonly string[] = [];
    if (grantFor !== undefined) {
      records.grant(grantFor(journal.get(callId)?.toolName as string));
      twins = allowTwins(journal, records.batch, callId, decision, now);
    }
    await this.calls.runCalls();
    const { by } = decision;
    for (const approvalId of twins) this.scope.announce({ type: 'approvalDecided', approvalId, allow: true, by }, true);
    return result;
  }

  /** An edited input in the tool's form. undefined: there is none. Application code: never from within a task. */
  async readEdit(callId: string, { allow, input }: Decision): Promise<Validated | undefined> {
    const call = this.scope.known.get(callId);
    if (!allow || input === undefined || call?.tool === undefined) return undefined;
    const { settings, phaseEnd } = this.scope;
    const bounds = { clock: settings.clock, ms: SETUP_MS, gone: phaseEnd };
    const schema = call.tool.input;
    const valid = await inTime(bounds, 'the check of the edited input', () => validate(schema, input)).catch(
      (thrown: unknown): Validated => ({ ok: false, error: messageOf(thrown) }),
    );
    if (valid.ok) return valid;
    return { ok: false, error: `input is not valid for tool "${call.record.toolName}": ${valid.error}` };
  }
}
