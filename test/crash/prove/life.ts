// The life of one process: an engine on a disk, until everything rests or the process dies. The engine works in
// microtasks only, so one turn of the event loop is everything that can happen without the clock; then senders, people
// and the clock have their turn, always in the same order. The same life gives the same moments, every time.
import {
  type Clock,
  createTurnEngine,
  type Head,
  type Json,
  type Model,
  type ModelRequest,
  type ToolContext,
  type TurnEngine,
  TurnError,
  type TurnEvent,
} from '../../../src/index.js';
import { CrashStore, type DiskImage } from '../../../src/testing/crash-store.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { never } from '../../../src/testing/mortal-store.js';
import { phaseStepIsInChart } from './chart-steps.js';
import type { Outside } from './outside.js';
import { checkImages } from './rules.js';
import type { Act, Scenario } from './scenario.js';
import { type View, viewOf } from './view.js';

/** A world in which a process could start now: what is on the disk, and what is outside. */
export interface Situation {
  readonly image: DiskImage;
  readonly outside: Outside;
}

export interface Moment extends Situation {
  readonly name: string;
}

export interface Orders {
  /** Called at each moment at which the process can die; true: it does. */
  readonly atMoment: (moment: () => Moment, signature: string) => boolean;
  readonly complain: (fault: string) => void;
  /** The nth batch fails: before it is applied, or behind. */
  readonly failing?: ReadonlyMap<number, 'failBefore' | 'failAfter'>;
}

export type Ending = 'rest' | 'dead' | 'left';

/** More turns of the event loop than any scenario takes. */
const ROUNDS = 400;
/** Calls of `recover()` in one life. */
const RECOVERIES = 5;
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class LifeClock implements Clock {
  private readonly outside: Outside;
  private readonly timers = new Set<{ readonly at: number; readonly fire: () => void }>();

  constructor(outside: Outside) {
    this.outside = outside;
  }

  now(): number {
    return this.outside.now;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.outside.now + Math.max(0, ms), fire };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  get next(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.timers) if (next === undefined || at < next) next = at;
    return next;
  }

  /** Those that are due, in the order in which they were set. */
  fireDue(): void {
    for (const timer of [...this.timers]) {
      if (timer.at > this.outside.now || !this.timers.delete(timer)) continue;
      timer.fire();
    }
  }
}

export class Life {
  readonly outside: Outside;
  readonly store: CrashStore;
  readonly engine: TurnEngine;
  readonly clock: LifeClock;
  /** Sessions where somebody has said in this life that they are there. */
  readonly present = new Set<string>();
  private readonly scenario: Scenario;
  private readonly orders: Orders;
  private readonly began: View;
  private readonly underWay = new Set<string>();
  private readonly refused = new Set<string>();
  private readonly phases = new Map<string, string>();
  private view: View;
  /** Batches that are on the disk. */
  private applications = 0;
  private ids = 0;
  private recoveries = 0;
  private left = false;
  private recovered = false;

  constructor(scenario: Scenario, { image, outside }: Situation, orders: Orders) {
    this.scenario = scenario;
    this.orders = orders;
    this.outside = outside;
    outside.lives += 1;
    const life = outside.lives;
    this.view = viewOf(image);
    this.began = this.view;
    this.clock = new LifeClock(outside);
    this.store = new CrashStore({
      image,
      fate: (nth) => {
        this.moment(`before batch ${nth}`);
        return orders.failing?.get(nth) ?? 'pass';
      },
      onApplied: (nth, now) => this.applied(nth, now),
    });
    this.engine = createTurnEngine({
      agent: 'agent',
      store: this.store,
      clock: this.store.clockOf(this.clock),
      ids: () => `n${life}x${++this.ids}`,
      model: this.provider(),
      tools: scenario.tools(this),
      recovery: { attemptsWithoutProgress: 50, recoveries: 200 },
      ...scenario.options,
      onEvent: (event) => this.event(event),
      onOutcome: async ({ status }, { turnId }) => {
        if (this.store.dead) return never();
        this.delivered(turnId, status);
      },
    });
  }

  /** A moment at which the process can die. Whoever gets `false` is dead and must not go on. */
  moment(name: string): boolean {
    if (this.store.dead) return false;
    this.outside.moments += 1;
    this.startActs();
    const moment = (): Moment => ({ name, image: this.store.image, outside: this.outside.fork() });
    const signature = `${this.applications}/${this.outside.version}/${this.outside.now}`;
    if (this.orders.atMoment(moment, signature)) this.store.die();
    return !this.store.dead;
  }

  /** For tools: as `moment`, and what is dead waits for ever. */
  async at(name: string): Promise<void> {
    if (!this.moment(name)) await never();
  }

  /** For tools: some time passes, unless the process dies. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.store.clockOf(this.clock).after(ms, resolve));
  }

  complain(fault: string): void {
    if (!this.store.dead) this.orders.complain(fault);
  }

  async run(): Promise<Ending> {
    this.recoverAgain();
    for (let round = 0; round < ROUNDS; round += 1) {
      await turnOfTheLoop();
      if (this.store.dead) return 'dead';
      if (this.left) return 'left';
      if (this.startActs()) continue;
      if (this.recovered && (await this.peopleAct())) continue;
      // Whatever people have waited for, the process may have died of it.
      if (this.store.dead) return 'dead';
      if (this.atRest() && this.scenario.goesOn?.(this.outside) !== true) return 'rest';
      if (!this.passTime() && !this.recoverAgain()) break;
    }
    const heads = [...this.view.heads.values()].map((head) => {
      const { sessionId, phase, inProgress, waiting, outcomesDue } = head;
      return `${sessionId}: ${JSON.stringify({ phase, inProgress, waiting, outcomesDue })}`;
    });
    const open = [...this.underWay, ...[...this.refused].map((name) => `${name} (refused)`)];
    this.complain(`it never comes to rest: ${[...heads, ...open].join(', ')}`);
    return 'rest';
  }

  /** The clock of the machine is set forward, or the machine was asleep. */
  jump(ms: number): void {
    this.outside.passTo(this.outside.now + ms);
    this.clock.fireDue();
  }

  /** The process closes as in a deploy, and is gone. */
  async leave(graceMs: number): Promise<void> {
    // What could not be handed over is found as a crash would leave it.
    const closed = await this.tolerated('close', () => this.engine.close({ graceMs }));
    if (this.store.dead) return never();
    if (closed === 'refused') this.outside.count('closed badly');
    this.left = true;
  }

  /** A tool is about to have an effect. */
  checkStart(tool: string, call: ToolContext): void {
    if (this.store.dead) return;
    const record = this.view.calls.get(call.callId);
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
    const now = this.view.heads.get(sessionId) as Head;
    const counted = found.handedOver ? !now.handedOver : now.recoveries > found.recoveries;
    if (!counted) this.complain(`I4: ${what} runs and the attempt is not on the disk`);
  }

  get now(): View {
    return this.view;
  }

  private applied(nth: number, image: DiskImage): void {
    const before = this.view;
    this.applications += 1;
    this.view = viewOf(image);
    checkImages(before, this.view, this.scenario.removes === true, (fault) => this.complain(fault));
    this.moment(`after batch ${nth}`);
  }

  private provider(): Model {
    const { scenario, outside } = this;
    return scriptedModel(async (request, _modelCall, call) => {
      if (this.store.dead) return never();
      this.checkPairs(request);
      this.checkForeign(call.sessionId, call.turnId, 'the model');
      await this.at('before the model answers');
      return scenario.answer(request, outside, call.sessionId);
    });
  }

  /** I10: whatever stopped a turn, a provider never sees a call without exactly one result right behind it. */
  private checkPairs({ messages }: ModelRequest): void {
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
  private event(event: TurnEvent): void {
    if (this.store.dead) return;
    if (event.durable && event.type === 'message') {
      const lists = [...this.view.messages.values(), ...this.view.archive.values()];
      const there = lists.some((list) => list.some(({ meta }) => meta.id === event.meta.id));
      if (!there) this.complain(`I9: message ${event.meta.id} is announced and not on the disk`);
    }
    if (event.durable && event.type === 'outcome' && !this.view.outcomes.has(event.turnId)) {
      this.complain(`I9: the outcome of ${event.turnId} is announced and not on the disk`);
    }
    if (event.type === 'phase') this.phase(event.turnId, event.phase);
    this.startActs();
  }

  private phase(turnId: string, to: string): void {
    const from = this.phases.get(turnId);
    this.phases.set(turnId, to);
    if (from !== undefined && !phaseStepIsInChart(from, to))
      this.complain(`I15: the chart has no way ${from} -> ${to}`);
  }

  private delivered(turnId: string, status: string): void {
    const stored = this.view.outcomes.get(turnId)?.status;
    if (stored !== status) this.complain(`I8: the outcome ${status} of ${turnId} is told, the disk says ${stored}`);
    this.outside.count(`outcome ${turnId}`);
  }

  /** Whether one was started. */
  private startActs(): boolean {
    let started = false;
    for (const act of this.scenario.acts) {
      if (this.outside.isDone(act.name) || this.underWay.has(act.name) || this.refused.has(act.name)) continue;
      if (act.when?.(this.outside, this.view, this) === false) continue;
      started = true;
      this.underWay.add(act.name);
      void this.act(act);
    }
    return started;
  }

  private async act(act: Act): Promise<void> {
    // Behind what is going on now: an act does not run inside of a batch.
    await Promise.resolve();
    const result = await this.tolerated(act.name, () => act.run(this.engine, this.outside, this));
    if (this.store.dead) return;
    this.underWay.delete(act.name);
    // Refused: somebody tries it again later.
    if (result === 'refused') this.refused.add(act.name);
    else this.outside.confirm(act.name);
    this.moment(`behind: ${act.name}`);
  }

  /** Errors with a code are part of life, everything else is a fault. */
  private async tolerated(what: string, work: () => Promise<unknown>): Promise<'refused' | unknown> {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof TurnError)) this.complain(`${what} threw ${String((thrown as Error)?.stack ?? thrown)}`);
      else if (thrown.code === 'TURN_CONFLICT') this.complain(`I7: ${what}: ${thrown.message}`);
      return 'refused';
    }
  }

  private async peopleAct(): Promise<boolean> {
    const { scenario } = this;
    if (scenario.people === undefined) return false;
    let acted: boolean | undefined;
    const work = this.tolerated('people', async () => scenario.people?.(this.engine, this.outside, this));
    void work.then((result) => {
      acted = result === true;
      if (result === 'refused') this.refused.add('people');
    });
    const before = this.applications;
    await turnOfTheLoop();
    // Still under way, it waits for the clock; and what changed nothing would only be said again.
    return acted === true && this.applications > before;
  }

  /** As a service does from time to time: what was held, or an outcome that could not be stored as delivered. */
  private recoverAgain(): boolean {
    this.recoveries += 1;
    this.recovered = false;
    void this.tolerated('recover', () => this.engine.recover()).then(() => {
      this.recovered = true;
    });
    return this.recoveries < RECOVERIES;
  }

  private atRest(): boolean {
    if (!this.recovered || this.underWay.size > 0 || this.outside.flying.length > 0) return false;
    if (this.view.markers.size > 0) return false;
    if ([...this.view.inbox.values()].some((list) => list.length > 0)) return false;
    if (this.refused.size > 0) return false;
    return true;
  }

  /** To the next moment at which anything happens; false where nothing ever will. */
  private passTime(): boolean {
    // What was refused is tried again a second later.
    const again = this.refused.size > 0 ? this.outside.now + 1_000 : undefined;
    this.refused.clear();
    const moments = [this.clock.next, this.outside.nextLanding, again].filter((moment) => moment !== undefined);
    if (moments.length === 0) return false;
    this.outside.passTo(Math.min(...moments));
    this.clock.fireDue();
    return true;
  }
}

/** The input of a call as the ledger names it. */
export const named = (input: Json): string => JSON.stringify(input);
