/**
 * Owns when the processes of one schedule die, and the text of it that runs the same schedule again.
 * Must not know how a process dies.
 */
import type { Random } from './random.js';

/**
 * A moment in the life of a process: right before or right behind its nth write to the disk, or right behind its nth
 * effect. Both counted from 1.
 */
export type CrashPoint = `write ${number} ${'before' | 'behind'}` | `effect ${number}`;

/** Where the first process dies, where the second, and so on; the one behind the last lives. */
export type CrashSchedule = readonly CrashPoint[];

const PREFIX = 'crash at ';
const POINT = /^(?:write [1-9]\d* (?:before|behind)|effect [1-9]\d*)$/;

export const scheduleText = (schedule: CrashSchedule): string => `${PREFIX}${schedule.join(', ')}`;

/** undefined: the text is a seed of random schedules. @throws {TypeError} it begins like a schedule and is none. */
export function readSchedule(seed: string): CrashSchedule | undefined {
  if (!seed.startsWith(PREFIX)) return undefined;
  const points = seed.slice(PREFIX.length).split(', ');
  const wrong = points.find((point) => !POINT.test(point));
  if (wrong !== undefined)
    throw new TypeError(`seed: "${wrong}" is no crash point, as "write 3 behind" or "effect 1" is.`);
  return points as CrashPoint[];
}

/** With the default policy a turn survives three crashes without progress; a fourth is for the gates to judge. */
const MOST_CRASHES = 3;

/**
 * Draws one to three crashes. `behind` gives the points that the process behind these crashes came past, in an earlier
 * run; undefined where it is not known, and then those of the first process stand in for them.
 */
export function drawSchedule(
  random: Random,
  behind: (schedule: CrashSchedule) => readonly CrashPoint[] | undefined,
): CrashSchedule {
  const first = behind([]) ?? [];
  const drawn: CrashPoint[] = [];
  for (let left = 1 + random.below(MOST_CRASHES); left > 0; left -= 1) {
    const points = behind(drawn) ?? first;
    if (points.length === 0) break;
    drawn.push(random.of(points));
  }
  return drawn;
}
