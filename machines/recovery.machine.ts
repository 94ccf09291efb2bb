/**
 * Owns the gates an interrupted turn passes before it goes on, in their order; the order is the policy.
 * Must not know storage or engine: the facts come in as input and events, the verdict is the final state.
 */
import { assign, setup } from 'xstate';
import { ATTEMPTS_WITHOUT_PROGRESS, RECOVERIES, STALENESS_MS } from './limits.js';

export interface RecoveryPolicy {
  /** false: everything is found, nothing is run. Markers stay. */
  readonly enabled: boolean;
  /** Age of the last progress, in ms, beyond which a turn is abandoned. Default 14,400,000 (four hours, one work session). */
  readonly stalenessMs: number;
  /** Attempts in a row without progress. Default 3. */
  readonly attemptsWithoutProgress: number;
  /** Recoveries of one turn in all. Default 20. */
  readonly recoveries: number;
}

export const DEFAULT_RECOVERY_POLICY: RecoveryPolicy = {
  enabled: true,
  stalenessMs: STALENESS_MS,
  attemptsWithoutProgress: ATTEMPTS_WITHOUT_PROGRESS,
  recoveries: RECOVERIES,
};

/** What is known before anything is decoded: the head re-read under the route lock, the policy and the clock. */
export interface RecoveryFacts {
  readonly policy: RecoveryPolicy;
  /** A person decided, settled or asked to resume: gates 4 to 7 do not apply. */
  readonly byPerson: boolean;
  /** A driver of this process or a lease of another one holds the turn. */
  readonly owned: boolean;
  /** The head still names the turn that the marker named, and it is in progress. */
  readonly current: boolean;
  readonly outcomeDue: boolean;
  /** The turn waits for a person; `until` is its deadline in ms since the epoch. */
  readonly waiting: { readonly until: number | null } | null;
  readonly handedOver: boolean;
  /** ms since the epoch; null where the head does not know. */
  readonly lastProgressAt: number | null;
  readonly now: number;
  /** Attempts since the last progress, this one not counted. */
  readonly attempts: number;
  /** Recoveries of this turn so far. */
  readonly recoveries: number;
}

export interface RecoveryContext extends RecoveryFacts {
  readonly reason: string;
}

export type RecoveryEvent =
  | { readonly type: 'attempt.committed' }
  | { readonly type: 'checkpoint.decoded' }
  | { readonly type: 'checkpoint.unreadable'; readonly reason: string }
  | { readonly type: 'doubts.found'; readonly unreconcilable: number };

const deadlinePassed = (c: RecoveryContext): boolean =>
  c.waiting !== null && c.waiting.until !== null && c.waiting.until <= c.now;

/** The deadline of a wait that it ends counts as its last progress: waiting is not staleness. */
function lastProgressAt(c: RecoveryContext): number | null {
  const at = deadlinePassed(c) ? (c.waiting?.until ?? null) : c.lastProgressAt;
  if (at === null || at <= c.now) return at;
  // A clock that was set back a little is no reason to give up; a moment far ahead says nothing.
  return at - c.now <= c.policy.stalenessMs ? c.now : null;
}

function isStale(c: RecoveryContext): boolean {
  const at = lastProgressAt(c);
  return at === null || c.now - at > c.policy.stalenessMs;
}

/** A turn that was handed over did not fail: nothing is counted, so nothing can be used up. */
const attemptsUsedUp = (c: RecoveryContext): boolean =>
  !c.handedOver && (c.attempts >= c.policy.attemptsWithoutProgress || c.recoveries >= c.policy.recoveries);

export const recoveryMachine = setup({
  types: {
    context: {} as RecoveryContext,
    events: {} as RecoveryEvent,
    input: {} as RecoveryFacts | undefined,
  },
  guards: {
    owned: ({ context: c }) => c.owned,
    superseded: ({ context: c }) => !c.current && !c.outcomeDue,
    ended: ({ context: c }) => !c.current && c.outcomeDue,
    byPerson: ({ context: c }) => c.byPerson,
    waits: ({ context: c }) => c.waiting !== null && !deadlinePassed(c),
    deadlinePassed: ({ context: c }) => deadlinePassed(c),
    switchedOff: ({ context: c }) => !c.policy.enabled,
    stale: ({ context: c }) => isStale(c),
    attemptsUsedUp: ({ context: c }) => attemptsUsedUp(c),
    unreconcilable: ({ event: e }) => e.type === 'doubts.found' && e.unreconcilable > 0,
  },
  actions: {
    // effects
    countAttempt: (): void => undefined,
    decodeCheckpoint: (): void => undefined,
    findDoubts: (): void => undefined,
    // assigns
    recordUnreadable: assign(({ event: e }) => ({ reason: e.type === 'checkpoint.unreadable' ? e.reason : '' })),
  },
}).createMachine({
  id: 'recovery',
  version: '1',
  description: 'The gates for one interrupted turn, asked under its route lock, against the head re-read there.',
  context: ({ input }) => ({
    policy: input?.policy ?? DEFAULT_RECOVERY_POLICY,
    byPerson: input?.byPerson ?? false,
    owned: input?.owned ?? false,
    current: input?.current ?? false,
    outcomeDue: input?.outcomeDue ?? false,
    waiting: input?.waiting ?? null,
    handedOver: input?.handedOver ?? false,
    lastProgressAt: input?.lastProgressAt ?? null,
    now: input?.now ?? 0,
    attempts: input?.attempts ?? 0,
    recoveries: input?.recoveries ?? 0,
    reason: '',
  }),
  initial: 'owner',
  states: {
    owner: {
      id: 'owner',
      description: 'Gate 1: has a live owner?',
      always: [{ guard: 'owned', target: 'leftAlone' }, { target: 'identity' }],
    },
    identity: {
      id: 'identity',
      description: 'Gate 2: still the turn the marker named?',
      always: [{ guard: 'superseded', target: 'supersededTurn' }, { target: 'outcome' }],
    },
    outcome: {
      id: 'outcome',
      description: 'Gate 3: ended, and its outcome is due?',
      always: [
        { guard: 'ended', target: 'deliverOutcome' },
        { guard: 'byPerson', target: 'attempt' },
        { target: 'person' },
      ],
    },
    person: {
      id: 'person',
      description: 'Gate 4: waits for a person? A wait that its deadline ended goes on from gate 6.',
      always: [
        { guard: 'waits', target: 'parked' },
        { guard: 'deadlinePassed', target: 'staleness' },
        { target: 'switch' },
      ],
    },
    switch: {
      id: 'switch',
      description: 'Gate 5: recovery switched off?',
      always: [{ guard: 'switchedOff', target: 'held' }, { target: 'staleness' }],
    },
    staleness: {
      id: 'staleness',
      description: 'Gate 6: last progress older than the staleness window?',
      always: [{ guard: 'stale', target: 'abandonedStale' }, { target: 'attempts' }],
    },
    attempts: {
      id: 'attempts',
      description: 'Gate 7: attempts without progress, or recoveries in all, used up?',
      always: [{ guard: 'attemptsUsedUp', target: 'abandonedAttempts' }, { target: 'attempt' }],
    },
    attempt: {
      id: 'attempt',
      description:
        'Gate 8: the attempt (a hand-over counts none) is durable before anything heavy or foreign runs (I4).',
      entry: ['countAttempt'],
      on: { 'attempt.committed': { target: 'checkpoint' } },
    },
    checkpoint: {
      id: 'checkpoint',
      description: 'Gate 9: checkpoint unreadable, or of an unknown version?',
      entry: ['decodeCheckpoint'],
      on: {
        'checkpoint.decoded': { target: 'doubts' },
        'checkpoint.unreadable': { target: 'abandonedUnreadable', actions: ['recordUnreadable'] },
      },
    },
    doubts: {
      id: 'doubts',
      description: 'Gate 10: a call in doubt whose tool cannot be asked?',
      entry: ['findDoubts'],
      on: { 'doubts.found': [{ guard: 'unreconcilable', target: 'reviewRequired' }, { target: 'resumed' }] },
    },
    leftAlone: { id: 'leftAlone', type: 'final', description: 'Its owner is alive; no event.' },
    supersededTurn: { id: 'supersededTurn', type: 'final', description: 'Another turn took its place.' },
    deliverOutcome: { id: 'deliverOutcome', type: 'final', description: 'The outcome is delivered again.' },
    parked: { id: 'parked', type: 'final', description: 'Stays parked; no attempt is spent.' },
    held: { id: 'held', type: 'final', description: 'Found, not run; the marker stays.' },
    abandonedStale: { id: 'abandonedStale', type: 'final', description: 'Abandoned: the intent is too old.' },
    abandonedAttempts: { id: 'abandonedAttempts', type: 'final', description: 'Abandoned: it never gets anywhere.' },
    abandonedUnreadable: { id: 'abandonedUnreadable', type: 'final', description: 'Abandoned: it cannot be read.' },
    reviewRequired: { id: 'reviewRequired', type: 'final', description: 'Resumed only to wait for a person.' },
    resumed: { id: 'resumed', type: 'final', description: 'Gate 11: goes on, unattended.' },
  },
});
