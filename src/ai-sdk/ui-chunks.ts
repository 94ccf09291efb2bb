/**
 * Owns what a person sees of one turn, as chunks of the AI SDK's UI message stream: what was told already, and what a
 * new event or a new view adds to it. Must not know bytes or connections. Options of providers (signatures, redacted
 * thinking) stay here: a browser has no use for them.
 */
import type { Approval, FollowEvent, TurnOutcome } from '../core/events.js';
import type { AssistantPart, StoredMessage, ToolOutput } from '../core/messages.js';
import type { ModelDelta } from '../core/model.js';
import { NOTES } from './specification.js';
import { CallIds, type Input, idAt, inputOf } from './ui-calls.js';
import {
  type Chunk,
  decisionChunk,
  endChunk,
  fileChunks,
  missingTurn,
  outputChunk,
  sourceChunks,
  type Told,
} from './ui-parts.js';
import { BEGINNING, further, nothingOf, type PartTold, type Place, toldOf } from './ui-place.js';
import { isEnough, isIdle, messagesOf, type View } from './ui-view.js';

type Kind = 'text' | 'reasoning';
const isKind = (type: string): type is Kind => type === 'text' || type === 'reasoning';

export class UIChunks {
  /** Which turn it is, and what the client has of it. */
  place: Place;
  /** The turn is over for the client: nothing more comes. */
  ended = false;
  /** The client has something of the turn, so there has been one. */
  private readonly returns: boolean;
  private begun = false;
  private stepOpen = false;
  private readonly entered = new Set<string>();
  /** The answer whose step is open. */
  private step = '';
  private block: { readonly kind: Kind; readonly messageId: string; readonly id: string } | undefined;
  private blocks = 0;
  /** Inputs of calls that are told piece by piece, by the client's id of the call. */
  private readonly inputs = new Map<string, Input>();
  private readonly available = new Set<string>();
  private readonly calls = new CallIds();
  private told: Told[] = [];

  /** `after`: where the client is. It names its turn, which may have ended meanwhile; of another turn it has nothing. */
  constructor(turnId: string | undefined, after: Place) {
    this.returns = after.turnId !== '' && (turnId ?? after.turnId) === after.turnId;
    this.place = this.returns ? after : { ...BEGINNING, turnId: turnId ?? '' };
    for (const { messageId, calls } of this.place.partials) {
      for (const id of calls) this.available.add(`${messageId}:${id}`);
    }
  }

  /** A part of what the client lacks may be in the archive. */
  needsArchive(event: FollowEvent): boolean {
    return event.type === 'snapshot' && !isEnough(event, this.place);
  }

  /** What the event adds; often nothing. `archived`: what compactions took out of the list of a view. */
  take(event: FollowEvent, archived: readonly StoredMessage[]): readonly Told[] {
    this.told = [];
    if (event.type === 'snapshot') this.takeView(event, archived);
    else {
      this.settleOn(event.turnId);
      if (event.turnId === this.place.turnId) this.takeEvent(event);
    }
    this.mark();
    return this.told;
  }

  /** With the last chunk a part is whole: whoever is cut off behind it, even within a long view, has that part. */
  private mark(): void {
    const last = this.told.pop();
    if (last !== undefined) this.told.push({ ...last, place: this.place });
  }

  private takeEvent(event: FollowEvent): void {
    switch (event.type) {
      case 'delta':
        this.say(event.messageId, event.delta);
        break;
      case 'message':
        this.takeMessage(event);
        break;
      case 'deltasDiscarded':
        this.discard(({ messageId }) => event.messageId === null || event.messageId === messageId);
        break;
      case 'approvalRequested':
        this.ask(event.approval);
        break;
      case 'approvalDecided':
        this.add(decisionChunk(event.approvalId, event.allow, event.by));
        break;
      case 'progress': {
        const data = { toolCallId: this.calls.at(event.callId), value: event.value };
        this.add({ type: 'data-progress', data, transient: true });
        break;
      }
      case 'outcome':
        this.end(event.outcome);
        break;
    }
  }

  /** Everything of the turn that the client has not been told. */
  private takeView(view: View, archived: readonly StoredMessage[]): void {
    if (isIdle(this.place, view)) {
      this.ended = true;
      return;
    }
    this.settleOn(view.turnId);
    const { turnId } = this.place;
    const { told, untold } = messagesOf(view, archived, this.place);
    for (const stored of told) this.calls.learn(stored);
    for (const stored of untold) this.takeMessage(stored);
    const isCurrent = view.turnId === turnId;
    const partial = isCurrent ? view.partial : [];
    // The client may hold pieces of an answer that will never be one.
    this.discard(({ messageId }) => !partial.some((piece) => piece.messageId === messageId));
    const left = new Map(this.place.partials.map((one) => [one.messageId, { ...one }]));
    for (const { messageId, delta } of partial) {
      this.sayRest(messageId, delta, left.get(messageId));
      this.mark();
    }
    if (isCurrent) {
      for (const approval of view.approvals) this.ask(approval);
      if (view.outcome !== null) this.end(view.outcome);
    } else if (told.length + untold.length > 0 || this.begun || this.returns) this.end(undefined);
    else if (turnId !== view.nextTurnId) {
      this.told.push({ chunk: missingTurn(turnId), place: this.place });
      this.ended = true;
    }
  }

  /** Whoever named no turn gets the one that is there first. */
  private settleOn(turnId: string): void {
    if (this.place.turnId === '') this.place = { ...this.place, turnId };
  }

  private add(chunk: Chunk): void {
    if (!this.begun) {
      this.begun = true;
      this.told.push({ chunk: { type: 'start', messageId: this.place.turnId }, place: this.place });
    }
    this.told.push({ chunk, place: this.place });
  }

  /** A step for every answer; within one that the client has a part of, no second one begins. */
  private enter(messageId: string): void {
    if (this.step === messageId) return;
    this.leaveStep();
    this.step = messageId;
    this.stepOpen = true;
    this.entered.add(messageId);
    if (this.place.partials.some((told) => told.messageId === messageId)) return;
    this.add({ type: 'start-step' });
    this.place = { ...this.place, partials: [...this.place.partials, nothingOf(messageId)] };
  }

  private leaveStep(): void {
    this.closeBlock();
    // An answer that is not on disk yet is whole all the same when the next one begins.
    for (const input of this.inputs.values()) this.tellInput(input, inputOf(input.text));
    if (this.stepOpen) this.add({ type: 'finish-step' });
    this.stepOpen = false;
  }

  private closeBlock(): void {
    if (this.block !== undefined) this.add({ type: `${this.block.kind}-end`, id: this.block.id });
    this.block = undefined;
  }

  /** The joined pieces of one part, without what the client has of them; `left` counts down what it has. */
  private sayRest(messageId: string, delta: ModelDelta, left: { [kind in Kind]: number } | undefined): void {
    const { text } = delta;
    if (delta.type === 'tool-input') {
      const toolCallId = idAt({ messageId, ...delta });
      if (this.available.has(toolCallId)) return;
      this.say(messageId, { ...delta, text: text.slice(this.inputs.get(toolCallId)?.text.length ?? 0) });
      return;
    }
    const skipped = Math.min(left?.[delta.type] ?? 0, text.length);
    if (left !== undefined) left[delta.type] -= skipped;
    this.say(messageId, { ...delta, text: text.slice(skipped) });
  }

  private say(messageId: string, delta: ModelDelta): void {
    this.enter(messageId);
    if (delta.type !== 'tool-input') {
      this.speak(messageId, delta.type, delta.text);
      return;
    }
    const { toolName, text } = delta;
    const known = this.inputs.get(idAt({ messageId, ...delta }));
    if (text === '') return;
    const input = { messageId, toolCallId: delta.toolCallId, toolName, text: (known?.text ?? '') + text };
    const toolCallId = idAt(input);
    this.closeBlock();
    if (known === undefined) this.add({ type: 'tool-input-start', toolCallId, toolName });
    this.inputs.set(toolCallId, input);
    this.add({ type: 'tool-input-delta', toolCallId, inputTextDelta: text });
  }

  /** Once: a second time it would be another part to the client. */
  private tellInput(call: Omit<Input, 'text'>, input: unknown, more: object = {}): void {
    const toolCallId = idAt(call);
    this.inputs.delete(toolCallId);
    if (this.available.has(toolCallId)) return;
    this.available.add(toolCallId);
    this.place = further(this.place, call.messageId, ({ calls }) => ({ calls: [...calls, call.toolCallId] }));
    this.add({ type: 'tool-input-available', toolCallId, toolName: call.toolName, input, ...more });
  }

  private speak(messageId: string, kind: Kind, text: string): void {
    if (text === '') return;
    if (this.block?.kind !== kind || this.block.messageId !== messageId) {
      this.closeBlock();
      this.block = { kind, messageId, id: `${messageId}:${this.blocks++}` };
      // So that a client can take back what is discarded later.
      this.add({ type: `${kind}-start`, id: this.block.id, providerMetadata: { [NOTES]: { messageId } } });
    }
    this.add({ type: `${kind}-delta`, id: this.block.id, delta: text });
    this.place = further(this.place, messageId, (told) => ({ [kind]: told[kind] + text.length }));
  }

  private takeMessage(stored: Pick<StoredMessage, 'message' | 'meta'>): void {
    const { message, meta } = stored;
    if (message.role === 'assistant') {
      const told = { ...toldOf(this.place, meta.id) };
      // Where the next answer is on its way already, this one was told in its time, but for the results of its calls.
      const isPast = this.step !== meta.id && this.entered.has(meta.id);
      if (!isPast) this.enter(meta.id);
      this.calls.learn(stored);
      for (const part of message.content) {
        this.takePart(part, meta.id, told);
        this.mark();
      }
      if (!isPast) this.closeBlock();
      for (const chunk of sourceChunks(meta)) this.add(chunk);
    } else if (message.role === 'tool') {
      for (const part of message.content)
        if (part.type === 'tool-result') this.takeOutput(part.toolCallId, part.output);
    } else return;
    const { place } = this;
    this.place = { ...place, last: meta.id, partials: place.partials.filter(({ messageId }) => messageId !== meta.id) };
    this.mark();
  }

  /** `told`: how much of the texts that follow the client has. */
  private takePart(part: AssistantPart, messageId: string, told: { [kind in Kind]: number }): void {
    if (isKind(part.type)) {
      const { text } = part as { text: string };
      const skipped = Math.min(told[part.type], text.length);
      told[part.type] -= skipped;
      this.speak(messageId, part.type, text.slice(skipped));
      return;
    }
    if (part.type === 'tool-call') {
      const { toolCallId, toolName, input, providerExecuted } = part;
      const ran = providerExecuted === true ? { providerExecuted } : {};
      this.tellInput({ messageId, toolCallId, toolName }, input, ran);
    } else if (part.type === 'tool-result') this.takeOutput(part.toolCallId, part.output);
    else if (part.type === 'file') for (const chunk of fileChunks(part)) this.add(chunk);
  }

  private takeOutput(toolCallId: string, output: ToolOutput): void {
    const id = this.calls.of(toolCallId);
    if (id !== undefined) this.add(outputChunk(id, output));
  }

  private ask({ id, callId, toolName, input, expiresAt }: Approval): void {
    const data = { approvalId: id, toolCallId: this.calls.at(callId), toolName, input, expiresAt };
    this.add({ type: 'data-approval', id, data });
  }

  /** The protocol takes nothing back, so the client is told which texts count for nothing. */
  private discard(which: (told: PartTold) => boolean): void {
    for (const told of this.place.partials.filter(which)) {
      const { messageId } = told;
      if (this.block?.messageId === messageId) this.closeBlock();
      for (const [id, input] of this.inputs) if (input.messageId === messageId) this.inputs.delete(id);
      this.add({ type: 'data-discarded', id: messageId, data: { messageId } });
    }
    this.place = { ...this.place, partials: this.place.partials.filter((told) => !which(told)) };
  }

  private end(outcome: TurnOutcome | undefined): void {
    this.discard(() => true);
    this.leaveStep();
    this.add(endChunk(outcome));
    this.ended = true;
  }
}
