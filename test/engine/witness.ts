// Looks at the store after every commit of every test, and at what the engine does: the invariants that hold always
// need no test of their own. What it finds fails the test at its end.
import type { Commit, TurnStore } from '../../src/core/ports.js';
import type { InboxRecord } from '../../src/core/records.js';
import type { ModelRequest, TurnEvent } from '../../src/index.js';

export class Witness {
  readonly violations: string[] = [];
  private readonly store: TurnStore;
  /** How turns ended, as the head said it. */
  private readonly ends = new Map<string, string>();
  /** Input that was on disk once. */
  private readonly inputs = new Map<string, Set<string>>();
  /** Input of turns that were cancelled before they began: session and message id. */
  readonly unbegun = new Set<string>();
  private readonly messages = new Set<string>();
  private readonly ended = new Set<string>();

  constructor(store: TurnStore) {
    this.store = store;
  }

  /** Called for each commit that was applied, before anybody hears that it was. */
  async afterCommit({ head, transcript, outcomes, inbox }: Commit): Promise<void> {
    const session = await this.store.load(head.sessionId);
    if (session?.head.revision !== head.revision) return;
    const marked = (await this.store.markers(head.agent)).some((marker) => marker.sessionId === head.sessionId);
    if (marked !== (head.inProgress || head.outcomesDue.length > 0)) {
      this.found(`I2: revision ${head.revision} of ${head.sessionId} ${marked ? 'has a' : 'lacks its'} marker`);
    }
    for (const { meta } of transcript?.messages ?? []) {
      this.messages.add(meta.id);
      if (meta.origin === 'input' && (await this.store.seen(head.sessionId, meta.id)) === undefined) {
        this.found(`I11: input ${meta.id} joined and left no trace for its duplicates`);
      }
    }
    if (session.messages.length !== head.count)
      this.found(`I3: ${session.messages.length} messages, not ${head.count}`);
    for (const { turnId } of outcomes ?? []) {
      this.ended.add(turnId);
      if (turnId !== head.turnId) this.takeWith(head.sessionId, inbox?.remove ?? []);
    }
    this.checkEnds(head.turnId ?? '', head.inProgress, head.ended?.kind);
    this.checkInputs(
      head.sessionId,
      session.messages.filter(({ meta }) => meta.origin === 'input').map(({ meta }) => meta.id),
      session.inbox.map((input) => input.messageId),
    );
    if (head.waitingInput !== session.inbox.length && !head.inProgress) {
      this.found(`I11: the head counts ${head.waitingInput} waiting messages, there are ${session.inbox.length}`);
    }
  }

  /** A turn that ends before it began takes its input with it. */
  private takeWith(sessionId: string, inputs: readonly InboxRecord[]): void {
    for (const { messageId } of inputs) {
      this.inputs.get(sessionId)?.delete(messageId);
      this.unbegun.add(`${sessionId} ${messageId}`);
    }
  }

  private checkEnds(turnId: string, inProgress: boolean, kind: string | undefined): void {
    const before = this.ends.get(turnId);
    if (inProgress && before !== undefined && before !== 'abandoned') {
      this.found(`I8: turn ${turnId} was ${before} and is in progress again`);
    }
    if (inProgress) this.ends.delete(turnId);
    else if (kind !== undefined) {
      this.ends.set(turnId, kind);
      this.ended.add(turnId);
    }
  }

  private checkInputs(sessionId: string, joined: readonly string[], waiting: readonly string[]): void {
    const all = [...joined, ...waiting];
    if (new Set(all).size !== all.length) this.found(`I11: an input is there twice: ${all.join(' ')}`);
    const known = this.inputs.get(sessionId) ?? new Set();
    for (const id of known) if (!all.includes(id)) this.found(`I11: input ${id} is gone`);
    for (const id of all) known.add(id);
    this.inputs.set(sessionId, known);
  }

  /** I1: called by every tool that may have an effect, at the very beginning of its work. */
  async toolStarts(tool: string, callId: string): Promise<void> {
    const call = await this.store.call(callId);
    if (call?.state !== 'dispatched') {
      this.found(`I1: ${tool} runs and the store says ${call?.state ?? 'nothing'} of ${callId}`);
    }
  }

  /** I10: whatever stopped a turn, a provider never sees a call without exactly one result right behind it. */
  request({ messages }: ModelRequest): void {
    messages.forEach((message, index) => {
      if (message.role !== 'assistant') return;
      const calls = message.content.flatMap((part) =>
        part.type === 'tool-call' && part.providerExecuted !== true ? [part.toolCallId] : [],
      );
      const next = messages[index + 1];
      const results =
        next?.role === 'tool'
          ? next.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
          : [];
      if (calls.join(' ') !== results.join(' ')) {
        this.found(`I10: calls ${calls.join(' ')} have the results ${results.join(' ')}`);
      }
    });
  }

  /** I9: what is announced as durable is on disk. */
  event(event: TurnEvent): void {
    if (!event.durable) return;
    if (event.type === 'message' && !this.messages.has(event.meta.id)) {
      this.found(`I9: message ${event.meta.id} is announced and not on disk`);
    }
    if (event.type === 'outcome' && !this.ended.has(event.turnId)) {
      this.found(`I9: the outcome of ${event.turnId} is announced and not on disk`);
    }
  }

  found(violation: string): void {
    this.violations.push(violation);
  }
}
