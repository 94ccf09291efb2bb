// Writes down how the engine walks the gates of recovery: the chart is asked as ever, and tells what it was asked.
import { vi } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { type RecoveryEvent, type RecoveryFacts, recoveryMachine } from '../../machines/index.js';
import { watchEdges } from '../../src/testing/taken-edges.js';

export interface GateWalked {
  readonly facts: RecoveryFacts;
  readonly edges: string[];
  readonly events: RecoveryEvent['type'][];
  /** The state it has come to. */
  value: unknown;
}

/** Until the mocks are restored. `moved` is called at every event, before anything further happens. */
export function watchGates(moved: (event: RecoveryEvent) => void = () => undefined): readonly GateWalked[] {
  const walks: GateWalked[] = [];
  const walkAt = new WeakMap<object, GateWalked>();
  const watch = watchEdges(recoveryMachine);
  const begin = recoveryMachine.getInitialSnapshot.bind(recoveryMachine);
  const move = recoveryMachine.transition.bind(recoveryMachine);
  let isAsking = false;
  const asking = <T>(ask: () => T): T => {
    isAsking = true;
    try {
      return ask();
    } finally {
      isAsking = false;
    }
  };
  vi.spyOn(recoveryMachine, 'getInitialSnapshot').mockImplementation((scope, input) => {
    const snapshot = begin(scope, input);
    // XState makes an idle actor for each question, and that has no facts.
    if (isAsking || input === undefined) return snapshot;
    const { edges } = asking(() => watch.start(input));
    const walk: GateWalked = { facts: input, edges: [...edges], events: [], value: snapshot.value };
    walks.push(walk);
    walkAt.set(snapshot, walk);
    return snapshot;
  });
  vi.spyOn(recoveryMachine, 'transition').mockImplementation((snapshot, event, scope) => {
    const next = move(snapshot, event, scope);
    const walk = walkAt.get(snapshot);
    if (isAsking || walk === undefined) return next;
    moved(event);
    walk.edges.push(...asking(() => watch.take(snapshot as AnyMachineSnapshot, event)).edges);
    walk.events.push(event.type);
    walk.value = next.value;
    walkAt.set(next, walk);
    return next;
  });
  return walks;
}
