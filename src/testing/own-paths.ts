/**
 * Owns what the generator of test paths has to know about the charts of this project: events with payloads for every
 * guard, ways to start, and what makes two of their snapshots the same.
 * Must not know what runs the paths.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import {
  ATTENDED_LIMITS,
  type CallEvent,
  callMachine,
  DEFAULT_RECOVERY_POLICY,
  type RecoveryEvent,
  type RecoveryFacts,
  recoveryMachine,
  type TurnContext,
  type TurnEvent,
  type TurnInput,
  turnMachine,
  UNATTENDED_LIMITS,
} from '../../machines/index.js';
import { type MachinePaths, type PathOptions, type PathStart, pathsOf } from './paths.js';

const answer = { type: 'model.answered', calls: [], fault: null, goesOn: false } as const;
const failure = { type: 'model.failed', reason: 'path', retryAfterMs: null, at: 0 } as const;
const batch = { type: 'calls.settled', stop: null, nudge: false, compact: false } as const;

const TURN_EVENTS: readonly TurnEvent[] = [
  { type: 'session.loaded' },
  { type: 'session.failed', reason: 'path' },
  answer,
  { ...answer, goesOn: true },
  { ...answer, fault: 'empty' },
  { ...answer, fault: 'filtered' },
  // First the call that can come to be in doubt: the shortest ways lead through it, and a runtime can go all of them.
  { ...answer, calls: [{ effect: 'external', needsDecision: false }] },
  { ...answer, calls: [{ effect: 'none', needsDecision: false }] },
  { ...answer, calls: [{ effect: 'external', needsDecision: true }] },
  { ...failure, kind: 'overloaded' },
  { ...failure, kind: 'contextLength' },
  { ...failure, kind: 'other' },
  { type: 'model.progressed' },
  { type: 'approvals.decided' },
  { type: 'approvals.needed' },
  batch,
  { ...batch, stop: 'path' },
  { ...batch, nudge: true },
  { ...batch, compact: true },
  { type: 'calls.inDoubt' },
  { type: 'calls.reviewed' },
  { type: 'compaction.applied' },
  { type: 'compaction.refused', reason: 'path' },
  { type: 'stop.requested', reason: 'path' },
  { type: 'input.arrived', waiting: 1 },
  { type: 'turn.resumed', limits: UNATTENDED_LIMITS },
  { type: 'turn.cancelled' },
  { type: 'turn.handedOver' },
  { type: 'turn.faulted', reason: 'path' },
];

const turnInput = (limits: TurnInput['limits']): TurnInput => ({ turnId: 'path', limits });

/** The phase and what decides where it leads; counters only delay what happens anyway, so they are left out. */
function turnState({ value, context }: AnyMachineSnapshot): string {
  const c = context as TurnContext;
  const asked = [c.stopAsked !== null, c.stopping !== null, c.compactedForLength, c.pendingInput > 0];
  return JSON.stringify([value, c.cause?.kind === 'modelError', asked]);
}

export const turnPathOptions: PathOptions = {
  events: TURN_EVENTS,
  serialize: turnState,
  starts: [
    { name: 'unattended', input: turnInput(UNATTENDED_LIMITS) },
    { name: 'attended', input: turnInput(ATTENDED_LIMITS) },
  ],
};

const facts: RecoveryFacts = {
  policy: DEFAULT_RECOVERY_POLICY,
  byPerson: false,
  owned: false,
  current: true,
  outcomeDue: false,
  waiting: null,
  handedOver: false,
  lastProgressAt: 0,
  now: 1_000,
  attempts: 0,
  recoveries: 0,
};

const gate = (name: string, changed: Partial<RecoveryFacts>): PathStart => ({ name, input: { ...facts, ...changed } });

const RECOVERY_EVENTS: readonly RecoveryEvent[] = [
  { type: 'attempt.committed' },
  { type: 'checkpoint.decoded' },
  { type: 'checkpoint.unreadable', reason: 'path' },
  { type: 'doubts.found', unreconcilable: 0 },
  { type: 'doubts.found', unreconcilable: 1 },
];

export const recoveryPathOptions: PathOptions = {
  events: RECOVERY_EVENTS,
  starts: [
    gate('nothing in the way', {}),
    gate('has a live owner', { owned: true }),
    gate('superseded', { current: false }),
    gate('ended, outcome due', { current: false, outcomeDue: true }),
    gate('resumed by a person', { byPerson: true }),
    gate('waits for a person', { waiting: { until: null } }),
    gate('its deadline has passed', { waiting: { until: 500 } }),
    gate('recovery switched off', { policy: { ...DEFAULT_RECOVERY_POLICY, enabled: false } }),
    gate('stale', { now: DEFAULT_RECOVERY_POLICY.stalenessMs + 1 }),
    gate('attempts used up', { attempts: DEFAULT_RECOVERY_POLICY.attemptsWithoutProgress }),
  ],
};

const CALL_EVENTS: readonly CallEvent[] = [
  { type: 'call.dispatched' },
  { type: 'call.succeeded' },
  { type: 'call.failed' },
  { type: 'call.lost' },
  { type: 'call.notStarted' },
];

export const callPathOptions: PathOptions = {
  events: CALL_EVENTS,
  starts: [
    { name: 'external', input: { effect: 'external' } },
    { name: 'idempotent', input: { effect: 'idempotent' } },
  ],
};

/** Any turn machine: the one of this package, or one whose guards and delays an application provides. */
export const turnPaths = (machine: AnyStateMachine = turnMachine): MachinePaths => pathsOf(machine, turnPathOptions);
export const recoveryPaths = (): MachinePaths => pathsOf(recoveryMachine, recoveryPathOptions);
export const callPaths = (): MachinePaths => pathsOf(callMachine, callPathOptions);
