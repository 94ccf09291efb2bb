// One schedule: processes one after another from a situation until everything rests, and the verdict on what is left.
import { type Ending, Life, type Moment, type Orders, type Situation } from './life.js';
import { Outside } from './outside.js';
import type { Scenario } from './scenario.js';
import { judge, type Verdict } from './verdict.js';

export interface Result extends Verdict {
  readonly faults: readonly string[];
  /** Crashes of this schedule, those before its situation included. */
  readonly crashes: number;
  /** Batches of its first process. */
  readonly batches: number;
  /** Moments at which a process of this schedule could have died, each with another state of the world. */
  readonly moments: readonly Moment[];
}

/** Processes of one schedule, whatever it does. */
const LIVES = 60;
const RESTART_MS = 1_000;

export const nothing = (): Situation => ({ image: new Map(), outside: new Outside() });

/** The moment, some time later, with the process dead. */
export function afterDeath(scenario: Scenario, { image, outside }: Situation, downMs = scenario.downMs): Situation {
  const world = outside.fork();
  world.crashes += 1;
  world.passTo(world.now + (downMs ?? RESTART_MS));
  return { image, outside: world };
}

export interface ScheduleOptions {
  /** Whether the moments are kept. */
  readonly keeps: boolean;
  /** Which process dies at which of its moments, counted from 0, and how long until the next starts. */
  readonly kills?: readonly { readonly at: number; readonly downMs: number }[];
  readonly failing?: Orders['failing'];
}

/** Runs it from there. The situation's world is used up: give a fork. */
export async function runSchedule(scenario: Scenario, from: Situation, options: ScheduleOptions): Promise<Result> {
  const faults: string[] = [];
  const moments: Moment[] = [];
  let situation = from;
  let batches = 0;
  for (let lives = 0; lives < LIVES; lives += 1) {
    const kill = options.kills?.[lives];
    let passed = 0;
    let last = '';
    const life = new Life(scenario, situation, {
      complain: (fault) => faults.push(fault),
      ...(lives === 0 && options.failing !== undefined ? { failing: options.failing } : {}),
      atMoment(moment, signature) {
        // Two moments with the same disk and the same world are one: what follows is the same.
        if (signature === last) return false;
        last = signature;
        if (options.keeps) moments.push(moment());
        passed += 1;
        return kill !== undefined && passed > kill.at;
      },
    });
    const ending: Ending = await life.run();
    if (lives === 0) ({ batches } = life.store);
    const rest = { image: life.store.image, outside: life.outside };
    if (ending === 'rest') {
      const { crashes } = rest.outside;
      return { crashes, batches, faults, moments, ...judge(scenario, rest, faults) };
    }
    situation =
      ending === 'dead' ? afterDeath(scenario, rest, kill?.downMs) : { ...rest, outside: rest.outside.fork() };
  }
  faults.push(`it is not over after ${LIVES} processes`);
  return { crashes: situation.outside.crashes, batches, faults, moments, doubled: 0, lost: 0, effects: 0 };
}
