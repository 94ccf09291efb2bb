/**
 * Owns the moves of a machine: snapshot + event -> next snapshot, and the actions of that in the order of the chart.
 * Must not know which machine it is, nor what its actions ask for. Pure: nothing of them is executed.
 *
 * XState's own `transition()` and `initialTransition()` make an actor for every move, with a snapshot of its own that
 * nobody sees: that is more than half of what a move costs. The actor does nothing but be there, so one for each
 * machine is enough. What XState asks of an actor's scope is no promise of its versions: package.json allows patches of
 * one minor version only, and whoever raises it has the tests of these moves beside XState's own.
 */
import { type AnyActorScope, type AnyStateMachine, createActor, type EventFromLogic, type SnapshotFrom } from 'xstate';

export interface Action {
  readonly type: string;
  readonly params?: unknown;
}

type Moved<M extends AnyStateMachine> = readonly [next: SnapshotFrom<M>, actions: readonly Action[]];
type Scope = Omit<AnyActorScope, 'actionExecutor'>;

const scopes = new WeakMap<AnyStateMachine, Scope>();

/** What lists the actions of one move. */
function scopeOf(machine: AnyStateMachine, actions: Action[]): AnyActorScope {
  let scope = scopes.get(machine);
  if (scope === undefined) {
    const self = createActor(machine);
    const { id, sessionId, system } = self;
    const nothing = (): void => undefined;
    scope = { self, id, sessionId, system, logger: nothing, defer: nothing, emit: nothing, stopChild: nothing };
    scopes.set(machine, scope);
  }
  return { ...scope, actionExecutor: (action: Action) => void actions.push(action) };
}

/** Into the first stable state. What throws on the way is in the snapshot, whose status is then `error`. */
export function firstMove<M extends AnyStateMachine>(
  machine: M,
  input: Parameters<M['getInitialSnapshot']>[1],
): Moved<M> {
  const actions: Action[] = [];
  return [machine.getInitialSnapshot(scopeOf(machine, actions), input) as SnapshotFrom<M>, actions];
}

/** One macrostep. */
export function move<M extends AnyStateMachine>(
  machine: M,
  snapshot: SnapshotFrom<M>,
  event: EventFromLogic<M>,
): Moved<M> {
  const actions: Action[] = [];
  return [machine.transition(snapshot, event, scopeOf(machine, actions)) as SnapshotFrom<M>, actions];
}
