// biome-ignore-all format: generated
// The chart "call" as one literal, generated: guards, actions and delays are names. It is for Stately's
// importer and other tools that read source text; nothing runs it.
import { createMachine } from 'xstate';

export const machine = createMachine({
  id: 'call',
  version: '1',
  description: 'One tool call. A call that may start at once begins its life as dispatched.',
  initial: 'prepared',
  states: {
    prepared: {
      id: 'prepared',
      description: 'Waits for an approval or for its turn among its siblings.',
      on: {
        'call.dispatched': { target: 'dispatched' },
        'call.failed': { description: 'Refused, expired or cancelled.', target: 'failed' },
      },
    },
    dispatched: {
      id: 'dispatched',
      description: 'Handed to the tool; written before the tool runs (I1).',
      on: {
        'call.succeeded': { target: 'succeeded' },
        'call.failed': { target: 'failed' },
        'call.lost': { description: 'Crash, time-out or OutcomeUnknown.', target: 'inDoubt' },
      },
    },
    inDoubt: {
      id: 'inDoubt',
      description: 'Nobody knows whether it happened.',
      on: {
        'call.succeeded': { target: 'succeeded' },
        'call.failed': { target: 'failed' },
        'call.notStarted': { target: 'notStarted' },
        'call.dispatched': { description: 'Same key, next dispatch number.', guard: 'repeatable', target: 'dispatched' },
      },
    },
    notStarted: {
      id: 'notStarted',
      description: 'reconcile or a person says: nothing happened yet.',
      on: { 'call.dispatched': { target: 'dispatched' }, 'call.failed': { target: 'failed' } },
    },
    succeeded: { id: 'succeeded', type: 'final', description: 'Its result is known.' },
    failed: { id: 'failed', type: 'final', description: 'It failed, and the model is told how.' },
  },
});
