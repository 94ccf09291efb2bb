// biome-ignore-all format: generated
// The chart "recovery" as one literal, generated: guards, actions and delays are names. It is for Stately's
// importer and other tools that read source text; nothing runs it.
import { createMachine } from 'xstate';

export const machine = createMachine({
  id: 'recovery',
  version: '1',
  description: 'The gates for one interrupted turn, asked under its route lock, against the head re-read there.',
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
      description: 'Gate 8: the attempt (a hand-over counts none) is durable before anything heavy or foreign runs (I4).',
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
