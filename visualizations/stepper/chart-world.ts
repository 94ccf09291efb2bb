/**
 * Owns the stepping through the two smaller charts, the gates and one tool call: events in, states out, nothing stored.
 * Must not know the page. Every function is pure.
 */
import { type AnyEventObject, type AnyMachineSnapshot, type AnyStateMachine, initialTransition } from 'xstate';
import { callPathOptions, recoveryPathOptions } from '../../src/testing/own-paths.js';
import type { PathStart } from '../../src/testing/paths.js';
import { type EdgeWatch, watchEdges } from '../../src/testing/taken-edges.js';
import { type Answers, answering, call, recovery } from './guards.js';

export interface ChartEntry {
  readonly what: string;
  readonly edges: readonly string[];
  readonly phase: string;
}

export interface ChartWorld {
  readonly snapshot: AnyMachineSnapshot;
  readonly guards: Answers;
  readonly entries: readonly ChartEntry[];
}

export interface SmallChart {
  readonly machine: AnyStateMachine;
  readonly watch: EdgeWatch;
  readonly starts: readonly PathStart[];
}

const starting = (starts: readonly PathStart[] | undefined): readonly PathStart[] => starts ?? [];

export const SMALL_CHARTS: Readonly<Record<'recovery' | 'call', SmallChart>> = {
  recovery: { machine: recovery, watch: watchEdges(recovery), starts: starting(recoveryPathOptions.starts) },
  call: { machine: call, watch: watchEdges(call), starts: starting(callPathOptions.starts) },
};

const phaseText = ({ value }: AnyMachineSnapshot): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** What guards say counts from the start: a chart of gates is walked through before anybody can send an event. */
export function startChart({ machine, watch, starts }: SmallChart, name: string, guards: Answers): ChartWorld {
  const start = starts.find((one) => one.name === name) ?? starts[0];
  return answering(guards, () => {
    const { edges } = watch.start(start?.input);
    const [snapshot] = initialTransition(machine, start?.input as never);
    return { snapshot, guards, entries: [{ what: `start: ${start?.name}`, edges, phase: phaseText(snapshot) }] };
  });
}

export function sendToChart({ watch }: SmallChart, world: ChartWorld, event: AnyEventObject): ChartWorld {
  return answering(world.guards, () => {
    const { snapshot, edges } = watch.take(world.snapshot, event);
    if (edges.length === 0) return world;
    return { ...world, snapshot, entries: [...world.entries, { what: event.type, edges, phase: phaseText(snapshot) }] };
  });
}

export function mattersToChart({ watch }: SmallChart, world: ChartWorld, event: AnyEventObject): boolean {
  return answering(world.guards, () => watch.take(world.snapshot, event).edges.length > 0);
}
