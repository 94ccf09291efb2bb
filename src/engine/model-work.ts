/**
 * Owns the effects that wait for something other than tools: building what the turn needs, and calling the model.
 * Must not know how calls are run; an answer's calls are handed on as records.
 */
import type { TurnEvent as ChartEvent } from '../../machines/index.js';
import { messageOf } from '../core/errors.js';
import { NO_USAGE } from '../core/messages.js';
import type { ModelAnswer, ModelDelta } from '../core/model.js';
import { faultOfDelta } from '../core/model-check.js';
import { acceptAnswer, becomesMessage } from './accept-answer.js';
import { type ReadAnswer, readAnswer } from './answer.js';
import { buildForeign } from './foreign.js';
import { inTime } from './in-time.js';
import { callModel, failureOf, limitReached, type ModelResult } from './model-call.js';
import type { ToolWork } from './tool-work.js';
import type { Foreign, TurnScope } from './turn-scope.js';

/** Content may re-arm the watchdog this often: a step of the chart for every token would cost more than it tells. */
const PROGRESS_MS = 1_000;

export class ModelWork {
  private readonly scope: TurnScope;
  private readonly calls: ToolWork;
  private foreign: Foreign | undefined;
  /** The turn was interrupted, and the model has not answered since. */
  private interrupted: boolean;
  /** The answer that is on its way: the message it becomes, and what of it was told. */
  private partial: { readonly messageId: string; text: string; told: boolean } | undefined;

  constructor(scope: TurnScope, calls: ToolWork, start: { readonly foreign?: Foreign; readonly interrupted: boolean }) {
    this.scope = scope;
    this.calls = calls;
    this.foreign = start.foreign;
    this.interrupted = start.interrupted;
  }

  /** Effect of `setup`. */
  async loadSession(): Promise<void> {
    const { scope } = this;
    const { generation, phaseEnd } = scope;
    let event: ChartEvent = { type: 'session.loaded' };
    try {
      this.foreign ??= await buildForeign(scope.settings, scope.info(), phaseEnd.signal);
      this.calls.use(this.foreign);
    } catch (thrown) {
      event = { type: 'session.failed', reason: messageOf(thrown) };
    }
    this.send(generation, () => scope.advance(event));
  }

  /** Effect of `awaitingLLM` and `forceStop`. */
  async callModel(): Promise<void> {
    const { scope } = this;
    const { generation, snapshot, records } = scope;
    const lastAnswer = snapshot.context.stopping !== null;
    const used = {
      context: snapshot.context,
      modelCalls: records.modelCalls,
      usage: records.usage,
      activeMs: scope.activeMs,
    };
    const limit = lastAnswer ? undefined : limitReached(snapshot.context.limits, used);
    if (limit !== undefined) {
      this.send(generation, () => scope.advance({ type: 'stop.requested', reason: limit }));
      return;
    }
    const foreign = this.foreign as Foreign;
    const messageId = scope.settings.ids();
    const result = await callModel({
      settings: scope.settings,
      turn: scope.info(),
      messages: records.bareMessages(),
      tools: foreign.tools,
      deps: foreign.deps,
      interrupted: this.interrupted,
      answerSchema: scope.answerSchema,
      lastAnswer,
      ending: scope.phaseEnd,
      emit: this.emitter(generation, messageId),
      count: () => records.modelCalls++,
    });
    await this.take(result, generation, messageId);
  }

  private async take(result: ModelResult, generation: number, messageId: string): Promise<void> {
    const { scope } = this;
    if (scope.generation !== generation) return;
    if (result.kind === 'stop') {
      this.send(generation, () => scope.advance({ type: 'stop.requested', reason: result.reason }));
    } else if (result.kind === 'failed') {
      this.fail(result, generation);
    } else {
      const read = await this.read(result.answer, generation, messageId);
      if (read !== undefined) this.send(generation, () => this.answered(read));
    }
  }

  private fail(result: ModelResult & { kind: 'failed' }, generation: number): void {
    const { scope } = this;
    const { error: kind, reason, retryAfterMs } = result;
    const at = scope.settings.clock.now();
    this.send(generation, async () => {
      this.dropPartial();
      await scope.advance({ type: 'model.failed', kind, reason, retryAfterMs, at });
    });
  }

  private async answered(read: ReadAnswer): Promise<void> {
    const { usage } = read.facts;
    this.interrupted = false;
    this.scope.records.countAnswer(usage);
    this.scope.announce({ type: 'usage', usage }, false);
    if (becomesMessage(read)) this.partial = undefined;
    else this.dropPartial();
    await acceptAnswer(this.scope, this.calls, read);
  }

  /** What was told of the answer becomes no message: whoever shows it takes it back. Only from within a task. */
  private dropPartial(): void {
    const { partial, scope } = this;
    this.partial = undefined;
    if (partial?.told !== true) return;
    const afterMessageId = scope.records.messages.at(-1)?.meta.id ?? null;
    scope.announce({ type: 'deltasDiscarded', messageId: partial.messageId, afterMessageId }, false);
  }

  private async read(answer: ModelAnswer, generation: number, messageId: string): Promise<ReadAnswer | undefined> {
    try {
      const { scope } = this;
      const bounds = {
        clock: scope.settings.clock,
        ms: scope.snapshot.context.limits.toolMs,
        gone: scope.phaseEnd,
      };
      const reading = {
        ...this.calls.reading(),
        answerSchema: scope.answerSchema,
        turnId: scope.records.turnId,
        messageId,
        response: scope.snapshot.context.iterations + 1,
        now: scope.settings.clock.now(),
      };
      // Schemas, effects and approval functions are the application's: one that hangs must not keep the turn.
      return await inTime(bounds, 'checking the calls of the answer', () => readAnswer(answer, reading));
    } catch (thrown) {
      this.fail(failureOf(thrown), generation);
      return undefined;
    }
  }

  /** What the model said before somebody stopped it becomes an answer of its own. Only from within a task. */
  keepPartialText(): void {
    const { records } = this.scope;
    if (this.partial === undefined || this.partial.text.trim() === '') return;
    const answer = { finish: { reason: 'other', raw: 'cancelled' }, usage: NO_USAGE } as const;
    const content = [{ type: 'text', text: this.partial.text.toWellFormed() }] as const;
    records.append({ role: 'assistant', content }, 'model', { id: this.partial.messageId, answer });
  }

  /** An outcome of an effect counts only while the phase that started it lasts. */
  private send(generation: number, task: () => Promise<void>): void {
    const { scope } = this;
    scope.enqueue(async () => {
      if (scope.generation === generation) await task();
    });
  }

  private emitter(generation: number, messageId: string): (delta: ModelDelta) => void {
    const { scope } = this;
    const { idleSoftMs, idleHardMs } = scope.snapshot.context.limits;
    const everyMs = Math.min(PROGRESS_MS, (idleSoftMs || PROGRESS_MS) / 4, (idleHardMs || PROGRESS_MS) / 4);
    let last = scope.settings.clock.now();
    const partial = { messageId, text: '', told: false };
    this.partial = partial;
    let warned = false;
    return (delta) => {
      // A port that goes on talking after its answer or its phase has ended talks to nobody.
      if (scope.generation !== generation || this.partial !== partial) return;
      const fault = faultOfDelta(delta);
      if (fault === undefined) {
        partial.told = true;
        scope.announce({ type: 'delta', messageId, delta }, false);
        if (delta.type === 'text') partial.text += delta.text;
      } else if (!warned) {
        // Once in a call: a port that does it wrong does it for every token.
        warned = true;
        process.emitWarning(`a delta of the model was told to nobody: ${fault}`, 'DurableTurnWarning');
      }
      const now = scope.settings.clock.now();
      // Whoever talks in a wrong form is not silent: only what has no text is no content.
      if (!delta?.text || now - last < everyMs) return;
      last = now;
      this.send(generation, () => scope.advance({ type: 'model.progressed' }));
    };
  }
}
