// A race: what several callers ask of one engine at the same time, where every answer of the store, the model and the
// tools comes when fast-check's scheduler says so. Everything else is the real engine on a real store.
import { setImmediate } from 'node:timers/promises';
import type { Scheduler } from 'fast-check';
import { type Json, type Turn, type TurnEngine, TurnError, type TurnOutcome } from '../../src/index.js';
import { type ScriptedAnswer, scriptedModel } from '../../src/testing/index.js';
import { act, calls, look, World } from '../engine/world.js';
import { type InSession, type Move, type Plan, SESSIONS, type SessionId } from './plan.js';

export class Race {
  readonly world = new World();
  /** What was wrong; empty where nothing was. */
  readonly faults: string[] = [];
  private readonly plan: Plan;
  private readonly scheduler: Scheduler;
  private engine: TurnEngine;
  private isScheduled = false;
  private readonly landed: string[] = [];
  private readonly accepted: { readonly sessionId: string; readonly messageId: string }[] = [];
  private readonly turns: Turn[] = [];
  private readonly told = new Map<string, TurnOutcome>();
  /** Sessions at work on each route, with the signal that ends it. */
  private readonly busy = new Map<string, Map<string, AbortSignal>>();
  private sent = 0;

  constructor(plan: Plan, scheduler: Scheduler) {
    this.plan = plan;
    this.scheduler = scheduler;
    this.engine = this.boot();
  }

  async run(): Promise<void> {
    await this.prepare();
    this.isScheduled = true;
    const moves = this.plan.moves.map((move, n) => this.moment(`${n} ${move.do}`).then(() => this.make(move)));
    await this.until(Promise.all(moves));
    this.isScheduled = false;
    await this.end();
    await this.judge();
  }

  private routeOf(sessionId: string): string {
    return this.plan.oneRoute ? 'shared' : sessionId;
  }

  private boot(): TurnEngine {
    const key = ({ idempotencyKey }: { readonly idempotencyKey: string }) => idempotencyKey;
    const land = async (
      _input: Json,
      call: { readonly idempotencyKey: string; readonly sessionId: string; readonly signal: AbortSignal },
    ) => {
      await this.working(call.sessionId, call.signal, () => this.moment(`tool in ${call.sessionId}`));
      call.signal.throwIfAborted();
      this.landed.push(key(call));
      return 'sent';
    };
    const engine = this.world.boot({
      model: scriptedModel(async ({ messages }, _count, { sessionId, signal }) => {
        await this.working(sessionId, signal, () => this.moment(`model in ${sessionId}`));
        const said = messages.filter(({ role }) => role === 'assistant').length;
        return this.plan.answers[sessionId as SessionId][said] ?? 'done';
      }),
      tools: {
        read: look(() => 'read'),
        mail: act(land),
        pay: act(land, { approval: 'required', unattended: 'park' }),
      },
      limits: { retryElapsedMs: 1, maxModelCalls: 20 },
      ...(this.plan.takesOutcomes ? { onOutcome: async () => void (await this.moment('outcome')) } : {}),
    });
    const { store } = this.world.process;
    const ask = store.whileAlive.bind(store);
    store.whileAlive = async (work) => {
      try {
        return await ask(work);
      } finally {
        await this.moment('store');
      }
    };
    return engine;
  }

  /** Waits for its turn; outside the race at once. */
  private moment(label: string): Promise<unknown> {
    return this.isScheduled ? this.scheduler.schedule(Promise.resolve(), label) : Promise.resolve();
  }

  /** I7: whoever works on a route is alone on it, except for what was told to stop and has not yet. */
  private async working(sessionId: string, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
    const route = this.routeOf(sessionId);
    const others = this.busy.get(route) ?? new Map<string, AbortSignal>();
    this.busy.set(route, others);
    for (const [other, ended] of others) {
      if (other !== sessionId && !ended.aborted)
        this.faults.push(`I7: ${sessionId} works while ${other} holds ${route}`);
    }
    others.set(sessionId, signal);
    await work();
    if (others.get(sessionId) === signal) others.delete(sessionId);
  }

  /** A process before this one, killed in the middle of everything. */
  private async prepare(): Promise<void> {
    for (const sessionId of SESSIONS) {
      const left = this.plan.left[sessionId];
      if (left === 'nothing') continue;
      const first: ScriptedAnswer =
        left === 'modelCall' ? { hang: true } : left === 'approval' ? calls('pay') : calls('mail');
      await this.leave(sessionId, first);
    }
    await this.world.crash();
    this.busy.clear();
    this.engine = this.boot();
  }

  /** One session of a process that dies. */
  private async leave(sessionId: SessionId, first: ScriptedAnswer): Promise<void> {
    await this.world.crash();
    const engine = this.world.boot({
      model: scriptedModel([first]),
      tools: {
        mail: act(() => new Promise<never>(() => undefined)),
        pay: act(() => 'paid', { approval: 'required', unattended: 'park' }),
      },
    });
    const messageId = `left ${sessionId}`;
    const input = { sessionId, input: 'hello', messageId, attended: false, routeKey: this.routeOf(sessionId) };
    await engine.sendMessage(input);
    this.accepted.push({ sessionId, messageId });
    for (let turn = 0; turn < 60; turn += 1) await setImmediate();
  }

  private async make(move: Move): Promise<void> {
    try {
      if (move.do === 'recover') await this.engine.recover();
      else if (move.do === 'close') await this.engine.close({ graceMs: 1_000 });
      else if (move.do === 'pass') await this.world.clock.advance(move.ms);
      else await this.makeIn(move.do, move.in);
    } catch (thrown) {
      // Refusals with a code are part of life; everything else is a fault.
      if (!(thrown instanceof TurnError)) this.faults.push(`${move.do}: ${String(thrown)}`);
    }
  }

  private async makeIn(what: InSession, sessionId: SessionId): Promise<void> {
    const { engine } = this;
    const input = { sessionId, input: 'more', attended: false, routeKey: this.routeOf(sessionId) };
    switch (what) {
      case 'send':
      case 'again': {
        const messageId = what === 'send' || this.sent === 0 ? `m${++this.sent}` : `m${this.sent}`;
        const { turn, accepted } = await engine.sendMessage({ ...input, messageId });
        if (accepted !== 'duplicate') this.accepted.push({ sessionId, messageId });
        this.turns.push(turn);
        return;
      }
      case 'start': {
        const messageId = `m${++this.sent}`;
        this.turns.push(await engine.startTurn({ ...input, messageId, attended: true }));
        this.accepted.push({ sessionId, messageId });
        return;
      }
      case 'cancel': {
        const turn = engine.activeTurn(sessionId) ?? this.turns.findLast((one) => one.sessionId === sessionId);
        const turnId = turn?.turnId ?? (await engine.session(sessionId))?.turnId;
        if (turnId !== undefined && turnId !== null) this.told.set(turnId, await engine.cancelTurn(turnId));
        return;
      }
      case 'decide':
      case 'refuse':
        return this.decide(sessionId, what === 'decide');
      case 'settle':
        return this.settle(sessionId);
      case 'attend':
        return engine.attend(sessionId, { person: 'ann', forMs: 100_000 });
    }
  }

  private async decide(sessionId: string, allow: boolean): Promise<void> {
    for (const { id } of await this.engine.approvals({ sessionId })) {
      await this.engine.decideApproval(id, { allow, by: 'ann' });
    }
  }

  /** A person looks at the receiver and says what is true. */
  private async settle(sessionId: string): Promise<void> {
    for (const { turnId, callId, idempotencyKey } of await this.engine.reviews({ sessionId })) {
      const landed = this.landed.includes(idempotencyKey);
      const truth = landed
        ? ({ outcome: 'succeeded', output: 'sent' } as const)
        : ({ outcome: 'failed', error: 'no' } as const);
      await this.engine.settleCall(turnId, callId, { ...truth, by: 'ann' });
    }
  }

  /** Whatever waits comes in the scheduler's order; where nothing waits, the clock moves. */
  private async until(work: Promise<unknown>): Promise<void> {
    let open = true;
    void work.finally(() => {
      open = false;
    });
    for (let rounds = 0; open; rounds += 1) {
      await setImmediate();
      if (!open) return;
      if (this.scheduler.count() > 0) await this.scheduler.waitNext(1);
      else if (rounds < 5_000) await this.world.clock.advance(5_000);
      else throw new Error('a call of the engine is never answered');
    }
  }

  /** The process dies, and the next one brings everything to its end. */
  private async end(): Promise<void> {
    while (this.scheduler.count() > 0) await this.scheduler.waitNext(1);
    await this.world.crash();
    this.busy.clear();
    this.engine = this.boot();
    await this.engine.recover();
    for (let round = 0; round < 60; round += 1) {
      for (const sessionId of SESSIONS) {
        await this.make({ do: 'decide', in: sessionId });
        await this.make({ do: 'settle', in: sessionId });
      }
      await this.world.clock.advance(10_000);
      if (await this.isAtRest()) return;
    }
    this.faults.push('it never comes to rest');
  }

  private async isAtRest(): Promise<boolean> {
    for (const sessionId of SESSIONS) {
      const head = await this.world.store.head(sessionId);
      if (head !== undefined && (head.inProgress || head.waitingInput > 0)) return false;
    }
    return true;
  }

  private async judge(): Promise<void> {
    const { world, faults } = this;
    faults.push(...world.witness.violations);
    if (new Set(this.landed).size !== this.landed.length) faults.push(`doubled: ${this.landed.join(' ')}`);
    for (const { sessionId, messageId } of this.accepted) {
      const joined = (await world.messages(sessionId)).filter(({ meta }) => meta.id === messageId).length;
      const wanted = world.witness.unbegun.has(`${sessionId} ${messageId}`) ? 0 : 1;
      if (joined !== wanted) faults.push(`I11: ${messageId} is in ${sessionId} ${joined} times`);
    }
    for (const [turnId, { status }] of this.told) {
      const kept = await world.store.outcome(turnId);
      if (kept?.status !== status) faults.push(`I8: ${turnId} was told to be ${status} and is ${kept?.status}`);
    }
    for (const { turnId, outcome } of this.turns) {
      const told = await Promise.race([outcome, setImmediate(undefined)]);
      const kept = await world.store.outcome(turnId);
      if (kept === undefined) faults.push(`${turnId} has no end`);
      if (told !== undefined && told.status !== kept?.status)
        faults.push(`I8: ${turnId} was ${told.status}, is ${kept?.status}`);
    }
  }
}
