/**
 * Owns the question which transitions of a machine an event takes, those of its `always` included. XState answers it
 * only to inspection, so every step here is a pure transition that is inspected; nothing is started or executed.
 * Must not know what is asked with it.
 */
import { type AnyEventObject, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';
import { takenIn, transitionIds } from '../visualize/xstate-fields.js';

export interface Taken {
  readonly snapshot: AnyMachineSnapshot;
  /** Ids as in the chart (`readMachine`), in the order in which they were taken. */
  readonly edges: readonly string[];
}

export interface EdgeWatch {
  start(input: unknown): Taken;
  /** A snapshot that is done stays as it is: XState itself would still move it. */
  take(snapshot: AnyMachineSnapshot, event: AnyEventObject): Taken;
}

const nothing = (): void => undefined;

export function watchEdges(machine: AnyStateMachine): EdgeWatch {
  const ids = transitionIds(machine);
  let edges: string[] = [];
  const self = createActor(machine, {
    inspect: (event) => {
      for (const transition of takenIn(event)) edges.push(ids.get(transition) ?? 'unknown');
    },
  });
  // What XState makes for its own pure transitions, except that its system tells the inspector above.
  const scope = {
    self,
    id: '',
    sessionId: '',
    system: self.system,
    defer: nothing,
    logger: nothing,
    stopChild: nothing,
    emit: nothing,
    actionExecutor: nothing,
  } as unknown as Parameters<AnyStateMachine['transition']>[2];
  const watched = (step: () => AnyMachineSnapshot): Taken => {
    edges = [];
    const snapshot = step();
    return { snapshot, edges };
  };
  return {
    start: (input) => watched(() => machine.getInitialSnapshot(scope, input)),
    take: (snapshot, event) =>
      snapshot.status === 'active'
        ? watched(() => machine.transition(snapshot, event, scope))
        : { snapshot, edges: [] },
  };
}
