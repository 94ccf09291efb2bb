// What a run consists of: the exhaustive part, which is always the same, and random schedules up to a number.
import { catalogue } from './catalogue/index.js';
import type { Unit } from './units.js';

export interface Plan {
  /** `quick` leaves pairs out. */
  readonly size: 'quick' | 'normal' | 'full';
  readonly seed: number;
  /** Schedules of the run in all, at least. */
  readonly total: number;
}

export const TOTAL: Readonly<Record<Plan['size'], number>> = { quick: 700, normal: 200_000, full: 1_000_000 };
/** Of the random schedules, the part that is traffic; such a one costs as much as three others. */
const TRAFFIC = 0.06;
/** Schedules of one random unit: a worker is never busy for long. */
const UNIT = 250;

export const exhaustiveUnits = (size: Plan['size']): readonly Unit[] =>
  catalogue.flatMap(({ name: scenario, bulky }): Unit[] => {
    const singles: Unit = { kind: 'singles', scenario };
    const pairs: Unit = { kind: 'pairs', scenario };
    if (size === 'quick') return [singles];
    return bulky === true ? [pairs, singles] : [pairs, { kind: 'failures', scenario }, singles];
  });

/** `done`: the schedules of the exhaustive part. */
export function randomUnits({ total, seed }: Plan, done: number): readonly Unit[] {
  const units: Unit[] = [];
  const left = Math.max(0, total - done);
  const traffic = Math.ceil(left * TRAFFIC);
  for (let from = 0; from < traffic; from += UNIT) {
    units.push({ kind: 'traffic', seed: seed + units.length, schedules: Math.min(UNIT, traffic - from) });
  }
  const drawn = catalogue.filter(({ bulky }) => bulky !== true);
  const each = Math.ceil((left - traffic) / drawn.length);
  for (const { name: scenario } of drawn) {
    for (let from = 0; from < each; from += UNIT) {
      units.push({ kind: 'chains', scenario, seed: seed + units.length, schedules: Math.min(UNIT, each - from) });
    }
  }
  return units;
}
