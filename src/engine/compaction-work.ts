/**
 * Owns the effect `compact`: a shorter list, or a reason why not.
 * Must not know how lists are stored or what asks for a compaction.
 */
import { applyCompaction, CHARS_PER_TOKEN, COMPACT_ABOVE, sizeOf, WORTHWHILE } from '../core/compaction.js';
import { messageOf } from '../core/errors.js';
import type { StoredMessage } from '../core/messages.js';
import type { Model } from '../core/model.js';
import { checkAnswerFacts } from '../core/model-check.js';
import { phaseOf } from '../core/step.js';
import { summarise } from './compactor.js';
import type { TurnScope } from './turn-scope.js';

/** Of the context, what a list is brought down to. */
const TARGET = 0.5;

export class CompactionWork {
  private readonly scope: TurnScope;

  constructor(scope: TurnScope) {
    this.scope = scope;
  }

  /** After a batch: the last request came near the model's context, and a shorter list was not refused just now. */
  get isDue(): boolean {
    const { settings, records } = this.scope;
    const { contextTokens } = settings.model;
    if (contextTokens === undefined || settings.compact === false) return false;
    const usage = records.lastAnswer()?.meta.answer?.usage;
    const tokens = (usage?.input.total ?? 0) + (usage?.output.total ?? 0);
    if (tokens < contextTokens * COMPACT_ABOVE) return false;
    const refusedAt = records.compactionRefusedAt;
    return refusedAt === null || sizeOf(records.messages) >= refusedAt * (1 + WORTHWHILE);
  }

  async compact(): Promise<void> {
    const { scope } = this;
    const { generation, settings, records } = scope;
    const list = [...records.messages];
    // Taken up again after a restart, a compaction that was refused before it is not tried a second time (case C22).
    if (!this.isForced && !this.isDue) {
      scope.enqueue(async () => {
        if (scope.generation === generation) await scope.advance({ type: 'compaction.refused', reason: 'notDue' });
      });
      return;
    }
    const disarm = this.onTimeout(list);
    let refused: string | undefined;
    let apply = (): void => undefined;
    if (settings.compact === false) {
      refused = 'noCompactor';
    } else {
      try {
        const compacted = await (settings.compact ?? summarise)(list, this.call(list));
        const result = applyCompaction(list, compacted, (message) => records.make(message, 'summary'));
        if (result.ok) apply = () => records.compactTo(result.list, result.removed);
        else refused = result.reason;
      } catch (thrown) {
        refused = messageOf(thrown);
      }
    }
    scope.enqueue(async () => {
      disarm();
      if (scope.generation !== generation) return;
      if (refused === undefined) await this.applied(list, apply);
      else await this.refused(list, refused);
    });
  }

  private async applied(before: readonly StoredMessage[], apply: () => void): Promise<void> {
    const { scope } = this;
    const was = before.length;
    apply();
    await scope.advance({ type: 'compaction.applied' });
    scope.announce({ type: 'compacted', messages: { before: was, after: scope.records.messages.length } }, true);
  }

  private async refused(list: readonly StoredMessage[], reason: string): Promise<void> {
    this.noteRefusal(list, reason);
    await this.scope.advance({ type: 'compaction.refused', reason });
  }

  private noteRefusal(list: readonly StoredMessage[], reason: string): void {
    this.scope.records.compactionRefusedAt = sizeOf(list);
    this.scope.announce({ type: 'compactionRefused', reason }, false);
  }

  /** The model refused the list: whatever came of earlier tries, this one is due. */
  private get isForced(): boolean {
    const { cause } = this.scope.snapshot.context;
    return cause?.kind === 'modelError' && cause.error === 'contextLength';
  }

  /** The chart ends a compaction that takes too long, and the turn goes on: that is a refusal like any other. */
  private onTimeout(list: readonly StoredMessage[]): () => void {
    const { scope } = this;
    const left = (): void => {
      const phase = phaseOf(scope.snapshot);
      if (scope.snapshot.status !== 'active' || phase === 'compacting') return;
      this.noteRefusal(list, 'timeout');
      scope.enqueue(() => scope.writeFacts());
    };
    return scope.phaseEnd.onAbort(left);
  }

  private call(list: readonly StoredMessage[]) {
    const { settings, phaseEnd, records } = this.scope;
    const { sessionId, turnId } = this.scope.info();
    const contextTokens = settings.model.contextTokens ?? sizeOf(list) / CHARS_PER_TOKEN;
    // What the compactor asks of the model is paid for as well.
    const model: Model = {
      id: settings.model.id,
      ...(settings.model.contextTokens === undefined ? {} : { contextTokens: settings.model.contextTokens }),
      call: async (request, call) => {
        const answer = await settings.model.call(request, call);
        checkAnswerFacts(answer);
        records.countAnswer(answer.usage);
        return answer;
      },
    };
    return { model, signal: phaseEnd.signal, targetTokens: Math.floor(contextTokens * TARGET), sessionId, turnId };
  }
}
