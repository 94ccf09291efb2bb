/**
 * Owns one schedule from its first process to the one that lives: starts each on what the one before it left, lets the
 * scenario run in it, and says how it ended and what took place.
 * Must not know other schedules, nor what is right.
 */
import { canonicalJson } from '../core/json.js';
import type { Model } from '../core/model.js';
import type { TurnStore } from '../core/ports.js';
import type { TurnEngine } from '../engine/turn-engine.js';
import type { DiskImage } from './crash-disk.js';
import { CrashProcess } from './crash-process.js';
import type { CrashPoint, CrashSchedule } from './crash-schedule.js';
import { type RealWork, realTime, simulatedTime, type Time, turns } from './crash-time.js';
import type { EffectLedger, LedgerEntry } from './ledger.js';
import type { SimulatedClock } from './simulated-clock.js';
import { Timeline } from './timeline.js';

/** What one process is made of. Give all three to the engine: what it does beside them, no crash cuts off. */
export interface CrashWorld {
  readonly store: TurnStore;
  /** Simulated, or that of the wall where the matrix runs in real time. */
  readonly clock: SimulatedClock;
  readonly model: Model;
}

// biome-ignore lint/suspicious/noExplicitAny: the context of its turns is the application's own business.
type AnyEngine = TurnEngine<any>;

export interface Agent {
  createEngine(world: CrashWorld): AnyEngine | Promise<AnyEngine>;
  model(): Model;
  scenario(engine: AnyEngine): Promise<unknown>;
  readonly ledger: EffectLedger;
  readonly realTime: boolean;
  readonly timeoutMs: number;
}

/** An effect that took place. */
export interface Effect {
  readonly tool: string;
  readonly key: string;
  /**
   * What it was about, in every run the same, where keys are new in each: the input of the call that has its key, or the
   * detail it was recorded with; empty where neither is known.
   */
  readonly about: string;
}

/** A call that waits for a person in the end. One that was never dispatched has no key yet. */
export interface ParkedCall {
  readonly tool: string;
  readonly key: string | undefined;
  readonly about: string;
}

export interface CrashRun {
  readonly schedule: CrashSchedule;
  /** How many of its crashes took place. */
  readonly crashes: number;
  /** The status that the scenario ended with; `stuck`, `threw`, or `unknown` where it gave none. */
  readonly outcome: string;
  readonly effects: readonly Effect[];
  readonly parked: readonly ParkedCall[];
  /** The moments of the process behind the last crash. */
  readonly points: readonly CrashPoint[];
  readonly timeline: string;
}

/** Outcomes of a scenario that did not end by itself. */
export const WITHOUT_VERDICT: readonly string[] = ['stuck', 'threw'];
/** The outcome of one that gave neither rest nor outcome of a turn. */
export const WITHOUT_STATUS = 'unknown';

type End =
  | { readonly died: true }
  | { readonly died: false; readonly outcome: string; readonly parked: readonly ParkedCall[] };

export async function runSchedule(agent: Agent, schedule: CrashSchedule, work: RealWork): Promise<CrashRun> {
  const timeline = new Timeline();
  const happened = (): number => timeline.length;
  const time = agent.realTime ? realTime(work, happened, agent.timeoutMs) : simulatedTime(work, happened);
  timeline.startAt(() => time.clock.now());
  const before = agent.ledger.entries.length;
  /** Inputs by idempotency key, of every call that any process knew of. */
  const inputs = new Map<string, string>();
  let image: DiskImage = new Map();
  for (let crashes = 0; ; crashes += 1) {
    const process = new CrashProcess({
      number: crashes + 1,
      image,
      clock: time.clock,
      model: modelOf(agent),
      point: schedule[crashes],
      timeline,
      onCommit: ({ calls }) => {
        for (const { idempotencyKey, input } of calls?.put ?? []) inputs.set(idempotencyKey, canonicalJson(input));
      },
    });
    agent.ledger.listen(({ tool, key }) => process.effect(tool, key));
    const end = await live(agent, process, time);
    process.end();
    // What its tools still do is done before the next process starts, or the effects are counted: a request that was
    // sent may land, also one that the scenario did not wait for.
    await turns();
    await work.over(happened);
    await turns();
    if (!end.died) {
      const effects = agent.ledger.entries.slice(before).map((entry) => effectOf(entry, inputs));
      return { ...end, schedule, crashes, effects, points: process.points, timeline: String(timeline) };
    }
    image = process.store.image;
  }
}

function modelOf(agent: Agent): Model {
  const model: Partial<Model> | undefined = agent.model();
  if (typeof model?.call === 'function') return model as Model;
  throw new TypeError('model must give a model: an object with id and call.');
}

const effectOf = ({ tool, key, detail }: LedgerEntry, inputs: ReadonlyMap<string, string>): Effect => ({
  tool,
  key,
  about: inputs.get(key) ?? (detail === undefined ? '' : canonicalJson(detail)),
});

/** One process: until the scenario has ended in it, or it has died. */
async function live(agent: Agent, process: CrashProcess, time: Time): Promise<End> {
  const death = process.death.then((): End => ({ died: true }));
  const life = lifeOf(agent, process).catch((thrown: unknown): End => {
    process.tell(`THROWS ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
    return { died: false, outcome: 'threw', parked: [] };
  });
  let end: End | undefined;
  void Promise.race([life, death]).then((first) => {
    end = first;
  });
  while (!time.isStuck && !process.isEndless) {
    await turns();
    if (end !== undefined) return end;
    await time.pass();
  }
  process.tell(`IS STUCK: ${process.isEndless ? 'it goes on without end' : 'nothing happens any more'}`);
  return { died: false, outcome: 'stuck', parked: [] };
}

async function lifeOf(agent: Agent, { store, clock, model }: CrashProcess): Promise<End> {
  const engine = await agent.createEngine({ store, clock, model });
  const result = await agent.scenario(engine);
  const inDoubt = (await engine.reviews()).map(({ toolName: tool, idempotencyKey: key, input }) => ({
    tool,
    key,
    about: canonicalJson(input),
  }));
  const asked = (await engine.approvals()).map(({ toolName: tool, input }) => ({
    tool,
    key: undefined,
    about: canonicalJson(input),
  }));
  await engine.close({ graceMs: 0 });
  await store.close();
  return { died: false, outcome: statusOf(result), parked: [...inDoubt, ...asked] };
}

function statusOf(result: unknown): string {
  const status = (result as { readonly status?: unknown } | undefined)?.status;
  return typeof status === 'string' ? status : WITHOUT_STATUS;
}
