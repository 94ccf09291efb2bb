// Scenarios about the turn itself: what the model does, how long it takes, how it ends, and what becomes of it when the
// process leaves or stays away.
import type { Outside } from '../outside.js';
import { answersIn, calls, type Scenario, script, send } from '../scenario.js';
import { external, put, read, slow } from '../tools.js';

const HELLO = [send({ messageId: 'm1' })];

const retries: Scenario = {
  name: 'a model that fails and comes back',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer(request, outside) {
    if (answersIn(request) === 0 && outside.count('asked') <= 2) return { fail: 'overloaded' };
    return answersIn(request) === 0 ? calls(['mail']) : 'done';
  },
  acts: HELLO,
  effects: { 'mail {}': 1 },
};

const patience: Scenario = {
  name: 'a long back-off',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer(request, outside) {
    if (answersIn(request) === 1 && outside.count('asked') === 1) return { fail: 'rateLimited', retryAfterMs: 40_000 };
    return answersIn(request) === 0 ? calls(['mail']) : 'done';
  },
  acts: HELLO,
  downMs: 10_000,
  effects: { 'mail {}': 1 },
};

const hardTimeOut: Scenario = {
  name: 'a hard time-out',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail']), { hang: true, say: 'well' }),
  acts: HELLO,
  options: { limits: { idleSoftMs: 20_000, idleHardMs: 60_000 } },
  ends: ['failed'],
  effects: { 'mail {}': 1 },
};

const faults: Scenario = {
  name: 'answers that are no answers',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer(request, outside) {
    if (answersIn(request) === 0) return outside.count('asked') === 1 ? '' : calls(['mail'], ['nobody']);
    return answersIn(request) === 1 ? { say: 'cut', calls: [{ tool: 'mail', input: {} }], finish: 'length' } : 'done';
  },
  acts: HELLO,
  effects: { 'mail {}': 1 },
};

const stop: Scenario = {
  name: 'a stop',
  tools: (life) => ({ mail: external(life, 'mail'), put: put(life, 'put') }),
  answer: (request) =>
    request.toolChoice === 'none'
      ? calls(['mail', { late: true }])
      : calls(['mail', { n: answersIn(request) }], ['put']),
  acts: HELLO,
  options: { limits: { maxIterations: 2 } },
  ends: ['stopped'],
  effects: { 'mail {"n":0}': 1, 'mail {"n":1}': 1, 'put {}': 2 },
};

const handOver: Scenario = {
  name: 'a hand-over',
  tools: (life) => ({ mail: slow(life, 'mail'), put: put(life, 'put') }),
  answer: script(calls(['mail'], ['put']), calls(['put', { n: 2 }])),
  acts: [
    ...HELLO,
    {
      name: 'deploy',
      when: ({ begun, done }) => begun.size > 0 && !done.has('deploy'),
      async run(_engine, outside, life) {
        outside.confirm('deploy');
        await life.leave(2_000);
      },
    },
  ],
  effects: { 'mail {}': 1, 'put {}': 1, 'put {"n":2}': 1 },
  judge(view, outside) {
    const head = view.heads.get('s');
    const clean = outside.crashes === 0 && outside.counted('closed badly') === 0;
    return clean && head?.recoveries !== 0 ? ['a hand-over has spent an attempt'] : [];
  },
};

const rudeHandOver: Scenario = {
  ...handOver,
  name: 'a hand-over without grace',
  acts: [
    ...HELLO,
    {
      name: 'deploy',
      when: ({ begun, done }) => begun.size > 0 && !done.has('deploy'),
      async run(_engine, outside, life) {
        outside.confirm('deploy');
        await life.leave(0);
      },
    },
  ],
};

const hasDoubts = ({ landed }: Outside, reviews: number): boolean => landed.length <= 1 && reviews <= 1;

const staleness: Scenario = {
  name: 'a service that stays away for a day',
  tools: (life) => ({ mail: external(life, 'mail'), read: read(life, 'read') }),
  answer: script(calls(['read'], ['mail'])),
  acts: HELLO,
  downMs: 24 * 3_600_000,
  ends: ['completed', 'abandoned'],
  judge(view, outside) {
    const head = view.heads.get('s');
    const stale = outside.crashes > 0 && head?.ended?.kind === 'abandoned' && head.ended.gate !== 'staleness';
    return [
      ...(stale ? [`abandoned by gate ${head.ended?.gate}`] : []),
      ...(hasDoubts(outside, view.reviews.length) ? [] : ['the mail is there twice']),
    ];
  },
};

const attempts: Scenario = {
  name: 'attempts that run out',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: HELLO,
  options: { recovery: { attemptsWithoutProgress: 1 } },
  ends: ['completed', 'abandoned'],
  judge(view, outside) {
    const head = view.heads.get('s');
    const early = head?.ended?.kind === 'abandoned' && (outside.crashes < 2 || head.ended.gate !== 'attempts');
    return [
      ...(early ? [`abandoned by gate ${head?.ended?.gate} after ${outside.crashes} crashes`] : []),
      ...(hasDoubts(outside, view.reviews.length) ? [] : ['the mail is there twice']),
    ];
  },
};

export const turnScenarios: readonly Scenario[] = [
  retries,
  patience,
  hardTimeOut,
  faults,
  stop,
  handOver,
  rudeHandOver,
  staleness,
  attempts,
];
