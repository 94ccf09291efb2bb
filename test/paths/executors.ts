// How the world makes the real engine receive each event of the turn chart: by an answer, a tool, a person, the clock.
// An event that has no line here cannot be on a path, and fails the suite.
import type { AnyEventObject } from 'xstate';
import type { TurnEvent as ChartEvent } from '../../machines/index.js';
import type { Phase as AnyPhase } from '../../src/core/records.js';
import type { ScriptedAnswer } from '../../src/testing/index.js';
import { calls } from '../engine/world.js';
import { SESSION, type Stage } from './stage.js';

export interface Executor<E = never> {
  /** Where it can happen; without: wherever the turn has a driver. */
  readonly in?: readonly AnyPhase[];
  run(stage: Stage, event: E): Promise<unknown>;
}

type Executors = { readonly [K in ChartEvent['type']]: Executor<ChartEvent & { type: K }> };

const inMailbox = (stage: Stage, task: () => Promise<void>): void => stage.driver?.enqueue(task);

const lose = async (stage: Stage): Promise<void> => stage.application.tools.give('lost');

const TOOL_OF = { none: 'read', idempotent: 'mail', external: 'mail' } as const;

function answerOf({ calls: made, fault, goesOn }: ChartEvent & { type: 'model.answered' }): ScriptedAnswer {
  if (fault === 'filtered') return { finish: 'content-filter' };
  if (fault !== null) return '';
  if (goesOn) return { say: 'so far', finish: 'continue' };
  if (made.length === 0) return 'done';
  return calls(...made.map(({ effect, needsDecision }) => (needsDecision ? 'pay' : TOOL_OF[effect])));
}

const LLM: readonly AnyPhase[] = ['awaitingLLM', 'forceStop'];

export const EXECUTORS: Executors = {
  'session.loaded': {
    in: ['setup'],
    run: (stage) => {
      stage.application.isSetUp = true;
      return stage.application.setup.give('ready');
    },
  },
  'session.failed': { in: ['setup'], run: (stage) => stage.application.setup.give('broken') },
  'model.answered': { in: LLM, run: (stage, event) => stage.application.model.give({ say: answerOf(event) }) },
  'model.failed': {
    in: LLM,
    run: (stage, { kind: fail }) => stage.application.model.give({ say: { fail } }),
  },
  // The engine passes content on to the chart once in a second at most.
  'model.progressed': {
    in: LLM,
    run: async (stage) => {
      await stage.pass(1_000);
      await stage.application.model.give('talk');
    },
  },
  'approvals.decided': {
    in: ['awaitingApproval'],
    run: async ({ engine, application }) => {
      application.asksAgain = false;
      for (const { id } of await engine.approvals()) await engine.decideApproval(id, { allow: true, by: 'ann' });
    },
  },
  // A call came into doubt, did not start, and presence has changed since it was allowed: it is decided anew.
  'approvals.needed': {
    in: ['executingTools'],
    run: async (stage) => {
      stage.application.asksAgain = true;
      await stage.engine.attend(SESSION, { person: 'ann', forMs: 3_600_000 });
      await lose(stage);
    },
  },
  'calls.settled': {
    in: ['executingTools'],
    run: ({ application }, { stop, nudge }) => {
      const verdict = stop === null ? (nudge ? 'nudge' : undefined) : 'stop';
      application.verdict = verdict === undefined ? undefined : { verdict, reason: 'path' };
      return application.tools.give('land');
    },
  },
  'calls.inDoubt': {
    in: ['executingTools'],
    run: (stage) => {
      stage.application.isUnknown = true;
      return lose(stage);
    },
  },
  'calls.reviewed': {
    in: ['awaitingReview'],
    run: async ({ engine, application }) => {
      application.isUnknown = false;
      for (const { turnId, callId } of await engine.reviews()) {
        await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
      }
    },
  },
  'compaction.applied': { in: ['compacting'], run: ({ application }) => application.compaction.give('shorter') },
  'compaction.refused': { in: ['compacting'], run: ({ application }) => application.compaction.give('refuse') },
  // By itself the engine asks for a stop where it is about to call the model; elsewhere the chart takes it all the same.
  'stop.requested': {
    run: async (stage, event) => {
      if ((await stage.phase()) === 'awaitingLLM') await stage.application.model.give({ stop: event.reason });
      else inMailbox(stage, async () => stage.driver?.advance(event));
    },
  },
  'input.arrived': {
    run: ({ engine }) => engine.sendMessage({ sessionId: SESSION, input: 'more', messageId: 'more', attended: false }),
  },
  'turn.resumed': {
    run: async (stage) => {
      await stage.engine.close({ graceMs: 0 });
      await stage.restart();
    },
  },
  'turn.cancelled': { run: ({ engine, turnId }) => engine.cancelTurn(turnId) },
  'turn.handedOver': { run: ({ engine }) => engine.close({ graceMs: 0 }) },
  'turn.faulted': {
    run: async (stage, { reason }) =>
      inMailbox(stage, async () => {
        throw new Error(reason);
      }),
  },
};

/** A time-out: the clock moves to its moment, and not a ms further. Whatever is due before fires before. */
const TIMED_OUT: Executor<AnyEventObject> = {
  run: async (stage, { type }) => {
    const at = stage.moments.get(type);
    if (at === undefined) throw new Error(`${type} is not armed`);
    // Behind a restart a kept moment may have come already.
    if (at > stage.now) {
      await stage.pass(at - 1 - stage.now);
      if (stage.taken.at(-1)?.event.type === type) throw new Error(`${type} came too early`);
    }
    await stage.pass(1);
  },
};

/** @throws {Error} for an event that nothing here can bring about. */
export function executorOf({ type }: { readonly type: string }): Executor<AnyEventObject> {
  if (type.startsWith('xstate.after.')) return TIMED_OUT;
  const executor = Object.hasOwn(EXECUTORS, type) ? EXECUTORS[type as ChartEvent['type']] : undefined;
  if (executor === undefined) throw new Error(`the event "${type}" has no executor`);
  return executor as unknown as Executor<AnyEventObject>;
}

export const happensIn = (event: AnyEventObject, phase: AnyPhase): boolean =>
  event.type.startsWith('xstate.after.')
    ? event.type.split('.').at(-1)?.startsWith(phase) === true
    : (executorOf(event).in?.includes(phase) ?? true);
