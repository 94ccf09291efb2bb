// The checkpoint boundaries of the turn chart (DESIGN section 4), as a table to be read beside the design. Not one
// boundary may be missing (a crash would lose what the design promises to keep) and none may be added (each is a
// synced write of its own).

import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { branchOf, type Edge, edgesOf, lineOf, mutantOf } from './chart.js';
import { answered, asking, begin, inPhase, play, reading, send, sending, settled, timedOut } from './turn-runs.js';

/** Forced: written before anything further happens. */
const CHECKPOINT_NOW = [
  // `initial`: in the commit that accepts the input
  'running: initial -> setup',
  // a hand-over has no target: the turn rests where it is
  'running: turn.handedOver -> (stays)',
  'compacting: compaction.applied -> injectingMessage',
  // into retryingLLM
  'recovering: always [retryable] -> retryingLLM',
  // into forceStop
  'injectingMessage: always [stopping] -> forceStop',
  'recovering: always [stopAsked] -> forceStop',
  // into awaitingApproval
  'awaitingLLM: model.answered [needsDecision] -> awaitingApproval',
  'executingTools: approvals.needed -> awaitingApproval',
  // into awaitingReview
  'executingTools: calls.inDoubt -> awaitingReview',
  // into a final phase
  'running: turn.cancelled -> cancelled',
  'running: turn.faulted -> failed',
  'setup: session.failed -> failed',
  'setup: after setupTimeout -> failed',
  'awaitingLLM: model.answered -> completed',
  'forceStop: model.answered -> stopped',
  'recovering: always [hardIdle] -> failed',
  'recovering: always [stopping] -> stopped',
  'recovering: always -> failed',
  // an answer with effects: transcript, snapshot and journal in one commit (I1)
  'awaitingLLM: model.answered [hasEffects] -> executingTools',
  // a decision: in its own commit
  'awaitingApproval: approvals.decided -> executingTools',
  'awaitingApproval: after approvalDeadline [approvalDeadlineOn] -> executingTools',
  'awaitingReview: calls.reviewed -> executingTools',
];

/** Debounced: may wait, and the next boundary takes it along. */
const CHECKPOINT = [
  // every other answer
  'awaitingLLM: model.answered [answerIsFault] -> recovering',
  'awaitingLLM: model.answered [hasCalls] -> executingTools',
  'awaitingLLM: model.answered [goesOn] -> injectingMessage',
  'forceStop: model.answered [answerIsFault] -> recovering',
  // every calls.settled
  'executingTools: calls.settled [stopDue] -> recovering',
  'executingTools: calls.settled [nudgeDue] -> recovering',
  'executingTools: calls.settled [compactionDue] -> compacting',
  'executingTools: calls.settled -> injectingMessage',
  // input that joins
  'injectingMessage: always [inputPending] -> awaitingLLM',
];

const carrying = (machine: AnyStateMachine, directive: string): string[] =>
  edgesOf(machine)
    .filter(({ actions }) => actions.includes(directive))
    .map(lineOf)
    .sort();

const ALWAYS_FORCED = new Set([
  'retryingLLM',
  'forceStop',
  'awaitingApproval',
  'awaitingReview',
  'completed',
  'stopped',
  'failed',
  'cancelled',
]);

const unforced = (machine: AnyStateMachine): string[] =>
  edgesOf(machine)
    .filter(({ to, actions }) => ALWAYS_FORCED.has(to ?? '') && !actions.includes('checkpointNow'))
    .map(lineOf);

describe('the checkpoint boundaries', () => {
  it('are forced on exactly the edges of the design: the engine writes where the chart shows it (I15)', () => {
    expect(carrying(turnMachine, 'checkpointNow')).toEqual([...CHECKPOINT_NOW].sort());
  });

  it('are debounced on exactly the other edges of the design, so everything else carries none', () => {
    expect(carrying(turnMachine, 'checkpoint')).toEqual([...CHECKPOINT].sort());
  });

  it('are forced on every edge into a phase that a restart has to find, whatever edges come later', () => {
    expect(unforced(turnMachine)).toEqual([]);
  });

  it('come last among the actions of their edge: a directive speaks about what the edge has recorded', () => {
    const directive = (name: string) => name === 'checkpointNow' || name === 'checkpoint';
    const early = edgesOf(turnMachine).filter(
      ({ actions }) => actions.some(directive) && actions.findIndex(directive) !== actions.length - 1,
    );
    expect(early.map(lineOf)).toEqual([]);
  });

  it('are missed by no test when one of them is taken away or added', () => {
    const without = (edge: Edge) =>
      mutantOf(turnMachine, turnSetup.createMachine, (config) => {
        const found = branchOf(config, edge);
        found.actions = found.actions.filter((name: string) => !name.startsWith('checkpoint'));
      });
    const forced = edgesOf(turnMachine).filter(({ actions }) => actions.includes('checkpointNow'));
    expect(forced.length).toBe(CHECKPOINT_NOW.length);
    for (const edge of forced) expect(carrying(without(edge), 'checkpointNow')).not.toContain(lineOf(edge));

    const retry = forced.find(({ to }) => to === 'retryingLLM');
    expect(unforced(without(retry as Edge))).toEqual([lineOf(retry as Edge)]);
  });
});

describe('the directives of a whole step', () => {
  // One macrostep may cross several edges; core/step.ts takes the stronger of two directives.
  const directives = ({ actions }: { readonly actions: readonly string[] }) =>
    actions.filter((name) => name.startsWith('checkpoint'));

  it('name the outcome that completes a batch together with the stop it leads to', () => {
    expect(directives(send(inPhase('executingTools'), settled({ stop: 'loop' })))).toEqual([
      'checkpoint',
      'checkpointNow',
    ]);
  });

  it('are two for one effectful iteration: the answer with its calls, and the settled batch', () => {
    const answer = send(inPhase('awaitingLLM'), answered(sending, reading));
    const batch = send(answer, settled());
    expect([directives(answer), directives(batch)]).toEqual([['checkpointNow'], ['checkpoint']]);
  });

  it('force the commit for an answer in which a single call has an effect or waits for a person (I1)', () => {
    const ofAnswer = (...calls: Parameters<typeof answered>) =>
      directives(send(inPhase('awaitingLLM'), answered(...calls)));
    expect(ofAnswer(reading, reading)).toEqual(['checkpoint']);
    expect(ofAnswer(reading, sending)).toEqual(['checkpointNow']);
    expect(ofAnswer(reading, { effect: 'idempotent', needsDecision: false })).toEqual(['checkpointNow']);
    expect(ofAnswer(reading, { effect: 'none', needsDecision: true })).toEqual(['checkpointNow']);
    expect(ofAnswer(sending, asking)).toEqual(['checkpointNow']);
  });

  it('are none for content, silence, arriving input and a stop that is only noted', () => {
    const waitingForModel = inPhase('awaitingLLM');
    const batch = inPhase('executingTools');
    const quiet = [
      send(waitingForModel, { type: 'model.progressed' }),
      send(waitingForModel, timedOut('softTimeout', 'awaitingLLMQuiet')),
      send(waitingForModel, { type: 'input.arrived', waiting: 1 }),
      send(batch, { type: 'stop.requested', reason: 'later' }),
      send(inPhase('retryingLLM'), timedOut('backOff', 'retryingLLM')),
      send(begin(), { type: 'session.loaded' }),
    ];
    expect(quiet.map(directives)).toEqual(quiet.map(() => []));
  });

  it('put the end of the approvals into the commit of the deadline that ends them', () => {
    const expired = send(inPhase('awaitingApproval'), timedOut('approvalDeadline', 'awaitingApproval'));
    expect(expired.actions).toEqual(['expireApprovals', 'checkpointNow', 'runCalls']);
  });

  it('put joining input into the commit of the step, before the model is called with it (I11)', () => {
    const joined = play(begin(), [{ type: 'input.arrived', waiting: 2 }, { type: 'session.loaded' }]);
    expect(joined.actions).toEqual(['joinInput', 'checkpoint', 'callModel']);
    expect(joined.snapshot.context.pendingInput).toBe(0);
  });
});
