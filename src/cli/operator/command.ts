/**
 * Owns which commands the operator has. Must not know what they do.
 */
import { abandon } from './abandon.js';
import { compact } from './compact.js';
import { exportVerb } from './export.js';
import { interrupted } from './interrupted.js';
import { list } from './list.js';
import { repair } from './repair.js';
import { reviews } from './reviews.js';
import { show } from './show.js';
import { stats } from './stats.js';
import { perform, type Verb } from './verb.js';
import { verify } from './verify.js';

/** In the order in which they are listed: first those that only look. */
export const VERBS: readonly Verb[] = [
  verify,
  list,
  show,
  interrupted,
  reviews,
  stats,
  exportVerb,
  repair,
  abandon,
  compact,
];

/** undefined where there is no such command. */
export function operate(name: string, args: readonly string[]): Promise<number> | undefined {
  const verb = VERBS.find((one) => one.name === name);
  return verb === undefined ? undefined : perform(verb, args);
}
