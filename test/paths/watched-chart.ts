// A chart that tells what the engine does with it: every event the real engine gives to it, with the transitions that
// were taken. The engine gets a copy that works like the original; nothing in it is changed.
import type { TurnEvent as ChartEvent, TurnMachine } from '../../machines/index.js';
import { type Plan, step, type TimerEvent, type TurnSnapshot } from '../../src/core/step.js';
import { watchEdges } from '../../src/testing/taken-edges.js';

/** One step of the chart that the engine made. */
export interface Taken {
  readonly event: ChartEvent | TimerEvent;
  readonly before: TurnSnapshot;
  readonly after: TurnSnapshot;
  /** Ids of the transitions, those of `always` included. */
  readonly edges: readonly string[];
  /** What the chart asks for by this step. */
  readonly plan: Plan;
}

export function watchedChart(machine: TurnMachine, tell: (taken: Taken) => void): TurnMachine {
  const copy = machine.provide({}) as TurnMachine;
  const watch = watchEdges(copy);
  const move = copy.transition.bind(copy);
  let isAsking = false;
  copy.transition = (snapshot, event, scope) => {
    const after = move(snapshot, event, scope);
    if (isAsking) return after;
    isAsking = true;
    try {
      const plan = step(copy, snapshot as TurnSnapshot, event) as Plan;
      const { edges } = watch.take(snapshot, event);
      tell({ event, before: snapshot as TurnSnapshot, after: after as TurnSnapshot, edges, plan });
    } finally {
      isAsking = false;
    }
    return after;
  };
  return copy;
}
