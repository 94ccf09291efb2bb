/**
 * Owns what a caller may say about a chart, and how an XState machine and those options become one chart to draw.
 * Must not know any output format.
 */
import type { AnyStateMachine } from 'xstate';
import type { Chart } from './chart.js';
import { type Variant, withDelays } from './delays.js';
import type { Scheme } from './theme.js';
import { DEFAULT_NOTATION, type Notation } from './wording.js';
import { isMachine, readMachine } from './xstate-fields.js';

export interface StatechartOptions {
  /** Actions that are shown as badges, the stronger first. Default: `checkpointNow` and `checkpoint`. */
  readonly directives?: readonly string[];
  /** What tags mean, for the legend. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Ways of starting the machine, for delays that depend on its context; the usual one first. Default: without input. */
  readonly variants?: readonly Variant[];
  /** What to write for delays that cannot be computed, by name. */
  readonly delays?: Readonly<Record<string, string>>;
  /** Whether boxes show the descriptions of their states; they are tooltips in any case. Default true. */
  readonly descriptions?: boolean;
  /** Default: whatever the reader prefers. */
  readonly scheme?: Scheme;
}

export function notationOf(options: StatechartOptions): Notation {
  return {
    directives: options.directives ?? DEFAULT_NOTATION.directives,
    tags: options.tags ?? DEFAULT_NOTATION.tags,
    descriptions: options.descriptions ?? DEFAULT_NOTATION.descriptions,
  };
}

export function chartOf(machine: AnyStateMachine, options: StatechartOptions): Chart {
  if (!isMachine(machine)) throw new TypeError('expected a machine of XState 5, as createMachine() returns it');
  const variants = options.variants ?? [{ label: '', input: undefined }];
  return withDelays(readMachine(machine), machine, variants, options.delays ?? {});
}
