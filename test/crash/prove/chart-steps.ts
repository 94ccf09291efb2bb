// Which phase may follow which, read from the chart itself: edges through the transient phases included.
import { turnMachine } from '../../../machines/index.js';
import { edgesOf, statesOf } from '../../machines/chart.js';

const TRANSIENT = new Set(['injectingMessage', 'recovering']);

function phasesBehind(from: string, seen: Set<string>): Set<string> {
  const found = new Set<string>();
  for (const { from: at, to } of edgesOf(turnMachine)) {
    if (to === null || at !== from || seen.has(to)) continue;
    if (!TRANSIENT.has(to)) found.add(to);
    else for (const phase of phasesBehind(to, new Set([...seen, to]))) found.add(phase);
  }
  return found;
}

/** Edges of `running` can be taken in every phase; those of the watchdog belong to the phase it watches. */
const stepsFrom = (phase: string): Set<string> => {
  const from = [phase, 'running', `${phase}Quiet`];
  return new Set(from.flatMap((id) => [...phasesBehind(id, new Set())]));
};

const steps = new Map(statesOf(turnMachine).map(({ id }) => [id, stepsFrom(id)]));

export const phaseStepIsInChart = (from: string, to: string): boolean =>
  steps.get(from)?.has(to) === true ||
  // The restore arrow leads back into the same phase.
  from === to;
