// Breaks of the charts.

const TURN = 'machines/turn.machine.ts';
const SETUP = 'machines/turn.setup.ts';
const RECOVERY = 'machines/recovery.machine.ts';

export const MACHINES = [
  {
    breaks: 'A resumed turn begins again in `setup`, whatever phase it was in: `reenter` is removed.',
    file: TURN,
    search: "          target: '.lastPhase',\n          reenter: true,",
    replace: "          target: '.lastPhase',",
    tests: ['test/machines/restore.test.ts'],
  },
  {
    breaks: 'Guard order swapped: a stop is asked about before another try of the model.',
    file: TURN,
    search:
      "            { guard: 'retryable', target: '#retryingLLM', actions: ['checkpointNow'] },\n" +
      "            { guard: 'stopAsked', target: '#forceStop', actions: ['beginStopping', 'checkpointNow'] },",
    replace:
      "            { guard: 'stopAsked', target: '#forceStop', actions: ['beginStopping', 'checkpointNow'] },\n" +
      "            { guard: 'retryable', target: '#retryingLLM', actions: ['checkpointNow'] },",
    tests: ['test/machines/phases.test.ts'],
  },
  {
    breaks: 'A turn that was silent for too long goes on if it can: the hard time-out is not asked about first.',
    file: TURN,
    search: "            { guard: 'hardIdle', target: '#failed', actions: ['checkpointNow'] },\n",
    replace: '',
    tests: ['test/machines/watchdog.test.ts'],
  },
  {
    breaks: 'An answer with effects is only debounced: its calls may run before they are on disk (I1).',
    file: TURN,
    search: "{ guard: 'hasEffects', target: '#executingTools', actions: ['recordSuccess', 'checkpointNow'] }",
    replace: "{ guard: 'hasEffects', target: '#executingTools', actions: ['recordSuccess', 'checkpoint'] }",
    tests: ['test/paths/turn.test.ts'],
  },
  {
    breaks: 'A back-off is not written: a restart asks the provider again at once.',
    file: TURN,
    search: "{ guard: 'retryable', target: '#retryingLLM', actions: ['checkpointNow'] }",
    replace: "{ guard: 'retryable', target: '#retryingLLM', actions: [] }",
    tests: ['test/paths/turn.test.ts'],
  },
  {
    breaks: 'A decision is not in its own commit.',
    file: TURN,
    search: "on: { 'approvals.decided': { target: '#executingTools', actions: ['checkpointNow'] } }",
    replace: "on: { 'approvals.decided': { target: '#executingTools' } }",
    tests: ['test/paths/turn.test.ts'],
  },
  {
    breaks: 'Content of the model does not re-arm the watchdog.',
    file: TURN,
    search:
      "              id: 'awaitingLLMQuiet',\n" +
      "              description: 'The watchdog: content from the model re-enters it and re-arms both time-outs.',\n" +
      "              on: { 'model.progressed': { target: 'quiet', reenter: true } },",
    replace: "              id: 'awaitingLLMQuiet',",
    tests: ['test/engine/watchdog.test.ts'],
  },
  {
    breaks: 'A success leaves the cause of the last failure standing, and the next recovery takes its branch.',
    file: SETUP,
    search: '    recordSuccess: assign(({ context: c }) => ({\n      cause: null,',
    replace: '    recordSuccess: assign(({ context: c }) => ({',
    tests: ['test/machines/restore.test.ts'],
  },
  {
    breaks: 'A list that is too long is compacted for ever.',
    file: SETUP,
    search: 'contextLengthOnce: ({ context: c }) => isTooLong(c) && !c.compactedForLength,',
    replace: 'contextLengthOnce: ({ context: c }) => isTooLong(c),',
    tests: ['test/machines/sequences.test.ts', 'test/machines/retry.test.ts', 'test/machines/phases.test.ts'],
  },
  {
    breaks: 'A model that makes nothing but faults is nudged for ever.',
    file: SETUP,
    search: '      c.nudges.filter((at) => at > c.iterations - NUDGE_WINDOW).length < NUDGES,',
    replace: '      c.nudges.length >= 0,',
    tests: ['test/machines/stop-and-nudge.test.ts'],
  },
  {
    breaks: 'A back-off doubles without end.',
    file: SETUP,
    search: 'return Math.min(RETRY_CAP_MS, base * 2 ** Math.max(0, c.modelFailures - 1));',
    replace: 'return base * 2 ** Math.max(0, c.modelFailures - 1);',
    tests: ['test/machines/retry.test.ts'],
  },
  {
    breaks: 'A time-out that is off fires at once.',
    file: SETUP,
    search: 'softTimeout: ({ context: c }) => c.limits.idleSoftMs || OFF_MS,',
    replace: 'softTimeout: ({ context: c }) => c.limits.idleSoftMs,',
    tests: ['test/machines/watchdog.test.ts'],
  },
  {
    breaks: 'A turn whose deadline has passed stays parked for ever.',
    file: RECOVERY,
    search: 'waits: ({ context: c }) => c.waiting !== null && !deadlinePassed(c),',
    replace: 'waits: ({ context: c }) => c.waiting !== null,',
    tests: ['test/machines/recovery.test.ts'],
  },
  {
    breaks: 'A hand-over counts as a failure.',
    file: RECOVERY,
    search: '  !c.handedOver && (c.attempts',
    replace: '  (c.attempts',
    tests: ['test/machines/recovery.test.ts'],
  },
  {
    breaks: 'A last progress far in the future counts as fresh.',
    file: RECOVERY,
    search: 'return at - c.now <= c.policy.stalenessMs ? c.now : null;',
    replace: 'return c.now;',
    tests: ['test/machines/recovery.test.ts'],
  },
  {
    breaks: 'A person who says "go on" is asked whether that is wise.',
    file: RECOVERY,
    search: "        { guard: 'byPerson', target: 'attempt' },\n",
    replace: '',
    tests: ['test/machines/recovery.test.ts', 'test/paths/recovery.test.ts'],
  },
  {
    breaks: 'An external call in doubt is simply run again (I5).',
    file: 'machines/call.machine.ts',
    search: "          guard: 'repeatable',\n",
    replace: '',
    tests: ['test/machines/call.test.ts'],
  },
];
