// Scenarios about the list of messages itself: made shorter, rewound, brought in whole, in one batch and in many.
import { type Message, TurnError } from '../../../../src/index.js';
import { answersIn, calls, type Scenario, send } from '../scenario.js';
import { external } from '../tools.js';

const HELLO = [send({ messageId: 'm1' })];

const SUMMARY = 'two mails are sent';

const compaction: Scenario = {
  name: 'a compaction',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer(request) {
    if (JSON.stringify(request.messages).includes(SUMMARY)) return 'done';
    if (answersIn(request) === 2) return { fail: 'contextLength' };
    return calls(['mail', { n: answersIn(request), text: 'x'.repeat(400) }]);
  },
  acts: HELLO,
  options: {
    async compact(messages) {
      return { summary: SUMMARY, keepFrom: messages.at(-2)?.meta.id ?? '' };
    },
  },
  judge(view) {
    const archived = view.archive.get('s')?.length ?? 0;
    return archived > 0 ? [] : ['nothing was compacted'];
  },
};

/** More messages than one batch of the disk holds, before and behind the compaction. */
const MESSAGES = 620;
const REMOVED = 60;

const history: readonly Message[] = Array.from({ length: MESSAGES }, (_, n) => ({
  role: 'user',
  content: [{ type: 'text', text: n < REMOVED ? 'x'.repeat(200) : 'short' }],
}));

const staged: Scenario = {
  name: 'a list that takes many batches',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer(request) {
    if (!JSON.stringify(request.messages).includes(SUMMARY)) return { fail: 'contextLength' };
    return answersIn(request) === 0 ? calls(['mail']) : 'done';
  },
  acts: [
    {
      name: 'import',
      async run(engine) {
        try {
          await engine.importSession('s', history);
        } catch (thrown) {
          // Brought in before, and the answer was lost.
          if (!(thrown instanceof TurnError && thrown.code === 'TURN_BUSY')) throw thrown;
        }
      },
    },
    send({ messageId: 'm1' }, (outside) => outside.isDone('import')),
  ],
  options: {
    async compact(messages) {
      return { summary: SUMMARY, keepFrom: messages[REMOVED]?.meta.id ?? '' };
    },
  },
  bulky: true,
  effects: { 'mail {}': 1 },
  judge(view) {
    const there = view.archive.get('s')?.length ?? 0;
    return there >= REMOVED - 1 ? [] : [`${there} messages are in the archive`];
  },
};

export const listScenarios: readonly Scenario[] = [compaction, staged];
