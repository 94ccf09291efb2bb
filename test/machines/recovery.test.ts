// The gates an interrupted turn passes (DESIGN section 8): each decides alone, in their order, and a turn that is let
// through has an attempt counted before anything else is done with it (I4).

import { describe, expect, it } from 'vitest';
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import {
  ATTEMPTS_WITHOUT_PROGRESS,
  DEFAULT_RECOVERY_POLICY,
  RECOVERIES,
  type RecoveryEvent,
  type RecoveryFacts,
  recoveryMachine,
  STALENESS_MS,
} from '../../machines/index.js';
import { edgesOf } from './chart.js';
import { DECIDING, facts, NOW } from './recovery-facts.js';

interface Asked {
  readonly snapshot: SnapshotFrom<typeof recoveryMachine>;
  readonly effects: readonly string[];
}

const ask = (given: RecoveryFacts): Asked => {
  const [snapshot, actions] = initialTransition(recoveryMachine, given);
  return { snapshot, effects: actions.map(({ type }) => type) };
};
/** The verdict, or `attempt` where the first seven gates let the turn pass. */
const verdict = (changed: Partial<RecoveryFacts> = {}): unknown => ask(facts(changed)).snapshot.value;

const tell = ({ snapshot }: Asked, event: RecoveryEvent): Asked => {
  const [next, actions] = transition(recoveryMachine, snapshot, event);
  return { snapshot: next, effects: actions.map(({ type }) => type) };
};

const disabled = { ...DEFAULT_RECOVERY_POLICY, enabled: false };
/** The facts of several gates at once. Gates 2 and 3 differ in one fact, and of that the earlier gate's counts. */
const allOf = (rows: typeof DECIDING): Partial<RecoveryFacts> =>
  Object.assign({}, ...rows.toReversed().map(([, , changed]) => changed));

describe('the gates', () => {
  it('let a turn pass that was interrupted a minute ago', () => {
    expect(verdict()).toBe('attempt');
  });

  it.each(DECIDING)('%i decides alone: %s', (_, name, changed) => {
    const asked = ask(facts(changed));
    expect([asked.snapshot.value, asked.snapshot.status, asked.effects]).toEqual([name, 'done', []]);
  });

  it('are asked in their order: a turn that several would decide gets the first', () => {
    DECIDING.forEach(([, name], index) => {
      expect(verdict(allOf(DECIDING.slice(index)))).toBe(name);
    });
  });

  it('know nothing of facts that were never given, and then do nothing', () => {
    expect(initialTransition(recoveryMachine)[0].value).toBe('supersededTurn');
  });

  it('do nothing heavy or foreign before the attempt is counted and durable (I4)', () => {
    const attempt = ask(facts());
    expect(attempt.effects).toEqual(['countAttempt']);
    // Until the commit is there, nothing that comes in moves it on.
    for (const type of ['checkpoint.decoded', 'doubts.found'] as const) {
      const event = type === 'doubts.found' ? { type, unreconcilable: 0 } : { type };
      expect(tell(attempt, event).snapshot.value).toBe('attempt');
    }
    const ways = edgesOf(recoveryMachine).filter(({ to }) => to === 'checkpoint' || to === 'doubts');
    expect(ways.map(({ from, on }) => `${from}: ${on}`)).toEqual([
      'attempt: attempt.committed',
      'checkpoint: checkpoint.decoded',
    ]);
  });
});

describe('a person who decides, settles or asks to resume', () => {
  it.each(DECIDING.filter(([gate]) => gate >= 4))('passes gate %i (%s)', (_, __, changed) => {
    expect(verdict({ ...changed, byPerson: true })).toBe('attempt');
  });

  it.each(DECIDING.filter(([gate]) => gate < 4))(
    'does not pass gate %i (%s): it is about other turns',
    (_, name, changed) => {
      expect(verdict({ ...changed, byPerson: true })).toBe(name);
    },
  );

  it('passes all four together', () => {
    expect(verdict({ ...allOf(DECIDING.slice(3)), byPerson: true })).toBe('attempt');
  });
});

describe('a turn that waits for a person', () => {
  it('stays parked however long it waits and however often the process starts (cases C9, C27)', () => {
    const long = { lastProgressAt: NOW - 100 * STALENESS_MS, attempts: 99, recoveries: 99, policy: disabled };
    expect(verdict({ ...long, waiting: { until: null } })).toBe('parked');
    expect(verdict({ ...long, waiting: { until: NOW + 1 } })).toBe('parked');
  });

  it('goes on when its deadline has come, with the deadline as its last progress: waiting is not staleness', () => {
    const waitedForDays = { lastProgressAt: NOW - 100 * STALENESS_MS };
    expect(verdict({ ...waitedForDays, waiting: { until: NOW } })).toBe('attempt');
    expect(verdict({ ...waitedForDays, waiting: { until: NOW - STALENESS_MS } })).toBe('attempt');
    expect(verdict({ ...waitedForDays, waiting: { until: NOW - STALENESS_MS - 1 } })).toBe('abandonedStale');
  });

  it('goes on from gate 6: the switch was asked when it began to wait, the attempts are asked now', () => {
    expect(verdict({ waiting: { until: NOW }, policy: disabled })).toBe('attempt');
    expect(verdict({ waiting: { until: NOW }, attempts: 3 })).toBe('abandonedAttempts');
  });

  it('is not made fresh by recent progress once its deadline is long over', () => {
    expect(verdict({ lastProgressAt: NOW, waiting: { until: NOW - STALENESS_MS - 1 } })).toBe('abandonedStale');
  });
});

describe('staleness (case C18)', () => {
  it.each([
    [0, 'attempt'],
    [STALENESS_MS, 'attempt'],
    [STALENESS_MS + 1, 'abandonedStale'],
  ])('of %i ms is judged as %s: exactly four hours is not too old', (age, name) => {
    expect(verdict({ lastProgressAt: NOW - age })).toBe(name);
  });

  it('is assumed where the head does not know when the turn last got on', () => {
    expect(verdict({ lastProgressAt: null })).toBe('abandonedStale');
  });

  it.each([
    [1, 'attempt'],
    [STALENESS_MS, 'attempt'],
    [STALENESS_MS + 1, 'abandonedStale'],
  ])('of a moment %i ms ahead is judged as %s: a clock set back a little is forgiven', (ahead, name) => {
    expect(verdict({ lastProgressAt: NOW + ahead })).toBe(name);
  });

  it('has the window of the policy', () => {
    const policy = { ...DEFAULT_RECOVERY_POLICY, stalenessMs: 10 };
    expect(verdict({ policy, lastProgressAt: NOW - 10 })).toBe('attempt');
    expect(verdict({ policy, lastProgressAt: NOW - 11 })).toBe('abandonedStale');
    expect(verdict({ policy, lastProgressAt: NOW + 11 })).toBe('abandonedStale');
  });
});

describe('attempts (case C17)', () => {
  it.each([
    [0, 'attempt'],
    [ATTEMPTS_WITHOUT_PROGRESS - 1, 'attempt'],
    [ATTEMPTS_WITHOUT_PROGRESS, 'abandonedAttempts'],
    [ATTEMPTS_WITHOUT_PROGRESS + 1, 'abandonedAttempts'],
  ])('%i without progress: %s', (attempts, name) => {
    expect(verdict({ attempts })).toBe(name);
  });

  it('abandon a turn that kills the process every time at the fourth start', () => {
    let attempts = 0;
    const starts: unknown[] = [];
    while (starts.length < 4) {
      starts.push(verdict({ attempts, recoveries: attempts }));
      if (starts.at(-1) === 'attempt') attempts += 1;
    }
    expect(starts).toEqual(['attempt', 'attempt', 'attempt', 'abandonedAttempts']);
  });

  it(`are bounded over the whole turn as well: ${RECOVERIES} recoveries, progress or not`, () => {
    expect(verdict({ recoveries: RECOVERIES - 1 })).toBe('attempt');
    expect(verdict({ recoveries: RECOVERIES })).toBe('abandonedAttempts');
  });

  it('are not spent by a hand-over: a deploy is no failure of the turn', () => {
    expect(verdict({ handedOver: true, attempts: 3, recoveries: RECOVERIES })).toBe('attempt');
    // The other gates hold for it as for every turn.
    expect(verdict({ handedOver: true, lastProgressAt: NOW - STALENESS_MS - 1 })).toBe('abandonedStale');
    expect(verdict({ handedOver: true, policy: disabled })).toBe('held');
  });
});

describe('after the attempt is durable', () => {
  const counted = () => tell(ask(facts()), { type: 'attempt.committed' });
  const decoded = () => tell(counted(), { type: 'checkpoint.decoded' });

  it('the checkpoint is decoded, then the doubts are looked for, then the turn is resumed', () => {
    expect([counted().snapshot.value, counted().effects]).toEqual(['checkpoint', ['decodeCheckpoint']]);
    expect([decoded().snapshot.value, decoded().effects]).toEqual(['doubts', ['findDoubts']]);
    expect(tell(decoded(), { type: 'doubts.found', unreconcilable: 0 }).snapshot.value).toBe('resumed');
  });

  it('a checkpoint that cannot be read abandons the turn, with its reason (case C8)', () => {
    const { snapshot } = tell(counted(), { type: 'checkpoint.unreadable', reason: 'format 9' });
    expect([snapshot.value, snapshot.context.reason]).toEqual(['abandonedUnreadable', 'format 9']);
  });

  it('a doubt nobody but a person can settle parks it (I5)', () => {
    expect(tell(decoded(), { type: 'doubts.found', unreconcilable: 1 }).snapshot.value).toBe('reviewRequired');
  });
});
