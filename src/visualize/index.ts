/**
 * Owns the entry point `durable-turn/visualize`: pictures, tables and other forms of any XState 5 machine.
 * Must not be loaded by anything a service runs. The layout engine (elkjs, an optional peer) is loaded by the first
 * picture, so that importing this costs nothing.
 */
import type { AnyStateMachine } from 'xstate';
import { layoutChart } from './layout.js';
import { chartOf, notationOf, type StatechartOptions } from './options.js';
import { drawChart } from './svg.js';

export { chartFiles } from './chart-files.js';
export type { Variant } from './delays.js';
export type { StatechartOptions } from './options.js';
export type { Scheme } from './theme.js';

/** The chart of a machine as an SVG, with its styles for light and dark inside. */
export async function renderStatechart(machine: AnyStateMachine, options: StatechartOptions = {}): Promise<string> {
  const chart = chartOf(machine, options);
  const notation = notationOf(options);
  return drawChart(chart, await layoutChart(chart, notation), notation, options.scheme ?? 'auto');
}
