// The work of a run in pieces that a worker takes one at a time. A piece is plain data, and the same piece gives the
// same schedules on every machine.
import fc from 'fast-check';
import { catalogue } from './catalogue/index.js';
import type { Moment, Situation } from './life.js';
import { numbersFrom } from './random.js';
import type { Scenario } from './scenario.js';
import { afterDeath, nothing, type Result, runSchedule } from './schedule.js';
import { scenarioOf, scheduleOf, type Traffic, traffic } from './traffic.js';

export type Unit =
  /** Every single crash point of a scenario; every pair; every failure of a batch, alone and before a crash. */
  | { readonly kind: 'singles' | 'pairs' | 'failures'; readonly scenario: string }
  /** Crashes during the recovery from the crash before, three to ten in a row. */
  | { readonly kind: 'chains'; readonly scenario: string; readonly seed: number; readonly schedules: number }
  | { readonly kind: 'traffic'; readonly seed: number; readonly schedules: number; readonly path?: string };

export interface Failure {
  /** How to see it again. */
  readonly where: string;
  readonly faults: readonly string[];
}

export interface Tally {
  schedules: number;
  crashes: number;
  effects: number;
  doubled: number;
  lost: number;
  /** Of this scenario, where the unit is about one. */
  singles: number;
  readonly failures: Failure[];
}

export const noTally = (): Tally => ({
  schedules: 0,
  crashes: 0,
  effects: 0,
  doubled: 0,
  lost: 0,
  singles: 0,
  failures: [],
});

export function addTally(sum: Tally, more: Tally): void {
  sum.schedules += more.schedules;
  sum.crashes += more.crashes;
  sum.effects += more.effects;
  sum.doubled += more.doubled;
  sum.lost += more.lost;
  sum.failures.push(...more.failures);
}

/** Failures that are kept: the first ones are the smallest. */
const KEPT = 5;
const LONGEST_CHAIN = 10;

class Runner {
  readonly tally = noTally();

  async run(scenario: Scenario, from: Situation, where: readonly string[], more = {}): Promise<Result> {
    const result = await runSchedule(scenario, from, { keeps: true, ...more });
    this.count(result, [scenario.name, ...where].join(' > '));
    return result;
  }

  count(result: Result, where: string): void {
    const { tally } = this;
    tally.schedules += 1;
    tally.crashes += result.crashes;
    tally.effects += result.effects;
    tally.doubled += result.doubled;
    tally.lost += result.lost;
    if (result.faults.length > 0 && tally.failures.length < KEPT) tally.failures.push({ where, faults: result.faults });
  }
}

const named = (name: string): Scenario => {
  const found = catalogue.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`there is no scenario "${name}"`);
  return found;
};

const numbered = (moments: readonly Moment[]): readonly (readonly [string, Moment])[] =>
  moments.map((moment, index) => [`${index} (${moment.name})`, moment]);

async function explore(scenario: Scenario, pairs: boolean): Promise<Tally> {
  const runner = new Runner();
  const base = await runner.run(scenario, nothing(), []);
  runner.tally.singles = base.moments.length;
  for (const [first, moment] of numbered(base.moments)) {
    const again = await runner.run(scenario, afterDeath(scenario, moment), [first]);
    if (!pairs) continue;
    for (const [second, later] of numbered(again.moments)) {
      await runner.run(scenario, afterDeath(scenario, later), [first, second], { keeps: false });
    }
  }
  // What the singles have run before is not counted again.
  if (pairs) runner.tally.schedules -= 1 + base.moments.length;
  if (pairs) runner.tally.crashes -= base.moments.length;
  return runner.tally;
}

async function failures(scenario: Scenario): Promise<Tally> {
  const runner = new Runner();
  for (const fate of ['failBefore', 'failAfter'] as const) {
    for (let nth = 2; ; nth += 1) {
      const failing = new Map([[nth, fate]]);
      const { moments, batches } = await runner.run(scenario, nothing(), [`batch ${nth}: ${fate}`], { failing });
      if (batches < nth) break;
      for (const [name, moment] of numbered(moments)) {
        await runner.run(scenario, afterDeath(scenario, moment), [`batch ${nth}: ${fate}`, name], { keeps: false });
      }
    }
  }
  return runner.tally;
}

/** Crashes that the pairs have tried. A chain begins with such ones, and they are not counted again. */
const TRIED = 2;

/** What follows crashes that the pairs have tried: the same for every chain of the scenario, so it is run once. */
class Beginnings {
  readonly scenario: Scenario;
  readonly #moments = new Map<string, readonly Moment[]>();

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  /** `where` names the crashes before this situation. */
  async moments(where: readonly string[], from: () => Situation): Promise<readonly Moment[]> {
    const name = where.join(' > ');
    const known = this.#moments.get(name);
    if (known !== undefined) return known;
    const { moments } = await runSchedule(this.scenario, from(), { keeps: true });
    this.#moments.set(name, moments);
    return moments;
  }
}

/** Of the scenario this worker is at: chains of one scenario come one after another. */
let beginnings: Beginnings | undefined;

/** Each crash of a chain ends a schedule of its own: what comes behind it is run to the end. */
async function chains(scenario: Scenario, seed: number, schedules: number): Promise<Tally> {
  const runner = new Runner();
  const random = numbersFrom(seed);
  if (beginnings?.scenario !== scenario) beginnings = new Beginnings(scenario);
  while (runner.tally.schedules < schedules) {
    const where: string[] = [];
    let moments = await beginnings.moments(where, nothing);
    for (let depth = 1; depth <= LONGEST_CHAIN && moments.length > 0; depth += 1) {
      const at = random(moments.length);
      const moment = moments[at] as Moment;
      where.push(`${at} (${moment.name})`);
      const from = (): Situation => afterDeath(scenario, moment);
      if (depth <= TRIED) moments = await beginnings.moments(where, from);
      else ({ moments } = await runner.run(scenario, from(), where));
    }
  }
  return runner.tally;
}

async function randomTraffic(seed: number, schedules: number, path: string | undefined): Promise<Tally> {
  const runner = new Runner();
  const property = fc.asyncProperty(traffic, async (data: Traffic) => {
    const result = await runSchedule(scenarioOf(data), nothing(), scheduleOf(data));
    runner.count({ ...result, faults: [] }, '');
    return result.faults.length === 0;
  });
  const more = path === undefined ? {} : { path };
  const found = await fc.check(property, { seed, numRuns: schedules, ...more });
  const [smallest] = found.counterexample ?? [];
  if (smallest !== undefined) {
    const { faults } = await runSchedule(scenarioOf(smallest), nothing(), scheduleOf(smallest));
    const where = `--seed ${found.seed} --path ${found.counterexamplePath}`;
    runner.tally.failures.push({ where: `${where}\n${JSON.stringify(smallest)}`, faults });
  }
  return runner.tally;
}

export function perform(unit: Unit): Promise<Tally> {
  switch (unit.kind) {
    case 'singles':
    case 'pairs':
      return explore(named(unit.scenario), unit.kind === 'pairs');
    case 'failures':
      return failures(named(unit.scenario));
    case 'chains':
      return chains(named(unit.scenario), unit.seed, unit.schedules);
    default:
      return randomTraffic(unit.seed, unit.schedules, unit.path);
  }
}
