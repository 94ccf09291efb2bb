// What the design promises about each step and each phase, said without the chart's own directives, so that a chart
// that lost one does not agree with itself.
import { expect } from 'vitest';
import type { Phase } from '../../src/core/records.js';
import { phaseOf } from '../../src/core/step.js';
import type { Stage } from './stage.js';
import type { Taken } from './watched-chart.js';

/** `soon`: at once, unless a checkpoint was written less than two seconds ago. */
export type Durability = 'now' | 'soon' | 'no';

/** Phases that a restart has to find, whatever leads into them. */
const FOUND: ReadonlySet<Phase> = new Set([
  'retryingLLM',
  'forceStop',
  'awaitingApproval',
  'awaitingReview',
  'completed',
  'stopped',
  'failed',
  'cancelled',
]);

/** What somebody did that may not be undone by a crash. */
const KEPT: ReadonlySet<string> = new Set([
  'turn.handedOver',
  'compaction.applied',
  'approvals.decided',
  'calls.reviewed',
  'xstate.after.approvalDeadline.awaitingApproval',
]);

/** When a step has to be on disk. */
export function promised({ event, before, after }: Taken): Durability {
  const phase = phaseOf(after);
  const entered = phaseOf(before) !== phase;
  if ((entered && FOUND.has(phase)) || KEPT.has(event.type)) return 'now';
  if (event.type === 'model.answered') {
    const hasEffects = event.calls.some(({ effect }) => effect !== 'none');
    return phase === 'executingTools' && hasEffects ? 'now' : 'soon';
  }
  if (event.type === 'calls.settled') return 'soon';
  return entered && phase === 'awaitingLLM' && before.context.pendingInput > 0 ? 'soon' : 'no';
}

type Check = (stage: Stage) => void | Promise<void>;

/** The driver's timers are compared with the chart's in every phase; these have to be among them. */
const armed =
  (...ids: readonly string[]): Check =>
  ({ armed: timers }) =>
    expect([...timers.keys()]).toEqual(expect.arrayContaining([...ids]));

/** Silence is announced once, and then only the hard time-out is left. */
const watched = (quiet: string): Check => armed(`xstate.after.hardTimeout.${quiet}`);

const waits: Check = async ({ driver, head, engine, now }) => {
  // Only a person can go on: the turn holds neither driver nor route, and whoever asks is told what it waits for.
  expect(driver).toBeUndefined();
  const { waiting, phase } = await head;
  const [approvals, reviews] = await Promise.all([engine.approvals(), engine.reviews()]);
  expect(waiting?.approvals ?? []).toEqual(approvals.map(({ callId }) => callId));
  expect(waiting?.reviews ?? []).toEqual(reviews.map(({ callId }) => callId));
  expect(phase === 'awaitingReview' ? reviews : approvals).not.toEqual([]);
  expect(waiting?.until ?? now + 1).toBeGreaterThan(now);
};

const ended =
  (phase: Phase): Check =>
  async ({ head, driver, world }) => {
    expect(driver).toBeUndefined();
    expect(await head).toMatchObject({ phase, inProgress: false, waiting: null, ended: { kind: phase } });
    expect(await world.store.markers('agent')).toEqual([]);
  };

const modelIsAsked: Check = ({ application }) => expect(application.model.isAwaited).toBe(true);

/** What has to be true of the engine and its store in each phase; one that is missing here fails the suite. */
export const IN_PHASE: Readonly<Record<Phase, readonly Check[]>> = {
  setup: [
    armed('xstate.after.setupTimeout.setup'),
    ({ application }) => expect(application.setup.isAwaited).toBe(true),
  ],
  awaitingLLM: [watched('awaitingLLMQuiet'), modelIsAsked],
  forceStop: [watched('forceStopQuiet'), modelIsAsked],
  retryingLLM: [armed('xstate.after.backOff.retryingLLM')],
  compacting: [
    armed('xstate.after.compactionTimeout.compacting'),
    ({ application }) => expect(application.compaction.isAwaited).toBe(true),
  ],
  awaitingApproval: [waits],
  executingTools: [
    ({ armed: timers }) => expect([...timers]).toEqual([]),
    // Whatever has an effect and runs is named by the store (I1).
    async (stage) => {
      expect(stage.application.tools.isAwaited).toBe(true);
      const { calls } = await stage.onDisk();
      const running = stage.world.runs.at(-1);
      if (running?.tool === 'read') return;
      expect(calls.find(({ callId }) => callId === running?.call.callId)).toMatchObject({ state: 'dispatched' });
    },
  ],
  awaitingReview: [waits],
  completed: [ended('completed')],
  stopped: [ended('stopped')],
  failed: [ended('failed')],
  cancelled: [ended('cancelled')],
};

/** @throws {Error} for a phase about which nothing is said here. */
export function checksOf(phase: string): readonly Check[] {
  const checks = Object.hasOwn(IN_PHASE, phase) ? IN_PHASE[phase as Phase] : undefined;
  if (checks === undefined) throw new Error(`the phase "${phase}" has no check`);
  return checks;
}
