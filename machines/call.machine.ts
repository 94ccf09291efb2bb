/**
 * Owns the life of one tool call, from the model's request to a settled outcome.
 * Must not know tools, keys or storage: the journal (src/core/journal.ts) keeps the records and asks this chart
 * which step is legal.
 */
import { setup } from 'xstate';
import type { Effect } from './turn.setup.js';

export interface CallContext {
  readonly effect: Effect;
}

export type CallEvent =
  | { readonly type: 'call.dispatched' }
  | { readonly type: 'call.succeeded' }
  | { readonly type: 'call.failed' }
  | { readonly type: 'call.lost' }
  | { readonly type: 'call.notStarted' };

export const callMachine = setup({
  types: { context: {} as CallContext, events: {} as CallEvent, input: {} as CallContext | undefined },
  guards: {
    /** Running it again with the same key does no harm (invariant I5 forbids it for everything else). */
    repeatable: ({ context }) => context.effect !== 'external',
  },
}).createMachine({
  id: 'call',
  version: '1',
  description: 'One tool call. A call that may start at once begins its life as dispatched.',
  context: ({ input }) => ({ effect: input?.effect ?? 'external' }),
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
        'call.dispatched': {
          description: 'Same key, next dispatch number.',
          guard: 'repeatable',
          target: 'dispatched',
        },
      },
    },
    notStarted: {
      id: 'notStarted',
      description: 'reconcile or a person says: nothing happened yet.',
      on: {
        'call.dispatched': { target: 'dispatched' },
        'call.failed': { target: 'failed' },
      },
    },
    succeeded: { id: 'succeeded', type: 'final', description: 'Its result is known.' },
    failed: { id: 'failed', type: 'final', description: 'It failed, and the model is told how.' },
  },
});
