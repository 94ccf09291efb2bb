// The real engine, driven along a path of its chart: each process of it writes down what the engine did with the chart,
// and everything that is on disk can be looked at after every step.
import type { Limits, TurnMachine } from '../../machines/index.js';
import type { Phase } from '../../src/core/records.js';
import { phaseOf } from '../../src/core/step.js';
import type { TurnDriver } from '../../src/engine/turn-driver.js';
import type { Head, SessionRecords, TurnEngine, TurnStore } from '../../src/index.js';
import type { PathStart } from '../../src/testing/paths.js';
import { World } from '../engine/world.js';
import { Application, type Ledger } from './application.js';
import { type Taken, watchedChart } from './watched-chart.js';

export const SESSION = 's';

/** What has to be there before a turn is long enough to be made shorter. */
const HISTORY = Array.from({ length: 4 }, (_, n) => ({
  role: 'assistant' as const,
  content: [{ type: 'text' as const, text: `${n} ${'before '.repeat(100)}` }],
}));

/** Moments by timer id, as the chart's own words give them. */
export type Moments = ReadonlyMap<string, number>;

export class Stage implements Ledger {
  readonly world: World;
  readonly machine: TurnMachine;
  readonly landed: { readonly tool: string; readonly key: string }[] = [];
  /** Of the newest process. */
  application = new Application(this);
  engine!: TurnEngine;
  turnId = '';
  /** What the engine of the newest process did with the chart, in its order. */
  taken: Taken[] = [];
  moments = new Map<string, number>();
  /** Deadlines that were on disk when this process began. */
  private kept: Readonly<Record<string, number>> = {};

  constructor(machine: TurnMachine, store?: TurnStore) {
    this.world = new World(store);
    this.machine = machine;
  }

  static async begin(machine: TurnMachine, start: PathStart, store?: TurnStore): Promise<Stage> {
    const stage = new Stage(machine, store);
    stage.boot();
    await stage.engine.importSession(SESSION, HISTORY);
    const attended = start.name === 'attended';
    stage.turnId = (await stage.engine.startTurn({ sessionId: SESSION, input: 'hello', attended })).turnId;
    const limits = (start.input as { limits: Limits }).limits;
    await stage.rest();
    // The first step has no event: its timers are those of the first phase.
    stage.moments = new Map([['xstate.after.setupTimeout.setup', stage.now + 60_000]]);
    const own = stage.driver?.snapshot.context.limits;
    if (own?.approvalMs !== limits.approvalMs) throw new Error(`the turn has other limits than "${start.name}"`);
    return stage;
  }

  private boot(): void {
    this.taken = [];
    this.application = new Application(this);
    const application = this.application;
    const taken = this.taken;
    const machine = watchedChart(this.machine, (step) => {
      if (this.application !== application) return;
      taken.push(step);
      this.follow(step);
    });
    this.engine = this.world.boot({ ...application.options, machine });
  }

  /** kill -9, and the next start. */
  async crash(): Promise<void> {
    await this.world.crash();
    await this.restart();
  }

  /** The next process. */
  async restart(): Promise<void> {
    const { head, checkpoint } = await this.onDisk();
    this.kept = (checkpoint as { deadlines?: Record<string, number> } | null)?.deadlines ?? {};
    // A parked turn is not resumed, and its deadline counts all the same.
    this.moments = new Map(head.waiting === null ? [] : Object.entries(this.kept));
    this.boot();
    this.application.isSetUp = true;
    await this.engine.recover();
    await this.rest();
  }

  /** Everything that can happen without the clock has happened. */
  rest(): Promise<void> {
    return this.world.rest(() => this.taken.length);
  }

  async pass(ms: number): Promise<void> {
    await this.world.clock.advance(ms);
    await this.rest();
    // What a database took its time for may have armed a timer that is due at this very moment.
    await this.world.clock.advance(0);
    await this.rest();
  }

  get now(): number {
    return this.world.clock.now();
  }

  /** undefined while the turn is parked or over. */
  get driver(): TurnDriver | undefined {
    const running = Reflect.get(this.engine, 'roster').driverOf(SESSION);
    return running === undefined ? undefined : (Reflect.get(running, 'driver') as TurnDriver);
  }

  /** The armed timers of the driver. */
  get armed(): Moments {
    return Reflect.get(this.driver as TurnDriver, 'timers').deadlines as Moments;
  }

  async onDisk(): Promise<SessionRecords> {
    return (await this.world.store.load(SESSION)) as SessionRecords;
  }

  get head(): Promise<Head> {
    return this.world.head(SESSION);
  }

  /** Where the engine says that the turn is. */
  async phase(): Promise<Phase> {
    const { driver } = this;
    return driver === undefined ? ((await this.head).phase as Phase) : phaseOf(driver.snapshot);
  }

  /** The messages as texts that two runs can be compared by. */
  async transcript(): Promise<readonly string[]> {
    return (await this.world.messages(SESSION)).map(({ message, meta }) => `${meta.origin} ${JSON.stringify(message)}`);
  }

  /** The moments of the armed timers, from the chart's own words: no part of the engine is asked. */
  private follow({ event, before, plan }: Taken): void {
    const resumed = event.type === 'turn.resumed';
    const keeps = resumed && !ANEW.has(phaseOf(before));
    // A turn that was parked goes on in the process that parked it: its deadline is still the one it had.
    const stored = keeps ? new Map([...this.moments, ...Object.entries(this.kept)]) : new Map<string, number>();
    for (const timer of plan.timers) {
      if (timer.kind === 'cancel') this.moments.delete(timer.id);
      else this.moments.set(timer.id, stored.get(timer.id) ?? this.now + timer.delayMs);
    }
    this.moments.delete(event.type);
  }
}

/** Phases whose time-outs begin anew with a restart; every other one keeps its moment (I13). */
const ANEW: ReadonlySet<Phase> = new Set(['setup', 'awaitingLLM', 'compacting', 'forceStop']);
