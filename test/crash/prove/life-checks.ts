// What a process must not be seen to do, by what is on its disk at that moment: asked by its tools, by its provider and at
// each of its events.
import type { Head, ModelRequest, ToolContext, TurnEvent } from '../../../src/index.js';
import { phaseStepIsInChart } from './chart-steps.js';
import type { Outside } from './outside.js';
import type { View } from './view.js';

export interface Watched {
  readonly outside: Outside;
  /** Sessions where somebody has said in this life that they are there. */
  readonly present: ReadonlySet<string>;
  /** What the process found when it started. */
  readonly began: View;
  /** What is on the disk now. */
  readonly view: () => View;
  readonly isDead: () => boolean;
  /** What a dead process does is no fault. */
  readonly complain: (fault: string) => void;
}

export class LifeChecks {
  private readonly outside: Outside;
  private readonly present: ReadonlySet<string>;
  private readonly began: View;
  private readonly view: () => View;
  private readonly isDead: () => boolean;
  private readonly complain: (fault: string) => void;
  private readonly phases = new Map<string, string>();

  constructor({ outside, present, began, view, isDead, complain }: Watched) {
    this.outside = outside;
    this.present = present;
    this.began = began;
    this.view = view;
    this.isDead = isDead;
    this.complain = complain;
  }

  /** A tool is about to have an effect. */
  checkStart(tool: string, call: ToolContext): void {
    if (this.isDead()) return;
    const record = this.view().calls.get(call.callId);
    if (record?.state !== 'dispatched' || record.idempotencyKey !== call.idempotencyKey) {
      this.complain(`I1: ${tool} runs and the disk says ${record?.state ?? 'nothing'} of ${call.callId}`);
    }
    if (record?.effect === 'external') {
      if (this.outside.begun.has(call.idempotencyKey)) this.complain(`I5: ${tool} is run again and nobody was asked`);
      this.outside.begun.add(call.idempotencyKey);
    }
    this.checkForeign(call.sessionId, call.turnId, tool);
    if (call.attended && !this.present.has(call.sessionId)) {
      this.complain(`I6: ${tool} is told that somebody is there`);
    }
  }

  /** I4: something heavy or foreign runs for a turn that this process found: its attempt has to be on the disk. */
  checkForeign(sessionId: string, turnId: string, what: string): void {
    const found = this.began.heads.get(sessionId);
    if (found === undefined || !found.inProgress || found.turnId !== turnId || found.waiting !== null) return;
    const now = this.view().heads.get(sessionId) as Head;
    const counted = found.handedOver ? !now.handedOver : now.recoveries > found.recoveries;
    if (!counted) this.complain(`I4: ${what} runs and the attempt is not on the disk`);
  }

  /** I10: whatever stopped a turn, a provider never sees a call without exactly one result right behind it. */
  checkPairs({ messages }: ModelRequest): void {
    messages.forEach((message, index) => {
      if (message.role !== 'assistant') return;
      const made = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
      const next = messages[index + 1];
      const results =
        next?.role === 'tool'
          ? next.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
          : [];
      if (made.join(' ') !== results.join(' ')) this.complain(`I10: calls ${made} have the results ${results}`);
    });
  }

  /** I9: what is announced as durable is on the disk. I15: phases follow the edges of the chart. */
  event(event: TurnEvent): void {
    if (event.durable && event.type === 'message') {
      const lists = [...this.view().messages.values(), ...this.view().archive.values()];
      const there = lists.some((list) => list.some(({ meta }) => meta.id === event.meta.id));
      if (!there) this.complain(`I9: message ${event.meta.id} is announced and not on the disk`);
    }
    if (event.durable && event.type === 'outcome' && !this.view().outcomes.has(event.turnId)) {
      this.complain(`I9: the outcome of ${event.turnId} is announced and not on the disk`);
    }
    if (event.type === 'phase') this.phase(event.turnId, event.phase);
  }

  checkDelivered(turnId: string, status: string): void {
    const stored = this.view().outcomes.get(turnId)?.status;
    if (stored !== status) this.complain(`I8: the outcome ${status} of ${turnId} is told, the disk says ${stored}`);
  }

  private phase(turnId: string, to: string): void {
    const from = this.phases.get(turnId);
    this.phases.set(turnId, to);
    if (from !== undefined && !phaseStepIsInChart(from, to))
      this.complain(`I15: the chart has no way ${from} -> ${to}`);
  }
}
