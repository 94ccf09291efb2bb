/**
 * Owns the entry point `durable-turn/visualize`: pictures and tables of any XState 5 machine.
 * Must not be loaded by anything a service runs.
 */
import type { AnyStateMachine } from 'xstate';
import { type Variant, withDelays } from './delays.js';
import { layoutChart } from './layout.js';
import { drawChart } from './svg.js';
import type { Scheme } from './theme.js';
import { DEFAULT_NOTATION } from './wording.js';
import { isMachine, readMachine } from './xstate-fields.js';

export interface StatechartOptions {
  readonly directives?: readonly string[];
  readonly variants?: readonly Variant[];
  readonly delays?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
  readonly descriptions?: boolean;
  readonly scheme?: Scheme;
}

export async function renderStatechart(machine: AnyStateMachine, options: StatechartOptions = {}): Promise<string> {
  if (!isMachine(machine)) throw new TypeError('renderStatechart takes a machine of XState 5');
  const variants = options.variants ?? [{ label: '', input: undefined }];
  const chart = withDelays(readMachine(machine), machine, variants, options.delays ?? {});
  const notation = {
    directives: options.directives ?? DEFAULT_NOTATION.directives,
    tags: options.tags ?? DEFAULT_NOTATION.tags,
    descriptions: options.descriptions ?? DEFAULT_NOTATION.descriptions,
  };
  return drawChart(chart, await layoutChart(chart, notation), notation, options.scheme ?? 'auto');
}
