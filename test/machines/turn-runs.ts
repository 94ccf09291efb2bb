// Plays the turn chart purely, the way the driver will: a finished turn is not given events any more.
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import {
  ATTENDED_LIMITS,
  type CallFacts,
  type Limits,
  type ModelErrorKind,
  type ModelFault,
  OFF_MS,
  type TurnEvent,
  type TurnMachine,
  turnMachine,
} from '../../machines/index.js';
import { activeIds } from './chart.js';

export type TurnSnapshot = SnapshotFrom<TurnMachine>;

// Written out where a test depends on them, so that a new default changes no test.
export const WATCHED: Limits = {
  ...ATTENDED_LIMITS,
  idleSoftMs: 90_000,
  idleHardMs: 0,
  retryElapsedMs: 0,
  approvalMs: 300_000,
};
export const UNWATCHED: Limits = { ...WATCHED, idleHardMs: 540_000, retryElapsedMs: 900_000 };
export const ALL_OFF: Limits = { ...WATCHED, idleSoftMs: 0, approvalMs: 0 };

export interface Ran {
  readonly snapshot: TurnSnapshot;
  /** Names of the last macrostep's actions, without XState's own. */
  readonly actions: readonly string[];
  /** Time-outs armed in the last macrostep: `<delay> <state id>` -> ms. */
  readonly armed: Readonly<Record<string, number>>;
  readonly disarmed: readonly string[];
}

interface Action {
  readonly type: string;
  readonly params?: unknown;
}

const timerName = (id: string): string => id.replace(/^xstate\.after\.([^.]+)\.(.*)$/, '$1 $2');

export function ranOf(snapshot: TurnSnapshot, actions: readonly Action[]): Ran {
  const armed: Record<string, number> = {};
  const disarmed: string[] = [];
  for (const { type, params } of actions) {
    const { id, delay, sendId } = (params ?? {}) as { id?: string; delay?: number; sendId?: string };
    if (type === 'xstate.raise' && delay !== undefined) armed[timerName(String(id))] = delay;
    if (type === 'xstate.cancel') disarmed.push(timerName(String(sendId)));
  }
  return {
    snapshot,
    actions: actions.map(({ type }) => type).filter((type) => !type.startsWith('xstate.')),
    armed,
    disarmed,
  };
}

export function begin(limits: Limits = UNWATCHED, machine: TurnMachine = turnMachine): Ran {
  const [snapshot, actions] = initialTransition(machine, { turnId: 't1', limits });
  return ranOf(snapshot, actions);
}

export function send({ snapshot }: Pick<Ran, 'snapshot'>, event: TurnEvent, machine: TurnMachine = turnMachine): Ran {
  if (snapshot.status !== 'active') return { snapshot, actions: [], armed: {}, disarmed: [] };
  const [next, actions] = transition(machine, snapshot, event);
  return ranOf(next, actions);
}

export const play = (from: Ran, events: readonly TurnEvent[], machine: TurnMachine = turnMachine): Ran =>
  events.reduce((ran, event) => send(ran, event, machine), from);

/** The phase: the state right under `running`, or the final state. */
export function phaseOf(snapshot: TurnSnapshot): string {
  const ids = activeIds(snapshot);
  return (ids[1] === 'running' ? ids[2] : ids[1]) ?? '';
}

/** What a checkpoint would store, after the trip through a database. */
export const storedForm = (snapshot: TurnSnapshot, machine: TurnMachine = turnMachine): unknown =>
  JSON.parse(JSON.stringify(machine.getPersistedSnapshot(snapshot)));

/** A restart: stored form, back into a snapshot, and the restore arrow. */
export function resume(snapshot: TurnSnapshot, limits = snapshot.context.limits, machine = turnMachine): Ran {
  // restoreSnapshot asks for an actor scope only to bring back child actors, and this chart has none.
  const restored = machine.restoreSnapshot(storedForm(snapshot, machine) as never, {} as never);
  return send({ snapshot: restored }, { type: 'turn.resumed', limits }, machine);
}

export const loaded: TurnEvent = { type: 'session.loaded' };
export const progressed: TurnEvent = { type: 'model.progressed' };
export const stopRequested: TurnEvent = { type: 'stop.requested', reason: 'the user said stop' };
export const compacted: TurnEvent = { type: 'compaction.applied' };
export const compactionRefused: TurnEvent = { type: 'compaction.refused', reason: 'nothing to cut' };

export const reading: CallFacts = { effect: 'none', needsDecision: false };
export const putting: CallFacts = { effect: 'idempotent', needsDecision: false };
export const sending: CallFacts = { effect: 'external', needsDecision: false };
export const asking: CallFacts = { effect: 'external', needsDecision: true };

export const answered = (...calls: CallFacts[]): TurnEvent => ({
  type: 'model.answered',
  calls,
  fault: null,
  goesOn: false,
});
export const answeredToGoOn: TurnEvent = { type: 'model.answered', calls: [], fault: null, goesOn: true };
export const answeredWith = (fault: ModelFault): TurnEvent => ({
  type: 'model.answered',
  calls: [],
  fault,
  goesOn: false,
});
export const modelFailed = (kind: ModelErrorKind, at = 0, retryAfterMs: number | null = null): TurnEvent => ({
  type: 'model.failed',
  kind,
  reason: kind,
  retryAfterMs,
  at,
});
export const settled = (what: { stop?: string; nudge?: boolean; compact?: boolean } = {}): TurnEvent => ({
  type: 'calls.settled',
  stop: what.stop ?? null,
  nudge: what.nudge ?? false,
  compact: what.compact ?? false,
});

/** A time-out that has passed, as the driver delivers it. */
export const timedOut = (delay: string, state: string): TurnEvent =>
  ({ type: `xstate.after.${delay}.${state}` }) as unknown as TurnEvent;
export const softIdle = timedOut('softTimeout', 'awaitingLLMQuiet');
export const hardIdle = timedOut('hardTimeout', 'awaitingLLMQuiet');
export const hardIdleInForceStop = timedOut('hardTimeout', 'forceStopQuiet');
export const backOffOver = timedOut('backOff', 'retryingLLM');

/** A turn in `awaitingLLM`, and one in each other stable phase: where most tests start. */
export const waiting = (limits: Limits = UNWATCHED, machine: TurnMachine = turnMachine): Ran =>
  play(begin(limits, machine), [loaded], machine);

export const PATH_TO: Readonly<Record<string, readonly TurnEvent[]>> = {
  setup: [],
  awaitingLLM: [loaded],
  retryingLLM: [loaded, modelFailed('network')],
  compacting: [loaded, modelFailed('contextLength')],
  awaitingApproval: [loaded, answered(asking)],
  executingTools: [loaded, answered(sending)],
  awaitingReview: [loaded, answered(sending), { type: 'calls.inDoubt' }],
  forceStop: [loaded, stopRequested],
};

export const inPhase = (phase: string, limits: Limits = UNWATCHED): Ran => {
  const path = PATH_TO[phase];
  if (path === undefined) throw new Error(`${phase} is no stable phase`);
  return play(begin(limits), path);
};

/** Where a delay is off, the chart arms the longest timer Node can hold, and a guard. */
export const OFF = OFF_MS;
