/**
 * Owns what people say about calls that wait for them: which there are, what a decision comes to, who is there.
 * Must not know how calls run.
 */

import { type DecisionResult, decidable } from '../core/batch.js';
import { TurnError } from '../core/errors.js';
import type { Approval } from '../core/events.js';
import { checkFields } from '../core/fields.js';
import { checkId, sessionOfTurn, turnOfCall } from '../core/ids.js';
import { checkJson, type Json } from '../core/json.js';
import type { CallRecord, Grant, Head } from '../core/records.js';
import { shown } from '../core/shown.js';
import { validate } from '../core/tools.js';
import { findTool } from './admission.js';
import { approvalOf } from './announcements.js';
import { checkFilter } from './check-options.js';
import { buildForeign, setupBounds } from './foreign.js';
import { inTime } from './in-time.js';
import { readable } from './readable.js';
import type { Recovery } from './recovery.js';
import { RestingTurn } from './resting-turn.js';
import type { Roster } from './roster.js';
import { turnInfo } from './turn-info.js';

/** What a person says about a call. */
export interface ApprovalDecision {
  readonly allow: boolean;
  /** Who decided. */
  readonly by: string;
  /** The model reads it. */
  readonly reason?: string;
  /** Runs instead of the model's input; the journal keeps both. */
  readonly input?: Json;
  /** No more asking for this tool: in this turn, or in the session. Holds only while somebody is there. */
  readonly grant?: 'turn' | 'session';
}

export class Approvals {
  private readonly roster: Roster;
  private readonly recovery: Recovery;

  constructor(roster: Roster, recovery: Recovery) {
    this.roster = roster;
    this.recovery = recovery;
  }

  /** All that wait for a decision, of running and parked turns alike. */
  async list(filter: { readonly sessionId?: string } = {}): Promise<readonly Approval[]> {
    checkFilter(filter);
    const { store, settings } = this.roster;
    const found: Approval[] = [];
    const sessions =
      filter.sessionId === undefined
        ? (await store.markers(settings.agent)).map(({ sessionId }) => sessionId)
        : [filter.sessionId];
    for (const sessionId of sessions) {
      const calls = await readable(() => this.waitingIn(sessionId));
      for (const call of calls ?? []) found.push(approvalOf(sessionId, call));
    }
    return found;
  }

  /** Durable when it resolves; nothing is run again by it. */
  async decide(id: string, decision: ApprovalDecision): Promise<DecisionResult> {
    checkDecision(decision);
    const turnId = turnOfCall(id);
    const sessionId = turnId === undefined ? undefined : sessionOfTurn(turnId);
    if (turnId === undefined || sessionId === undefined) {
      throw new TypeError(`id ${shown(id)} is no approval id; take it from approvals().`);
    }
    return this.roster.sessions.run(sessionId, () => this.decideIn(sessionId, turnId, id, decision));
  }

  /** Presence from an authenticated request: counts for this process, until it runs out. */
  attend(sessionId: string, by: { readonly person: string; readonly forMs: number }): void {
    checkId(sessionId, 'sessionId');
    if (typeof by?.person !== 'string' || by.person === '')
      throw new TypeError('attend needs { person }: who is there.');
    checkFields(by, { person: true, forMs: true });
    if (!Number.isSafeInteger(by.forMs) || by.forMs < 0)
      throw new TypeError('forMs must be whole ms, 0 to end the presence.');
    this.roster.presence.attend(sessionId, by.forMs);
  }

  private async waitingIn(sessionId: string): Promise<readonly CallRecord[]> {
    const { store, settings } = this.roster;
    const running = this.roster.driverOf(sessionId);
    if (running !== undefined) return running.decisions;
    const head = await store.head(sessionId);
    // What waits in a session of another agent is not this one's to decide.
    const ids = head?.agent === settings.agent ? (head.waiting?.approvals ?? []) : [];
    const calls = await Promise.all(ids.map((id) => store.call(id)));
    return calls.filter((call) => call !== undefined);
  }

  private async decideIn(
    sessionId: string,
    turnId: string,
    id: string,
    decision: ApprovalDecision,
  ): Promise<DecisionResult> {
    const { roster } = this;
    const grantFor = grantOf(turnId, decision);
    const running = roster.driverOf(sessionId);
    const direct = running?.turnId === turnId ? await running.decide(id, decision, grantFor) : undefined;
    if (direct !== undefined) return this.told(direct, sessionId, turnId, id, decision);
    const call = await roster.store.call(id);
    if (call === undefined) throw new TurnError('TURN_NOT_FOUND', `there is no call "${id}" to decide about`);
    const head = await roster.head(sessionId);
    const result = decidable(call, roster.settings.clock.now());
    if (result !== 'applied') return result;
    if (head?.turnId !== turnId || !head.inProgress) return 'alreadyDecided';
    if (decision.allow && decision.input !== undefined) await this.checkEdit(head, call, decision.input);
    const resting = await RestingTurn.of(roster, head);
    const said = await oneWins(() => resting.decide(id, decision, grantFor));
    this.told(said, sessionId, turnId, id, decision);
    this.recovery.goOnLater(resting.head, false);
    return said;
  }

  /** @throws {TypeError} when the tool does not take the edited input. */
  private async checkEdit(head: Head, { toolName }: CallRecord, input: Json): Promise<void> {
    const { settings } = this.roster;
    const moment = { attended: false, recovered: false, attempt: head.attempts };
    const turn = turnInfo(settings, head, moment);
    const { tools } = await inTime(setupBounds(this.roster), 'dependencies and tools', ({ signal }) =>
      buildForeign(settings, turn, signal),
    );
    const tool = findTool(tools, toolName);
    const valid = tool === undefined ? undefined : await validate(tool.input, input);
    if (valid?.ok === false) throw new TypeError(`input is not valid for tool "${toolName}": ${valid.error}`);
  }

  private told(
    result: DecisionResult | { readonly invalid: string },
    sessionId: string,
    turnId: string,
    approvalId: string,
    { allow, by }: ApprovalDecision,
  ): DecisionResult {
    if (typeof result === 'object') throw new TypeError(result.invalid);
    if (result === 'applied') {
      this.roster.announcer.announce({ type: 'approvalDecided', approvalId, allow, by }, { sessionId, turnId }, true);
    }
    return result;
  }
}

/** Somebody else of another process was faster: their word stands. */
async function oneWins(decide: () => Promise<DecisionResult>): Promise<DecisionResult> {
  try {
    return await decide();
  } catch (thrown) {
    if (thrown instanceof TurnError && thrown.code === 'TURN_CONFLICT') return 'alreadyDecided';
    throw thrown;
  }
}

function grantOf(turnId: string, { allow, by, grant }: ApprovalDecision): ((tool: string) => Grant) | undefined {
  if (!allow || grant === undefined) return undefined;
  return (tool) => ({ tool, by, turnId: grant === 'turn' ? turnId : null });
}

const DECISION: Readonly<Record<keyof ApprovalDecision, true>> = {
  allow: true,
  by: true,
  reason: true,
  input: true,
  grant: true,
};

/** @throws {TypeError} names the field. */
function checkDecision(decision: ApprovalDecision): void {
  if (typeof decision?.allow !== 'boolean') throw new TypeError('allow must be true or false.');
  checkFields(decision, DECISION);
  if (typeof decision.by !== 'string' || decision.by === '') throw new TypeError('by must say who decided.');
  checkJson(decision.by, 'by');
  if (decision.reason !== undefined && typeof decision.reason !== 'string')
    throw new TypeError('reason must be a text.');
  if (decision.reason !== undefined) checkJson(decision.reason, 'reason');
  if (decision.input !== undefined) checkJson(decision.input, 'input');
  if (decision.grant !== undefined && !['turn', 'session'].includes(decision.grant)) {
    throw new TypeError("grant must be 'turn' or 'session'.");
  }
}
