// Walks every state a chart can be in, with @xstate/graph. The context of a turn is unbounded (iterations, moments),
// so a state is told from another by what the guards can tell apart, and by nothing else.
import { getAdjacencyMap } from '@xstate/graph';
import type { AnyEventObject, AnyStateMachine, EventFromLogic, SnapshotFrom } from 'xstate';
import {
  type Limits,
  NUDGE_WINDOW,
  RETRY_CALLS,
  type TurnContext,
  type TurnEvent,
  type TurnMachine,
  turnMachine,
} from '../../machines/index.js';
import { eventTypesOf } from './chart.js';
import {
  answered,
  answeredToGoOn,
  answeredWith,
  asking,
  compactionRefused,
  modelFailed,
  putting,
  reading,
  sending,
  settled,
  stopRequested,
  type TurnSnapshot,
} from './turn-runs.js';

/** Past everything that `retryElapsedMs` of these tests allows, and longer than a `Retry-After` may be. */
const LATE_MS = 3_600_000;

const PAYLOADS: Readonly<Record<string, (context: TurnContext) => readonly TurnEvent[]>> = {
  'session.failed': () => [{ type: 'session.failed', reason: 'no such session' }],
  'model.answered': () => [
    answered(),
    answeredToGoOn,
    answered(reading),
    answered(reading, putting),
    answered(sending),
    answered(reading, asking),
    ...(['empty', 'cutOff', 'filtered', 'noCallCanRun'] as const).map(answeredWith),
  ],
  'model.failed': (context) => {
    const since = context.failingSince ?? 0;
    return [
      modelFailed('network', since + 1),
      modelFailed('network', since + LATE_MS),
      modelFailed('rateLimited', since + 1),
      modelFailed('rateLimited', since + 1, 20_000),
      modelFailed('overloaded', since + 1, LATE_MS),
      modelFailed('contextLength', since + 1),
      modelFailed('auth', since + 1),
    ];
  },
  'calls.settled': () => [settled(), settled({ stop: 'loop' }), settled({ nudge: true }), settled({ compact: true })],
  'compaction.refused': () => [compactionRefused],
  'stop.requested': () => [stopRequested],
  'input.arrived': () => [{ type: 'input.arrived', waiting: 1 }],
  'turn.resumed': ({ limits }) => [{ type: 'turn.resumed', limits }],
  'turn.faulted': () => [{ type: 'turn.faulted', reason: 'a guard threw' }],
};

/** Every event that the active phases know, with payloads that lead to every branch. */
export const eventsOf = (snapshot: TurnSnapshot): TurnEvent[] =>
  eventTypesOf(snapshot).flatMap((type) => PAYLOADS[type]?.(snapshot.context) ?? [{ type } as TurnEvent]);

/** What the guards and delays of the chart can tell apart. */
export function keyOf({ value, context: c }: TurnSnapshot): string {
  const cause = c.cause === null ? '' : { ...c.cause, reason: '' };
  const late = (c.failedAt ?? 0) - (c.failingSince ?? 0) >= LATE_MS;
  const nudges = c.nudges.filter((at) => at > c.iterations - NUDGE_WINDOW).length;
  const failures = Math.min(c.modelFailures, RETRY_CALLS);
  const flags = [c.stopAsked !== null, c.stopping !== null, c.compactedForLength, c.pendingInput > 0, late];
  return JSON.stringify([value, cause, failures, nudges, flags.map(Number).join('')]);
}

/** One state of a walk with everything that may happen to it. */
export interface Place<S, E> {
  readonly key: string;
  readonly state: S;
  readonly ways: readonly { readonly event: E; readonly next: S; readonly nextKey: string }[];
}

export type Walk<S, E> = readonly Place<S, E>[];

export interface WalkOptions<S, E> {
  readonly input: unknown;
  readonly events: (state: S) => readonly E[];
  readonly key: (state: S) => string;
}

// A chart that grew without bounds should fail, not fill the memory.
const MOST_EDGES = 100_000;

export function walkOf<M extends AnyStateMachine>(
  machine: M,
  { input, events, key }: WalkOptions<SnapshotFrom<M>, EventFromLogic<M>>,
): Walk<SnapshotFrom<M>, EventFromLogic<M>> {
  type S = SnapshotFrom<M>;
  type E = EventFromLogic<M>;
  const graph = getAdjacencyMap(machine as AnyStateMachine, {
    input,
    events: events as (state: unknown) => readonly AnyEventObject[],
    serializeState: key as (state: unknown) => string,
    stopWhen: ({ status }) => status !== 'active',
    limit: MOST_EDGES,
  }) as unknown as Record<string, { state: S; transitions: Record<string, { event: E; state: S }> }>;
  return Object.entries(graph).map(([from, { state, transitions }]) => ({
    key: from,
    state,
    ways: Object.values(transitions).map((to) => ({ event: to.event, next: to.state, nextKey: key(to.state) })),
  }));
}

export const walkTurns = (limits: Limits, machine: TurnMachine = turnMachine): Walk<TurnSnapshot, TurnEvent> =>
  walkOf(machine, { input: { turnId: 't1', limits }, events: eventsOf, key: keyOf });

export const edgeCount = (walk: Walk<unknown, unknown>): number => walk.reduce((sum, { ways }) => sum + ways.length, 0);

/** Keys of the places from which no path leads to an accepted one, over the events that count. */
export function stuckIn<S, E>(
  walk: Walk<S, E>,
  accepted: (state: S) => boolean,
  counts: (event: E) => boolean = () => true,
): string[] {
  const before = new Map<string, string[]>();
  const open: string[] = [];
  for (const { key, state, ways } of walk) {
    if (accepted(state)) open.push(key);
    for (const { nextKey } of ways.filter(({ event }) => counts(event))) {
      before.set(nextKey, [...(before.get(nextKey) ?? []), key]);
    }
  }
  const reached = new Set(open);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const found = (before.get(at) ?? []).filter((key) => !reached.has(key));
    for (const key of found) reached.add(key);
    open.push(...found);
  }
  return walk.map(({ key }) => key).filter((key) => !reached.has(key));
}
