/**
 * Owns when a round kills its service: fixed, counted, or drawn from a seed that can be given again.
 * Must not know how a process is killed.
 */

import { fractionsFrom } from '../../testing/random.js';

/** A kill: so many ms after the moment of this number, or after so many posts have landed. */
export type Kill = { readonly delayMs: number } & ({ readonly moment: number } | { readonly landed: number });

export interface KillPlan {
  /** The arguments that make the same plan again. */
  readonly again: string;
  readonly kills: readonly Kill[];
}

export type KillAt = 'batch' | 'random' | number;

/** The third post lands in the middle of the parallel batch: some calls are recorded by then, some are not. */
const IN_THE_BATCH: Kill = { landed: 3, delayMs: 0 };

/** A whole turn with no other kill than the one of the parked turn has about this many moments. */
const MOMENTS = 76;
/** The first call of the model: a kill before it finds no turn, or one that has not done anything. */
const FIRST_MOMENT = 4;
/** A second kill comes at most this many moments behind the first: it finds the recovery, or what follows it. */
const MOMENTS_OF_RECOVERY = 5;
const MOMENTS_BETWEEN = 22;
/** Moments are when something happened; the delay makes kills land between them, too. Most happens in a few ms. */
const SHORT_DELAY_MS = 12;
const LONG_DELAY_MS = 90;

export const MOST_KILLS = 2;

export function planKills(at: KillAt, seed: number): KillPlan {
  if (at === 'batch') return { again: '', kills: [IN_THE_BATCH] };
  if (typeof at === 'number') return { again: ` --kill-at ${at}`, kills: [{ moment: at, delayMs: 0 }] };
  const random = fractionsFrom(seed);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const delay = (): number => upTo(random() < 0.5 ? SHORT_DELAY_MS : LONG_DELAY_MS);
  const first = { moment: FIRST_MOMENT + upTo(MOMENTS - FIRST_MOMENT), delayMs: delay() };
  const between = upTo(random() < 0.5 ? MOMENTS_OF_RECOVERY : MOMENTS_BETWEEN);
  const second = { moment: first.moment + 1 + between, delayMs: delay() };
  return { again: ` --kill-at random --seed ${seed}`, kills: random() < 0.5 ? [first] : [first, second] };
}

export function describeKill(kill: Kill): string {
  const delay = kill.delayMs > 0 ? ` + ${kill.delayMs} ms` : '';
  return 'moment' in kill ? `moment ${kill.moment}${delay}` : `post ${kill.landed} of the turn${delay}`;
}
