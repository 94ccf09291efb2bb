// biome-ignore-all format: generated
// The chart "turn" as one literal, generated: guards, actions and delays are names. It is for Stately's
// importer and other tools that read source text; nothing runs it.
import { createMachine } from 'xstate';

export const machine = createMachine({
  id: 'turn',
  version: '1',
  description: 'One run of the agent loop in a session, from input to outcome.',
  options: { maxIterations: 100 },
  initial: 'running',
  states: {
    running: {
      id: 'running',
      description: 'The turn is in progress. What holds in every phase stands here.',
      initial: { target: 'setup', actions: ['checkpointNow'] },
      on: {
        'turn.resumed': {
          description: 'The restore arrow: back into the saved phase, whose effect and timers start again.',
          target: '.lastPhase',
          reenter: true,
          actions: ['assignLimits'],
        },
        'turn.cancelled': { target: '#cancelled', actions: ['checkpointNow'] },
        'turn.faulted': {
          description: 'A guard, assign or delay of the chart failed; unguarded, so that it can always be taken.',
          target: '#failed',
          actions: ['recordFault', 'checkpointNow'],
        },
        'turn.handedOver': {
          description: 'The process closes: the turn rests in its phase and goes on elsewhere.',
          actions: ['checkpointNow'],
        },
        'input.arrived': { actions: ['noteInput'] },
        'stop.requested': { actions: ['askStop'] },
      },
      states: {
        lastPhase: {
          id: 'lastPhase',
          type: 'history',
          history: 'deep',
          description: 'The phase the turn was in when its checkpoint was written.',
        },
        setup: {
          id: 'setup',
          description: 'The session is loaded, its history repaired, dependencies and tools are built.',
          tags: ['redone'],
          entry: ['loadSession'],
          after: { setupTimeout: { target: '#failed', actions: ['recordSetupFailed', 'checkpointNow'] } },
          on: {
            'session.loaded': { target: '#injectingMessage' },
            'session.failed': {
              description: 'Past recovering: a stop asked for would call the model with a session that is not there.',
              target: '#failed',
              actions: ['recordSetupFailed', 'checkpointNow'],
            },
          },
        },
        awaitingLLM: {
          id: 'awaitingLLM',
          description: "Waits for the model's answer, and for nothing else.",
          tags: ['idle'],
          entry: ['callModel'],
          initial: 'quiet',
          on: {
            'model.answered': [
              { guard: 'answerIsFault', target: '#recovering', actions: ['recordModelFault', 'checkpoint'] },
              {
                guard: 'needsDecision',
                target: '#awaitingApproval',
                actions: ['recordSuccess', 'checkpointNow'],
              },
              { guard: 'hasEffects', target: '#executingTools', actions: ['recordSuccess', 'checkpointNow'] },
              { guard: 'hasCalls', target: '#executingTools', actions: ['recordSuccess', 'checkpoint'] },
              { guard: 'goesOn', target: '#injectingMessage', actions: ['recordSuccess', 'checkpoint'] },
              { target: '#completed', actions: ['recordSuccess', 'checkpointNow'] },
            ],
            'model.failed': { target: '#recovering', actions: ['recordModelError'] },
            'stop.requested': { target: '#recovering', actions: ['recordStop'] },
          },
          states: {
            quiet: {
              id: 'awaitingLLMQuiet',
              description: 'The watchdog: content from the model re-enters it and re-arms both time-outs.',
              on: { 'model.progressed': { target: 'quiet', reenter: true } },
              after: {
                softTimeout: { guard: 'softOn', actions: ['announceSoftIdle'] },
                hardTimeout: { guard: 'hardOn', target: '#recovering', actions: ['recordHardIdle'] },
              },
            },
          },
        },
        retryingLLM: {
          id: 'retryingLLM',
          description: 'Waits out the back-off; the moment it ends survives a restart.',
          after: { backOff: { target: '#injectingMessage' } },
          on: { 'stop.requested': { target: '#recovering', actions: ['recordStop'] } },
        },
        compacting: {
          id: 'compacting',
          description: 'Waits for a shorter list: asked for by the application, or forced by the context length.',
          tags: ['redone'],
          entry: ['compact'],
          after: {
            compactionTimeout: [
              { guard: 'tooLong', target: '#recovering', actions: ['recordCompactionRefused'] },
              { target: '#injectingMessage' },
            ],
          },
          on: {
            'compaction.applied': { target: '#injectingMessage', actions: ['checkpointNow'] },
            'compaction.refused': [
              { guard: 'tooLong', target: '#recovering', actions: ['recordCompactionRefused'] },
              { target: '#injectingMessage' },
            ],
          },
        },
        awaitingApproval: {
          id: 'awaitingApproval',
          description: 'Waits for a person to decide; calls that need nobody run meanwhile.',
          entry: ['runCalls', 'askPerson'],
          after: {
            approvalDeadline: {
              guard: 'approvalDeadlineOn',
              target: '#executingTools',
              actions: ['expireApprovals', 'checkpointNow'],
            },
          },
          on: { 'approvals.decided': { target: '#executingTools', actions: ['checkpointNow'] } },
        },
        executingTools: {
          id: 'executingTools',
          description: "Waits until every call of the batch is settled; each call is bounded by its tool's time-out.",
          entry: ['runCalls'],
          on: {
            'calls.settled': [
              { guard: 'stopDue', target: '#recovering', actions: ['recordStop', 'checkpoint'] },
              { guard: 'nudgeDue', target: '#recovering', actions: ['recordLoop', 'checkpoint'] },
              { guard: 'compactionDue', target: '#compacting', actions: ['checkpoint'] },
              { target: '#injectingMessage', actions: ['checkpoint'] },
            ],
            'approvals.needed': {
              description: 'An approval that was used never covers a second dispatch: the person is asked again.',
              target: '#awaitingApproval',
              actions: ['checkpointNow'],
            },
            'calls.inDoubt': { target: '#awaitingReview', actions: ['checkpointNow'] },
          },
        },
        awaitingReview: {
          id: 'awaitingReview',
          description: 'Parked: a person settles the calls whose outcome nobody else knows.',
          entry: ['askPerson'],
          on: { 'calls.reviewed': { target: '#executingTools', actions: ['checkpointNow'] } },
        },
        forceStop: {
          id: 'forceStop',
          description: "Waits for the model's last answer; its calls are answered, never run.",
          tags: ['idle'],
          entry: ['callModel'],
          initial: 'quiet',
          on: {
            'model.answered': [
              { guard: 'answerIsFault', target: '#recovering', actions: ['recordModelFault', 'checkpoint'] },
              { target: '#stopped', actions: ['recordSuccess', 'checkpointNow'] },
            ],
            'model.failed': { target: '#recovering', actions: ['recordModelError'] },
          },
          states: {
            quiet: {
              id: 'forceStopQuiet',
              description: 'The watchdog: content from the model re-enters it and re-arms both time-outs.',
              on: { 'model.progressed': { target: 'quiet', reenter: true } },
              after: {
                softTimeout: { guard: 'softOn', actions: ['announceSoftIdle'] },
                hardTimeout: { guard: 'hardOn', target: '#recovering', actions: ['recordHardIdle'] },
              },
            },
          },
        },
        injectingMessage: {
          id: 'injectingMessage',
          description: 'The one way into awaitingLLM: pending input joins here.',
          always: [
            { guard: 'stopping', target: '#forceStop', actions: ['checkpointNow'] },
            { guard: 'stopAsked', target: '#recovering', actions: ['recordStop'] },
            {
              guard: 'inputPending',
              target: '#awaitingLLM',
              actions: ['joinInput', 'inputJoined', 'checkpoint'],
            },
            { target: '#awaitingLLM' },
          ],
        },
        recovering: {
          id: 'recovering',
          description: 'The one dispatch point. The order is the policy: the first guard that passes decides.',
          always: [
            { guard: 'hardIdle', target: '#failed', actions: ['checkpointNow'] },
            { guard: 'contextLengthOnce', target: '#compacting', actions: ['recordCompacted'] },
            { guard: 'retryable', target: '#retryingLLM', actions: ['checkpointNow'] },
            { guard: 'stopAsked', target: '#forceStop', actions: ['beginStopping', 'checkpointNow'] },
            { guard: 'nudgeable', target: '#injectingMessage', actions: ['countNudge', 'nudge'] },
            { guard: 'stopping', target: '#stopped', actions: ['checkpointNow'] },
            { target: '#failed', actions: ['checkpointNow'] },
          ],
        },
      },
    },
    completed: { id: 'completed', type: 'final', description: 'The model gave its answer.' },
    stopped: { id: 'stopped', type: 'final', description: 'A limit, the loop detector or the application ended it.' },
    failed: { id: 'failed', type: 'final', description: 'Nothing in recovering could help.' },
    cancelled: { id: 'cancelled', type: 'final', description: 'A person ended it; it never comes back.' },
  },
});
