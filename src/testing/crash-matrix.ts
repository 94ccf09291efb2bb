/**
 * Owns which schedules a matrix runs: every point of a run without a crash, every point behind each of those, and
 * random ones; and what they are compared with.
 * Must not know how a schedule runs, nor how its effects are judged.
 */

import { checkFields } from '../core/fields.js';
import type { OutcomeStatus } from '../core/records.js';
import { type CrashReport, expectedOf, Tally } from './crash-report.js';
import { type Agent, type CrashRun, runSchedule, WITHOUT_STATUS, WITHOUT_VERDICT } from './crash-run.js';
import { type CrashPoint, type CrashSchedule, drawSchedule, readSchedule, scheduleText } from './crash-schedule.js';
import { RealWork } from './crash-time.js';
import { EffectLedger, type Ledger } from './ledger.js';
import { randomFrom } from './random.js';

export interface CrashMatrixOptions {
  /**
   * Makes an engine of yours out of the store, clock and model of one process; called for every process. What tools do
   * goes to receivers outside, as your tests have them: those survive.
   */
  createEngine: Agent['createEngine'];
  /** A model for one process: it goes on where the messages say it was, as `scriptedModel` with a list does. */
  model: Agent['model'];
  /**
   * What your service does when it starts and what its callers do then: `recover()`, and the message once more with the
   * same `messageId`. Runs in every process; gives the outcome or rest of the turn.
   */
  scenario: Agent['scenario'];
  /** Made by `ledger()`; tools or receivers record their effects in it. */
  readonly ledger: Ledger;
  readonly expect?: {
    /** The status of every schedule; those that end parked are told as that instead. Default: not compared. */
    readonly outcome?: OutcomeStatus;
    /**
     * How often each call of a tool takes effect; `{}` where none takes any. Default: as often as in the run without a
     * crash, in which there has to be one.
     */
    readonly effects?: { readonly [tool: string]: number };
  };
  /** One crash at every point; or, with `pairs`, also a second one at every point behind it. Default `single`. */
  readonly points?: 'single' | 'pairs';
  /** So many draws of random schedules of one to three crashes. What was run in simulated time is not run again. Default 0. */
  readonly random?: number;
  /** What the random schedules are drawn from; or the text of one schedule, to run it alone. Default `'1'`. */
  readonly seed?: string;
  /** false (default): time is simulated and hours pass at once. true: for tools that use real timers or the network. */
  readonly realTime?: boolean;
  /**
   * With `realTime`: for how many ms on the wall nothing may happen in a process, no write, effect or call of the model,
   * before it counts as stuck. Default 30,000. In simulated time it is stuck when no timer and no work is left.
   */
  readonly timeoutMs?: number;
}

type Expectation = NonNullable<CrashMatrixOptions['expect']>;

const KNOWN: Readonly<Record<keyof CrashMatrixOptions, true>> = {
  createEngine: true,
  model: true,
  scenario: true,
  ledger: true,
  expect: true,
  points: true,
  random: true,
  seed: true,
  realTime: true,
  timeoutMs: true,
};

const STATUSES: Readonly<Record<OutcomeStatus, true>> = {
  completed: true,
  stopped: true,
  failed: true,
  cancelled: true,
  abandoned: true,
};

/**
 * Runs your agent with a crash at every point at which one could make a difference: before and behind every write, and
 * behind every effect. A crash cuts a process off from its store, clock and model for good; the next one starts on what
 * is on the disk. One matrix at a time for one ledger.
 * @throws {TypeError} an option is missing, unknown or wrong. @throws {Error} the scenario is not right without a crash, or
 * nothing would be tested: no effect was recorded, or no process came to the point that `seed` names.
 */
export async function crashMatrix(options: CrashMatrixOptions): Promise<CrashReport> {
  const agent = agentOf(options);
  const { seed = '1', points = 'single', random = 0, expect = {} } = options;
  const only = readSchedule(seed);
  const work = new RealWork();
  try {
    const whole = await runSchedule(agent, [], work);
    const expected = expectedOf(whole, expect.effects ?? {}, expect.outcome);
    const tools = [...whole.effects.map(({ tool }) => tool), ...Object.keys(expect.effects ?? {})];
    checkWhole(whole, new Tally(expected, tools), expect);
    const tally = new Tally(expected, tools);
    const schedules = new Schedules(async (schedule) => {
      const done = await runSchedule(agent, schedule, work);
      tally.add(done);
      return done;
    }, agent.realTime);
    schedules.knows([], whole.points);
    if (only !== undefined) await schedules.run(only);
    if (only !== undefined && tally.crashes === 0) throw neverFired(seed, whole.points);
    if (only === undefined) await runAll(schedules, { pairs: points === 'pairs', random, seed });
    return tally.report(seed);
  } finally {
    agent.ledger.listen(undefined);
  }
}

/** Runs each schedule once, and remembers what came behind its last crash. */
class Schedules {
  readonly #behind = new Map<string, readonly CrashPoint[]>();
  readonly #runOne: (schedule: CrashSchedule) => Promise<CrashRun>;
  /** By the clock on the wall no two runs are the same. */
  readonly #repeats: boolean;

  constructor(runOne: (schedule: CrashSchedule) => Promise<CrashRun>, repeats: boolean) {
    this.#runOne = runOne;
    this.#repeats = repeats;
  }

  knows(schedule: CrashSchedule, points: readonly CrashPoint[]): void {
    this.#behind.set(scheduleText(schedule), points);
  }

  behind(schedule: CrashSchedule): readonly CrashPoint[] | undefined {
    return this.#behind.get(scheduleText(schedule));
  }

  async run(schedule: CrashSchedule): Promise<void> {
    if (this.behind(schedule) !== undefined && !this.#repeats) return;
    const { points, crashes } = await this.#runOne(schedule);
    this.knows(schedule, points);
    // A process that ended before its point ran the shorter schedule.
    this.knows(schedule.slice(0, crashes), points);
  }
}

interface Plan {
  readonly pairs: boolean;
  readonly random: number;
  readonly seed: string;
}

async function runAll(schedules: Schedules, { pairs, random, seed }: Plan): Promise<void> {
  const firsts = schedules.behind([]) ?? [];
  // All with one crash come first: the first failure is then one of the simplest.
  for (const first of firsts) await schedules.run([first]);
  for (const first of pairs ? firsts : []) {
    for (const second of schedules.behind([first]) ?? []) await schedules.run([first, second]);
  }
  for (let index = 0; index < random; index += 1) {
    await schedules.run(drawSchedule(randomFrom(`${seed} ${index}`), (schedule) => schedules.behind(schedule)));
  }
}

/** What is wrong without a crash would be counted as the fault of every crash. */
function checkWhole(whole: CrashRun, tally: Tally, { outcome, effects }: Expectation): void {
  tally.add(whole);
  const { firstFailure } = tally.report('');
  const parked =
    whole.parked.length > 0 ? ` while ${whole.parked.map(({ tool }) => tool).join(', ')} wait for a person` : '';
  const otherwise = outcome === undefined || outcome === whole.outcome ? undefined : `it is ${whole.outcome}${parked}`;
  // What was made wrongly is the cause of whatever else is wrong.
  const reason = madeWrongly(whole) ?? firstFailure?.reason ?? otherwise ?? withoutEffect(whole, effects);
  if (reason === undefined) return;
  throw new Error(`Without any crash, ${reason}. Mend the scenario or \`expect\` first.\n${whole.timeline}`);
}

/** An engine on a store of its own would outlive every crash, and a scenario that does not wait would end before its turn. */
function madeWrongly({ outcome, points }: CrashRun): string | undefined {
  if (WITHOUT_VERDICT.includes(outcome)) return undefined;
  if (outcome === WITHOUT_STATUS) {
    return 'the scenario gave no status: let it return `turn.rest` or `turn.outcome` of the turn';
  }
  if (points.some((point) => point.startsWith('write'))) return undefined;
  return 'nothing was written to the `store` that `createEngine` was given: make the engine of that store, clock and model';
}

/** Where no effect is counted none can be lost or doubled, so every schedule would pass. */
function withoutEffect({ effects }: CrashRun, expected: Expectation['effects']): string | undefined {
  const meant = expected !== undefined && Object.values(expected).every((times) => times === 0);
  if (effects.length > 0 || meant) return undefined;
  return 'no effect was recorded: call `ledger.record()` where a tool takes effect, or give `expect: { effects: {} }` if none does';
}

const neverFired = (seed: string, points: readonly CrashPoint[]): Error =>
  new Error(
    `seed: no process came to the first point of ${JSON.stringify(seed)}, so nothing was tested. ` +
      `Without a crash there are: ${points.join(', ')}.`,
  );

/** @throws {TypeError} names the option and what it has to be. */
function agentOf(options: CrashMatrixOptions): Agent {
  if (typeof options !== 'object' || options === null) throw new TypeError('crashMatrix needs an options object.');
  checkFields(options, KNOWN, (name) => name);
  checkFields(options.expect ?? {}, { outcome: true, effects: true }, (name) => `expect.${name}`);
  const outcome = options.expect?.outcome;
  if (outcome !== undefined && !Object.hasOwn(STATUSES, outcome)) {
    throw new TypeError(`expect.outcome must be one of ${Object.keys(STATUSES).join(', ')}.`);
  }
  const { createEngine, model, scenario, ledger, realTime = false, timeoutMs = 30_000 } = options;
  for (const [name, value] of Object.entries({ createEngine, model, scenario })) {
    if (typeof value !== 'function') throw new TypeError(`crashMatrix needs ${name}, a function.`);
  }
  if (!(ledger instanceof EffectLedger)) throw new TypeError('ledger must be one that ledger() made.');
  const { points = 'single', random = 0, seed = '1' } = options;
  if (points !== 'single' && points !== 'pairs') throw new TypeError("points must be 'single' or 'pairs'.");
  if (!Number.isSafeInteger(random) || random < 0) throw new TypeError('random must be a whole number, 0 or more.');
  if (typeof seed !== 'string') throw new TypeError("seed must be a text, as '42'.");
  if (typeof realTime !== 'boolean') throw new TypeError('realTime must be true or false.');
  if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be a number of ms above 0.');
  return { createEngine, model, scenario, ledger, realTime, timeoutMs };
}
