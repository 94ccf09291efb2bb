// The life of one process: an engine on a disk, until everything rests or the process dies. The engine works in
// microtasks only, so one turn of the event loop is everything that can happen without the clock; then senders, people
// and the clock have their turn, always in the same order. The same life gives the same moments, every time.
import { createTurnEngine, type Json, type Model, type TurnEngine, TurnError } from '../../../src/index.js';
import { CrashStore, type DiskImage } from '../../../src/testing/crash-store.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { never } from '../../../src/testing/mortal-store.js';
import { LifeChecks } from './life-checks.js';
import { LifeClock } from './life-clock.js';
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

/** More turns of the event loop than any schedule takes: a refused sender comes back each second of every hanging model. */
const ROUNDS = 2_000;
/** Calls of `recover()` in one life. */
const RECOVERIES = 5;
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class Life {
  readonly outside: Outside;
  readonly store: CrashStore;
  readonly engine: TurnEngine;
  readonly clock: LifeClock;
  readonly checks: LifeChecks;
  /** Sessions where somebody has said in this life that they are there. */
  readonly present = new Set<string>();
  private readonly scenario: Scenario;
  private readonly orders: Orders;
  private readonly underWay = new Set<string>();
  private readonly refused = new Set<string>();
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
    this.checks = new LifeChecks({
      outside,
      present: this.present,
      began: this.view,
      view: () => this.view,
      isDead: () => this.store.dead,
      complain: (fault) => this.complain(fault),
    });
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
      onEvent: (event) => {
        if (this.store.dead) return;
        this.checks.event(event);
        this.startActs();
      },
      onOutcome: async ({ status }, { turnId }) => {
        if (this.store.dead) return never();
        this.checks.checkDelivered(turnId, status);
        outside.count(`outcome ${turnId}`);
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
      this.checks.checkPairs(request);
      this.checks.checkForeign(call.sessionId, call.turnId, 'the model');
      await this.at('before the model answers');
      return scenario.answer(request, outside, call.sessionId);
    });
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
