// Random walks through everything that can happen to two sessions on one route: input, cancel, crashes, hand-overs, a store
// that fails, time that passes. Whatever happened, in the end all is at rest, nothing accepted is lost, nothing is doubled.
import { expect, it } from 'vitest';
import { type TurnEngine, TurnError } from '../../src/index.js';
import type { ScriptedAnswer } from '../../src/testing/index.js';
import { fractionsFrom } from '../../src/testing/random.js';
import type { Fate } from './process-store.js';
import { calm, never } from './waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, type World } from './world.js';

const SESSIONS = ['a', 'b'] as const;

class Walk {
  readonly world: World;
  readonly accepted: { readonly sessionId: string; readonly messageId: string }[] = [];
  readonly turns: string[] = [];
  readonly doubled: string[] = [];
  private readonly numbers: () => number;
  private readonly landed = new Set<string>();
  private quiet = false;
  private messages = 0;
  engine: TurnEngine;

  constructor(world: World, seed: number) {
    this.world = world;
    this.numbers = fractionsFrom(seed);
    world.says(...Array.from({ length: 2_000 }, () => () => this.answer()));
    this.engine = this.boot();
  }

  private random(below: number): number {
    return Math.floor(this.numbers() * below);
  }

  private boot(): TurnEngine {
    const mail = act(
      (input, call) => {
        if (this.landed.has(call.idempotencyKey)) this.doubled.push(JSON.stringify(input));
        const fate = this.quiet ? 9 : this.random(10);
        // It hangs before or behind its effect, or works.
        if (fate === 0) return never();
        this.landed.add(call.idempotencyKey);
        return fate === 1 ? never() : 'sent';
      },
      {
        timeoutMs: 20_000,
        reconcile: async ({ idempotencyKey }) => {
          if (!this.quiet && this.random(4) === 0) return { outcome: 'unknown' };
          return this.landed.has(idempotencyKey) ? { outcome: 'succeeded', output: 'sent' } : { outcome: 'notStarted' };
        },
      },
    );
    const file = act(() => (this.quiet || this.random(6) > 0 ? 'ok' : never()), {
      effect: 'idempotent',
      timeoutMs: 5_000,
    });
    const read = look(() => 'read');
    return this.world.boot({
      tools: { mail, file, read },
      limits: { maxIterations: 5, idleHardMs: 5 * MINUTE_MS },
      recovery: { attemptsWithoutProgress: 6 },
      ...(this.random(2) === 0 ? {} : { onOutcome: () => undefined }),
    });
  }

  private answer(): ScriptedAnswer {
    if (this.quiet) return 'done';
    const n = this.random(3);
    const answers: readonly ScriptedAnswer[] = [
      'text',
      'done',
      calls('read'),
      calls(['mail', { n }], 'read', ['file', { n }]),
      calls(['mail', { n }], ['mail', { n }]),
      calls(['file', { n }]),
      { fail: 'network' },
      { fail: 'auth' },
      '',
      { hang: true },
      calls('missing'),
      { say: 'cut', calls: [{ tool: 'mail', input: { n } }], finish: 'length' },
    ];
    return answers[this.random(answers.length)] as ScriptedAnswer;
  }

  async step(): Promise<void> {
    const ops = [this.send, this.send, this.send, this.cancel, this.crash, this.close, this.pass, this.pass, this.fail];
    await (ops[this.random(ops.length)] as () => Promise<void>).call(this);
    await calm(this.random(12));
  }

  private async send(): Promise<void> {
    const sessionId = SESSIONS[this.random(2)] as string;
    const again = this.messages > 0 && this.random(4) === 0;
    const messageId = again ? `m${this.random(this.messages) + 1}` : `m${++this.messages}`;
    const sent = this.engine.sendMessage({ ...hello, sessionId, messageId, input: messageId, routeKey: 'shared' });
    await this.tolerant(
      sent.then(({ turn }) => {
        this.accepted.push({ sessionId, messageId });
        this.turns.push(turn.turnId);
      }),
    );
  }

  private async cancel(): Promise<void> {
    const turnId = this.turns[this.random(Math.max(1, this.turns.length))];
    if (turnId !== undefined) await this.tolerant(this.engine.cancelTurn(turnId));
  }

  private async crash(): Promise<void> {
    await this.world.crash();
    this.engine = this.boot();
    if (this.random(3) > 0) await this.tolerant(this.engine.recover());
  }

  private async close(): Promise<void> {
    await this.tolerant(this.engine.close({ graceMs: 1_000 }));
    await this.crash();
  }

  private async pass(): Promise<void> {
    await this.world.clock.advance([50, 3_000, 25_000, 6 * MINUTE_MS][this.random(4)] as number);
    await this.settleSome();
  }

  private async fail(): Promise<void> {
    const { store } = this.world.process;
    const from = store.commits;
    const bad: Fate = this.random(2) === 0 ? 'failBefore' : 'failAfter';
    const count = this.random(3) + 1;
    store.fate = (nth) => (nth <= from + count ? bad : 'pass');
  }

  private async settleSome(): Promise<void> {
    for (const { turnId, callId, idempotencyKey } of await this.engine.reviews()) {
      const settlement = this.landed.has(idempotencyKey)
        ? ({ outcome: 'succeeded', output: 'sent', by: 'ann' } as const)
        : ({ outcome: 'notStarted', by: 'ann' } as const);
      await this.tolerant(this.engine.settleCall(turnId, callId, settlement));
    }
  }

  /** Errors with a code are part of life; a promise that waits for the clock gets it moved. */
  private async tolerant(work: Promise<unknown>): Promise<void> {
    let open = true;
    const settled = work
      .then(
        () => undefined,
        (thrown: unknown) => {
          if (!(thrown instanceof TurnError)) throw thrown;
        },
      )
      .finally(() => {
        open = false;
      });
    settled.catch(() => undefined);
    for (let round = 0; round < 60 && open; round += 1) {
      await calm(10);
      if (open) await this.world.clock.advance(5_000);
    }
    if (open) throw new Error('a call of the engine is never answered');
    await settled;
  }

  async end(): Promise<void> {
    this.quiet = true;
    await this.crash();
    await this.tolerant(this.engine.recover());
    for (let round = 0; round < 60; round += 1) {
      await this.settleSome();
      await this.world.clock.advance(10_000);
      await calm(10);
      if (await this.isAtRest()) return;
    }
    throw new Error(
      `it never comes to rest: ${JSON.stringify(await Promise.all(SESSIONS.map((id) => this.world.head(id))))}`,
    );
  }

  private async isAtRest(): Promise<boolean> {
    for (const sessionId of SESSIONS) {
      const head = await this.world.store.head(sessionId);
      if (head !== undefined && (head.inProgress || head.waitingInput > 0)) return false;
    }
    return true;
  }
}

for (let seed = 33; seed <= 52; seed += 1) {
  it(`walk ${seed}: all comes to rest, nothing accepted is lost, no effect is doubled`, async () => {
    const world = createWorld();
    const walk = new Walk(world, seed);
    for (let step = 0; step < 25; step += 1) await walk.step();
    await walk.end();
    expect(walk.doubled).toEqual([]);
    for (const { sessionId, messageId } of walk.accepted) {
      const joined = (await world.messages(sessionId)).filter(({ meta }) => meta.id === messageId);
      const times = world.witness.unbegun.has(`${sessionId} ${messageId}`) ? 0 : 1;
      expect(joined, `${messageId} in ${sessionId}`).toHaveLength(times);
    }
  });
}
