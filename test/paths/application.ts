// The application that an engine serves while a path is gone: everything it does waits for a cue, so that the engine
// stands still in each phase until the path says what happens next.
import { setImmediate } from 'node:timers/promises';
import type { EngineOptions, Json, LoopVerdict, Tool, ToolSet } from '../../src/index.js';
import { OutcomeUnknown } from '../../src/index.js';
import { type ScriptedAnswer, scriptedModel } from '../../src/testing/index.js';
import { act, look } from '../engine/world.js';

/** A place where the application waits until it is told what it does. Who waited there before waits in vain. */
export class Cue<T> {
  private listener: ((what: T) => void) | undefined;

  get isAwaited(): boolean {
    return this.listener !== undefined;
  }

  next(): Promise<T> {
    return new Promise((resolve) => {
      this.listener = resolve;
    });
  }

  async give(what: T): Promise<void> {
    for (let turn = 0; this.listener === undefined && turn < 500; turn += 1) await setImmediate();
    const { listener } = this;
    if (listener === undefined) throw new Error(`nobody waits to be told ${JSON.stringify(what)}`);
    this.listener = undefined;
    listener(what);
  }
}

export type ModelCue = { readonly say: ScriptedAnswer } | { readonly stop: string } | 'talk';
/** `lost`: the tool cannot say whether it happened. */
export type ToolCue = 'land' | 'lost' | 'fail';

const CONTEXT_TOKENS = 1_000;

/** What effects happened, whichever process made them. */
export interface Ledger {
  readonly landed: { readonly tool: string; readonly key: string }[];
}

export class Application {
  readonly setup = new Cue<'ready' | 'broken'>();
  readonly model = new Cue<ModelCue>();
  readonly compaction = new Cue<'shorter' | 'refuse'>();
  readonly tools = new Cue<ToolCue>();
  /** Dependencies are there at once: they are built by recovery, or were before. */
  isSetUp = false;
  /** The next answer comes near the model's context. */
  isLong = false;
  /** What the loop detector says of the next batch. */
  verdict: LoopVerdict | undefined;
  /** The tool `mail` wants a person to agree from now on. */
  asksAgain = false;
  /** Nobody can say what became of a call in doubt. */
  isUnknown = false;
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  get options(): Partial<EngineOptions<unknown, Json>> {
    let said: ModelCue | undefined;
    const cue = async (): Promise<ModelCue> => {
      const next = said ?? (await this.model.next());
      said = undefined;
      return next;
    };
    return {
      dependencies: async () => {
        if (this.isSetUp) return undefined;
        if ((await this.setup.next()) === 'broken') throw new Error('path');
        return undefined;
      },
      prepareModelCall: async () => {
        const next = await cue();
        if (typeof next === 'object' && 'stop' in next) return { stop: next.stop };
        said = next;
        return {};
      },
      model: {
        ...scriptedModel(async (_request, _modelCall, { emit }) => {
          for (;;) {
            const next = await cue();
            if (next === 'talk') emit({ type: 'text', id: 'text', text: '.' });
            else if ('say' in next) return this.answer(next.say);
          }
        }),
        contextTokens: CONTEXT_TOKENS,
      },
      tools: this.toolSet,
      loopDetector: () => this.verdict ?? { verdict: 'continue' },
      compact: async (list) => {
        if ((await this.compaction.next()) === 'refuse') throw new Error('path');
        return { summary: 'short', keepFrom: list.at(-1)?.meta.id ?? '' };
      },
    };
  }

  private answer(say: ScriptedAnswer): ScriptedAnswer {
    const full = typeof say === 'string' ? { say } : say;
    return 'fail' in full || 'hang' in full ? full : { ...full, tokens: this.isLong ? CONTEXT_TOKENS : 1 };
  }

  private get toolSet(): ToolSet {
    const parts: Partial<Tool<Json>> = {
      unattended: 'park',
      reconcile: async ({ idempotencyKey }) => {
        if (this.isUnknown) return { outcome: 'unknown' };
        const landed = this.ledger.landed.some(({ key }) => key === idempotencyKey);
        return landed ? { outcome: 'succeeded', output: 'done' } : { outcome: 'notStarted' };
      },
    };
    const run =
      (tool: string): Tool<Json>['execute'] =>
      async (_input, { idempotencyKey: key }) => {
        const next = await this.tools.next();
        if (next === 'lost') throw new OutcomeUnknown('path');
        if (next === 'fail') throw new Error('path');
        this.ledger.landed.push({ tool, key });
        return 'done';
      };
    return {
      read: look(run('read')),
      mail: act(run('mail'), { ...parts, approval: () => (this.asksAgain ? 'required' : 'never') }),
      pay: act(run('pay'), { ...parts, approval: 'required' }),
    };
  }
}
