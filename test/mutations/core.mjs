// Breaks of the pure core.

const BATCH = 'src/core/batch.ts';
const JOURNAL = 'src/core/journal.ts';
const STEP = 'src/core/step.ts';

export const CORE = [
  {
    breaks: 'A turn that is over is moved by a late event (I8).',
    file: STEP,
    search: "  if (snapshot.status !== 'active') return undefined;\n",
    replace: '',
    tests: ['test/core/step.test.ts'],
  },
  {
    breaks: 'The weaker of two directives counts, where it comes last.',
    file: STEP,
    search: "directive = directive === 'forced' ? 'forced' : 'debounced';",
    replace: "directive = 'debounced';",
    tests: ['test/core/step.test.ts'],
  },
  {
    breaks: 'Deadlines begin anew with every restart (I13).',
    file: STEP,
    search: "!isIdle(snapshot) && !snapshot.hasTag('redone');",
    replace: 'false;',
    tests: ['test/core/step.test.ts', 'test/paths/turn.test.ts'],
  },
  {
    breaks: 'A checkpoint of an unknown state restores into the first one.',
    file: 'src/core/checkpoint.ts',
    search: '!isRest(snapshot.value) || !equalJson(restored.value, snapshot.value)',
    replace: 'false',
    tests: ['test/core/checkpoint.test.ts'],
  },
  {
    breaks: 'Keys are counted from settled calls only: two identical calls of one batch share one.',
    file: JOURNAL,
    search: 'while (usedUp.has(ordinal) || taken.has(ordinal)) ordinal += 1;',
    replace: 'while (usedUp.has(ordinal)) ordinal += 1;',
    tests: ['test/core/idempotency-keys.test.ts'],
  },
  {
    breaks: 'A call that failed gets a new key when it is asked for again, and pays twice.',
    file: JOURNAL,
    search: "if (call.state === 'succeeded' || call.definitive) usedUp",
    replace: 'if (isSettled(call)) usedUp',
    tests: ['test/core/idempotency-keys.test.ts'],
  },
  {
    breaks: 'A definitive failure keeps its key: the receiver answers with the failure it remembers.',
    file: JOURNAL,
    search: "if (call.state === 'succeeded' || call.definitive) usedUp",
    replace: "if (call.state === 'succeeded') usedUp",
    tests: ['test/core/idempotency-keys.test.ts'],
  },
  {
    breaks: 'A new dispatch has the number of the one before: a late result settles it.',
    file: JOURNAL,
    search: "const dispatch = event === 'call.dispatched' ? call.dispatch + 1 : call.dispatch;",
    replace: 'const dispatch = Math.max(1, call.dispatch);',
    tests: ['test/core/journal.test.ts', 'test/whole-turn/late-results.test.ts'],
  },
  {
    breaks: 'Siblings of a call in doubt start, although nobody knows what the world looks like.',
    file: BATCH,
    search: '  if (batch.some(isDoubt)) return;\n',
    replace: '',
    tests: ['test/core/batch.test.ts'],
  },
  {
    breaks: 'A used approval covers a second dispatch.',
    file: BATCH,
    search: "  approval?.state === 'allowed' &&",
    replace: "  (approval?.state === 'allowed' || approval?.state === 'used') &&",
    tests: ['test/core/batch.test.ts', 'test/paths/call.test.ts'],
  },
  {
    breaks: 'A decision counts after its deadline.',
    file: BATCH,
    search: "return approval.expiresAt !== null && approval.expiresAt <= now ? 'expired' : 'applied';",
    replace: "return 'applied';",
    tests: ['test/core/batch.test.ts', 'test/whole-turn/decisions.test.ts'],
  },
  {
    breaks: 'All calls of a batch run at once, whatever `parallelCalls` says.',
    file: BATCH,
    search: 'runs < facts.parallelCalls && ',
    replace: '',
    tests: ['test/core/batch.test.ts', 'test/engine/scheduling.test.ts'],
  },
  {
    breaks: 'Exclusive calls overlap.',
    file: BATCH,
    search: '      namesInUse.add(call.exclusive);\n',
    replace: '',
    tests: ['test/core/batch.test.ts', 'test/whole-turn/exclusive.test.ts'],
  },
  {
    breaks: 'A call that never comes to an end is started again for ever.',
    file: BATCH,
    search: 'call.dispatch >= DISPATCHES ? TOO_OFTEN : ',
    replace: '',
    tests: ['test/engine/review-bounds.test.ts'],
  },
  {
    breaks: 'A changed list is written into the old epoch: the epoch is not switched (I3).',
    file: 'src/core/transcript.ts',
    search: "return { kind: 'rewrite', epoch: epoch + 1, messages: canonical };",
    replace: "return { kind: 'rewrite', epoch, messages: canonical };",
    tests: ['test/core/plan-transcript.test.ts'],
  },
  {
    breaks: 'A list that was edited is taken for one that grew.',
    file: 'src/core/transcript.ts',
    search: '  if (same < stored.length) return',
    replace: '  if (same === 0 && stored.length > 0) return',
    tests: ['test/core/plan-transcript.test.ts'],
  },
  {
    breaks: 'An answer that ended with a word of the provider is a clean one: the calls of a cut-off answer run.',
    file: 'src/core/model-check.ts',
    search: '!isText(reason) || !Object.hasOwn(FINISH_REASONS, reason)',
    replace: '!isText(reason)',
    tests: ['test/core/model-check.test.ts', 'test/engine/model-errors.test.ts'],
  },
];
