// Goes a path of the turn chart with the real engine and looks, after every step, whether phase, checkpoint, marker and
// facts are the chart's (I15). A walk can be cut off after any step and go on in the next process.
import { expect } from 'vitest';
import type { AnyEventObject } from 'xstate';
import type { TurnMachine } from '../../machines/index.js';
import { isSettled } from '../../src/core/journal.js';
import type { Json } from '../../src/core/json.js';
import { withShown } from '../../src/core/outputs.js';
import type { Phase } from '../../src/core/records.js';
import { phaseOf, type TurnSnapshot } from '../../src/core/step.js';
import type { TurnStore } from '../../src/index.js';
import type { MachinePath, PathStep } from '../../src/testing/paths.js';
import { executorOf, happensIn } from './executors.js';
import { checksOf, type Durability, promised } from './promises.js';
import { Stage } from './stage.js';
import type { Taken } from './watched-chart.js';

/** `soon` is `now` for a walk that takes its time: two seconds pass before every event. */
export type Pace = 'slow' | 'fast';
const PAUSE_MS = 2_000;

/** What happens next in each phase of a turn that nobody disturbs. */
const NEXT: Readonly<Partial<Record<Phase, AnyEventObject>>> = {
  setup: { type: 'session.loaded' },
  awaitingLLM: { type: 'model.answered', calls: [], fault: null, goesOn: false },
  retryingLLM: { type: 'xstate.after.backOff.retryingLLM' },
  compacting: { type: 'compaction.refused' },
  awaitingApproval: { type: 'approvals.decided' },
  executingTools: { type: 'calls.settled', stop: null, nudge: false, compact: false },
  awaitingReview: { type: 'calls.reviewed' },
  forceStop: { type: 'model.answered', calls: [], fault: null, goesOn: false },
};

/** What the engine does by itself as soon as an event has happened: everywhere else it waits for the next one. */
const FOLLOWED_BY: Readonly<Record<string, readonly string[]>> = {
  // Recovery has built dependencies and tools before it resumes a turn.
  'turn.resumed': ['session.loaded'],
  // The call nobody decided about was the only one.
  'xstate.after.approvalDeadline.awaitingApproval': ['calls.settled'],
};

/** What a turn left behind. */
export interface Result {
  readonly transcript: readonly string[];
  readonly effects: readonly string[];
  readonly phase: Phase;
}

export interface WalkOptions {
  readonly pace: Pace;
  /** kill -9 behind this many steps. */
  readonly crashAfter?: number;
  readonly store?: TurnStore;
}

export class Walk {
  readonly stage: Stage;
  /** The crash threw the turn back to where an event of the path does not belong: its end is another one. */
  diverged = false;
  private readonly path: MachinePath;
  private readonly pace: Pace;
  /** The checkpoint on disk, and how many steps of the path it holds. */
  private checkpoint: Json | null = null;
  private durableSteps = 0;
  private durable: TurnSnapshot | undefined;

  private constructor(stage: Stage, path: MachinePath, pace: Pace) {
    this.stage = stage;
    this.path = path;
    this.pace = pace;
  }

  /** The whole path, and on to the end of the turn. */
  static async go(machine: TurnMachine, path: MachinePath, { pace, crashAfter, store }: WalkOptions): Promise<Walk> {
    const stage = await Stage.begin(machine, path.start, store);
    const walk = new Walk(stage, path, pace);
    await walk.begun();
    const { steps } = path;
    for (let n = 0; n < (crashAfter ?? steps.length); n += 1) await walk.take(steps[n] as PathStep, n);
    if (crashAfter !== undefined) await walk.crash();
    await walk.finish();
    expect(stage.world.witness.violations).toEqual([]);
    return walk;
  }

  async result(): Promise<Result> {
    const { stage } = this;
    const keys = stage.landed.map(({ key }) => key);
    expect(keys, 'no effect happened twice').toEqual([...new Set(keys)]);
    return {
      transcript: await stage.transcript(),
      effects: stage.landed.map(({ tool }) => tool),
      phase: (await stage.head).phase as Phase,
    };
  }

  private async begun(): Promise<void> {
    const { head, checkpoint } = await this.stage.onDisk();
    expect(head).toMatchObject({ inProgress: true, phase: 'setup' });
    this.checkpoint = checkpoint;
    this.durable = this.stage.driver?.snapshot;
    await this.check();
  }

  /** One step of the path: exactly its edges, and nothing that the chart does not show. */
  private async take({ event, edges, value }: PathStep, index: number): Promise<void> {
    const main = await this.bring(event, this.path.steps.slice(index + 1));
    expect(main?.edges, `the edges of ${event.type}`).toEqual(edges);
    expect(main?.after.value, `where ${event.type} leads`).toEqual(value);
    const behind = this.recent.slice(this.recent.indexOf(main as Taken) + 1);
    expect(behind.map((taken) => taken.event.type)).toEqual(FOLLOWED_BY[event.type] ?? []);
    await this.onDisk(index + 1);
    await this.check();
  }

  /** Makes an event happen; gives the step of the chart that it was. */
  private async bring(event: AnyEventObject, upcoming: readonly PathStep[]): Promise<Taken | undefined> {
    const { stage } = this;
    if (this.pace === 'slow' && (await stage.phase()) !== 'retryingLLM') await stage.pass(PAUSE_MS);
    const settles = upcoming.find(({ event: { type } }) => type === 'calls.settled' || type === 'model.answered');
    stage.application.isLong = settles?.event.type === 'calls.settled' && settles.event.compact === true;
    const from = stage.taken.length;
    const before = stage.taken;
    await executorOf(event).run(stage, event);
    await stage.rest();
    const since = before.slice(from);
    this.recent = stage.taken === before ? since : [...since, ...stage.taken];
    return this.recent.find((taken) => taken.event.type === event.type);
  }

  /** What the latest event led to. */
  private recent: readonly Taken[] = [];

  /** The checkpoint is written when the design says so, and only then. */
  private async onDisk(steps: number): Promise<void> {
    const { checkpoint } = await this.stage.onDisk();
    const written = JSON.stringify(checkpoint) !== JSON.stringify(this.checkpoint);
    const wanted = strongest(this.recent.map(promised));
    // I15: the chart shows every checkpoint that the engine writes, those of an end included.
    expect(strongest(this.recent.map(({ plan }) => SHOWN[plan.directive]))).toBe(wanted);
    const what = this.recent.map(({ event }) => event.type).join(', ');
    if (wanted === 'now' || (wanted === 'soon' && this.pace === 'slow')) {
      expect(written, `${what}: a checkpoint is written`).toBe(true);
    }
    if (wanted === 'no') expect(written, `${what}: no checkpoint is written`).toBe(false);
    if (!written) return;
    this.checkpoint = checkpoint;
    this.durableSteps = steps;
    const stored = checkpoint as { snapshot: { value: unknown; context: unknown }; deadlines: unknown } | null;
    const last = this.written(stored?.snapshot.value);
    this.durable = last.after;
    if (last.after.status !== 'active') return expect(checkpoint).toBeNull();
    expect(stored?.snapshot.value).toEqual(last.after.value);
    expect(stored?.snapshot.context).toEqual(last.after.context);
    if (last !== this.recent.at(-1)) return;
    expect(stored?.deadlines).toEqual(Object.fromEntries(this.stage.moments));
    const { driver } = this.stage;
    if (driver !== undefined) expect(await this.stage.world.messages()).toEqual(driver.records.messages);
  }

  /** The step that the checkpoint holds: the last one that forces it, or one behind it that takes the chance. */
  private written(value: unknown): Taken {
    const wanted = this.recent.filter((taken) => promised(taken) !== 'no');
    const forced = wanted.findLastIndex((taken) => promised(taken) === 'now');
    const candidates = wanted.slice(Math.max(0, forced));
    const found = candidates.find(({ after }) => JSON.stringify(after.value) === JSON.stringify(value));
    return (found ?? candidates.at(-1)) as Taken;
  }

  /** The engine is in the chart's phase, with the chart's timers, and keeps what that phase promises. */
  private async check(): Promise<void> {
    const { stage } = this;
    const phase = await stage.phase();
    const last = stage.taken.at(-1);
    if (last !== undefined) expect(phase).toBe(phaseOf(last.after));
    const { head, calls, messages } = await stage.onDisk();
    const marked = (await stage.world.store.markers('agent')).map(({ turnId }) => turnId);
    expect(marked, 'the marker (I2)').toEqual(head.inProgress ? [stage.turnId] : []);
    if (head.handedOver) return;
    for (const check of checksOf(phase)) await check(stage);
    if (stage.driver === undefined) return;
    expect(stage.armed).toEqual(stage.moments);
    const { journal } = stage.driver.records;
    for (const call of withShown(calls, messages)) {
      const known = journal.get(call.callId);
      // An output that a compaction took out of the list is kept there and nowhere else.
      expect(call).toEqual(isSettled(call) && call.output === null ? { ...known, output: null } : known);
    }
  }

  /** Whatever the path left open comes to its end, step by step as the chart has it. */
  private async finish(): Promise<void> {
    const { stage } = this;
    if ((await stage.head).handedOver) await stage.restart();
    for (let steps = 0; (await stage.head).inProgress; steps += 1) {
      if (steps > 30) throw new Error(`the turn comes to no end in ${await stage.phase()}`);
      const event = NEXT[await stage.phase()];
      if (event === undefined) throw new Error(`nothing is known to happen in ${await stage.phase()}`);
      await this.bring(event, []);
      await this.check();
    }
  }

  private async crash(): Promise<void> {
    const { stage } = this;
    const durable = this.durable as TurnSnapshot;
    const { waiting, inProgress } = await stage.head;
    await stage.crash();
    const resumed = stage.taken.find(({ event }) => event.type === 'turn.resumed');
    if (!inProgress || waiting !== null) expect(resumed).toBeUndefined();
    else {
      expect(resumed?.before.value, 'it is found where its checkpoint was').toEqual(durable.value);
      expect(resumed?.after.value, 'and goes on there').toEqual(durable.value);
    }
    if (inProgress) await this.goOn(phaseOf(durable));
  }

  /** The rest of the path, from the checkpoint on: what came behind it happens again. */
  private async goOn(phase: Phase): Promise<void> {
    const { stage } = this;
    // A used approval never covers a second dispatch, and a doubt needs somebody: then the turn is there again.
    for (let n = 0; n < 3 && ['awaitingApproval', 'awaitingReview'].includes(await stage.phase()); n += 1) {
      if ((await stage.phase()) === phase) break;
      await this.bring(NEXT[await stage.phase()] as AnyEventObject, []);
    }
    await this.check();
    const rest = this.path.steps.slice(this.durableSteps);
    for (const [n, { event, edges }] of rest.entries()) {
      // What the engine goes on with by itself needs nobody to make it happen.
      if (stage.taken.some((taken) => taken.event.type === event.type)) continue;
      if (!(await stage.head).inProgress || !happensIn(event, await stage.phase())) {
        this.diverged = true;
        return;
      }
      const main = await this.bring(event, rest.slice(n + 1));
      if (JSON.stringify(main?.edges) !== JSON.stringify(edges)) this.diverged = true;
      await this.check();
    }
  }
}

const SHOWN = { none: 'no', debounced: 'soon', forced: 'now' } as const;

const ORDER: readonly Durability[] = ['no', 'soon', 'now'];

const strongest = (all: readonly Durability[]): Durability =>
  ORDER[Math.max(0, ...all.map((one) => ORDER.indexOf(one)))] as Durability;
