// Readers that come, stand still, lose their connection and come back at any moment of turns that fail, wait for people,
// crash and are handed over: at every rest each of them shows what a new reader is shown, and what is stored.
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FEED_EVENTS } from '../../machines/limits.js';
import { type FollowEvent, ModelError, type TurnEngine } from '../../src/index.js';
import { type Answer, act, calls, look, WholeWorld } from '../whole-turn/world.js';
import { type Picture, pictureOf } from './following.js';
import { calm, until } from './waiting.js';

const tools = {
  read: look(() => 'read'),
  write: act(() => 'written'),
  pay: act(() => 'paid', { approval: 'required', unattended: 'park' }),
};

type Kind = 'talk' | 'read' | 'write' | 'pay' | 'fail' | 'empty' | 'burst' | 'hang';

/** One answer: pieces with pauses between them, so that everything else can come in between. */
const answerOf =
  (kind: Kind): Answer =>
  async (_request, { emit, signal }) => {
    const pieces = kind === 'burst' ? FEED_EVENTS + 20 : 4;
    for (let n = 0; n < pieces; n += 1) {
      emit({ type: n % 3 === 2 ? 'reasoning' : 'text', id: `${n % 2}`, text: `${kind}${n} ` });
      if (n % 50 === 1) await setImmediate();
    }
    if (kind === 'fail') throw new ModelError('network', 'cut');
    if (kind === 'empty') return { calls: [] };
    if (kind === 'hang') await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return kind === 'read' || kind === 'write' || kind === 'pay' ? calls(kind) : {};
  };

/** A tab: it keeps what it was told over all its connections. */
class Tab {
  readonly events: FollowEvent[] = [];
  private events$: AsyncIterableIterator<FollowEvent> | undefined;
  private paused = false;

  connect(engine: TurnEngine): void {
    const after = this.events.at(-1)?.cursor;
    this.events$ = engine.follow('s', after === undefined ? {} : { after });
    void this.read(this.events$);
  }

  async disconnect(): Promise<void> {
    await this.events$?.return?.();
  }

  pause(paused: boolean): void {
    this.paused = paused;
  }

  private async read(events: AsyncIterableIterator<FollowEvent>): Promise<void> {
    try {
      for await (const event of events) {
        this.events.push(event);
        while (this.paused) await setImmediate();
      }
    } catch (thrown) {
      this.events.push({ type: 'thrown', thrown } as never);
    }
  }
}

/** What readers may not agree about: how finely an answer came in pieces. */
const comparable = (picture: Picture) => ({ ...picture, partial: [...picture.partial].sort() });

type Deed = Kind | 'join' | 'pause' | 'drop' | 'crash' | 'deploy' | 'decide' | 'wait' | 'stop';
const DEEDS: readonly Deed[] = [
  ...(['talk', 'read', 'write', 'pay', 'fail', 'empty', 'burst', 'hang'] as const),
  ...(['join', 'join', 'pause', 'drop', 'crash', 'deploy', 'decide', 'wait', 'stop'] as const),
];

class Scene {
  readonly world = new WholeWorld();
  readonly tabs: Tab[] = [];
  private engine = this.world.boot({ tools });
  private inputs = 0;

  async do(deed: Deed, n: number): Promise<void> {
    const tab = this.tabs[n % Math.max(1, this.tabs.length)];
    if (deed === 'join') this.join();
    else if (deed === 'pause') tab?.pause(n % 2 === 0);
    else if (deed === 'drop') {
      await tab?.disconnect();
      tab?.connect(this.engine);
    } else if (deed === 'crash' || deed === 'deploy') await this.restart(deed);
    else if (deed === 'decide') await this.decide(n % 2 === 0);
    else if (deed === 'wait') await this.world.advance(3_000);
    else if (deed === 'stop') await this.engine.activeTurn('s')?.cancel({ keepPartialText: n % 2 === 0 });
    else await this.say(deed);
    // How far things come before the next deed is part of the game.
    await calm(n % 7);
  }

  /** Everything comes to rest; readers that stood still go on. */
  async check(): Promise<void> {
    for (const tab of this.tabs) tab.pause(false);
    await this.world.advance(100_000);
    await calm(200);
    const fresh = new Tab();
    fresh.connect(this.engine);
    await until(() => fresh.events.length > 0, 'a new reader gets its view');
    const wanted = comparable(pictureOf(fresh.events));
    for (const tab of this.tabs) {
      expect(tab.events.filter(({ type }) => (type as string) === 'thrown')).toEqual([]);
      expect(comparable(pictureOf(tab.events))).toEqual(wanted);
    }
    expect(wanted.messages).toEqual((await this.world.messages()).map(({ meta }) => meta.id));
    expect(await this.world.violations()).toEqual([]);
    await fresh.disconnect();
  }

  async end(): Promise<void> {
    for (const tab of this.tabs) await tab.disconnect();
    await this.world.crash();
  }

  private join(): void {
    const tab = new Tab();
    this.tabs.push(tab);
    tab.connect(this.engine);
  }

  private async say(kind: Kind): Promise<void> {
    this.world.says(answerOf(kind));
    this.inputs += 1;
    await this.engine.sendMessage({ sessionId: 's', input: kind, messageId: `m${this.inputs}`, attended: false });
  }

  private async restart(how: 'crash' | 'deploy'): Promise<void> {
    if (how === 'deploy') await this.engine.close();
    for (const tab of this.tabs) await tab.disconnect();
    this.engine = await this.world.reboot({ tools, recovery: { attemptsWithoutProgress: 100 } });
    for (const tab of this.tabs) tab.connect(this.engine);
    await this.engine.recover();
  }

  private async decide(allow: boolean): Promise<void> {
    const [approval] = await this.engine.approvals();
    if (approval !== undefined) await this.engine.decideApproval(approval.id, { allow, by: 'ann' });
  }
}

it('every reader shows at every rest what a new one is shown', async () => {
  const deeds = fc.array(fc.tuple(fc.constantFrom(...DEEDS), fc.nat(20)), { minLength: 3, maxLength: 24 });
  const property = fc.asyncProperty(deeds, async (list) => {
    const scene = new Scene();
    try {
      await scene.do('join', 0);
      for (const [deed, n] of list) await scene.do(deed, n);
      await scene.check();
    } finally {
      await scene.end();
    }
  });
  await fc.assert(property, { numRuns: 40, endOnFailure: true });
});
