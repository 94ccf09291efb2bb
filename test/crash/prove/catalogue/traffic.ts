// Scenarios about people and other traffic: approvals, input during a turn, queues, cancel, and what else may come.
import { TurnError } from '../../../../src/index.js';
import { calls, type Scenario, script, send } from '../scenario.js';
import { external, mute, put, read, slow, whatReceiverSays } from '../tools.js';

const HELLO = [send({ messageId: 'm1' })];
const begun: NonNullable<Scenario['acts'][number]['when']> = (outside) => outside.begun.size > 0;

const decide =
  (allow: boolean): NonNullable<Scenario['people']> =>
  async (engine, outside, life) => {
    const asked = await engine.approvals();
    for (const { id } of asked) {
      const result = await engine.decideApproval(id, { allow, by: 'ann', reason: 'so it is' });
      if (life.store.dead) return true;
      if (result === 'applied') outside.count('decided');
    }
    return asked.length > 0;
  };

const approved: Scenario = {
  name: 'an approval of somebody who is there',
  tools: (life) => ({
    pay: external(life, 'pay', { approval: 'required', unattended: 'park' }),
    put: put(life, 'put'),
  }),
  answer: script(calls(['pay'], ['put'])),
  acts: [send({ messageId: 'm1', attended: true })],
  people: decide(true),
  effects: { 'pay {}': 1, 'put {}': 1 },
};

const parked: Scenario = {
  name: 'a parked approval',
  tools: (life) => ({
    pay: external(life, 'pay', { approval: 'required', unattended: 'park' }),
    read: read(life, 'read'),
  }),
  answer: script(calls(['read'], ['pay'], ['pay'])),
  acts: HELLO,
  people: decide(true),
  effects: { 'pay {}': 2 },
};

const refused: Scenario = {
  name: 'a refused approval',
  tools: (life) => ({
    pay: external(life, 'pay', { approval: 'required', unattended: 'park' }),
    put: put(life, 'put'),
  }),
  answer: script(calls(['pay'], ['put'])),
  acts: HELLO,
  people: decide(false),
  effects: { 'put {}': 1 },
};

const expired: Scenario = {
  name: 'an approval that nobody decides',
  tools: (life) => ({
    pay: external(life, 'pay', { approval: 'required', unattended: 'park' }),
    put: put(life, 'put'),
  }),
  answer: script(calls(['pay'], ['put'])),
  acts: [send({ messageId: 'm1', attended: true })],
  options: { limits: { approvalMs: 60_000 } },
  downMs: 7_000,
  effects: { 'put {}': 1 },
};

const injection: Scenario = {
  name: 'input during a turn',
  tools: (life) => ({ mail: slow(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: [...HELLO, send({ messageId: 'm2' }, begun), send({ messageId: 'm3' }, begun)],
  effects: { 'mail {}': 2 },
};

const queue: Scenario = {
  name: 'two sessions on one route',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: ['a', 'b'].map((sessionId) => send({ messageId: `to-${sessionId}`, sessionId, routeKey: 'shared' })),
  effects: { 'mail {}': 2 },
};

const both: Scenario = {
  name: 'two sessions at once',
  tools: (life) => ({ mail: slow(life, 'mail'), put: put(life, 'put') }),
  answer: script(calls(['mail'], ['put'])),
  acts: ['a', 'b'].map((sessionId) => send({ messageId: `to-${sessionId}`, sessionId })),
  effects: { 'mail {}': 2, 'put {}': 2 },
};

const cancel: Scenario['acts'][number] = {
  name: 'cancel',
  when: (outside, view) => begun(outside, view, undefined as never) && outside.turns.has('m1'),
  async run(engine, outside, life) {
    const turnId = outside.turns.get('m1') as string;
    const { status } = await engine.cancelTurn(turnId, { reason: 'not needed any more' });
    if (life.store.dead) return;
    const stored = life.now.outcomes.get(turnId)?.status;
    if (stored !== status) life.complain(`I8: the cancel is told as ${status}, the disk says ${stored}`);
  },
};

const cancelled: Scenario = {
  name: 'a cancel',
  tools: (life) => ({ mail: slow(life, 'mail'), put: put(life, 'put') }),
  answer: script(calls(['mail'], ['put'])),
  acts: [...HELLO, cancel],
  ends: ['cancelled', 'completed'],
  judge: (_view, { landed }) =>
    landed.filter(({ tool }) => tool === 'mail').length <= 1 ? [] : ['the mail is there twice'],
};

const cancelledParked: Scenario = {
  name: 'a cancel of a parked turn',
  tools: (life) => ({ pay: external(life, 'pay', { approval: 'required', unattended: 'park' }) }),
  answer: script(calls(['pay'])),
  acts: [
    ...HELLO,
    {
      ...cancel,
      when: (outside, view) => outside.turns.has('m1') && view.heads.get('s')?.phase === 'awaitingApproval',
    },
  ],
  ends: ['cancelled'],
  effects: {},
};

/** The model asks in a second turn for what is in doubt from the first: refused, until a person has looked. */
const afterCancel: Scenario = {
  name: 'a turn behind a cancel, with a doubt',
  tools: (life) => ({ post: mute(life, 'post', { execute: slow(life, 'post').execute }) }),
  answer: script(calls(['post'])),
  acts: [
    ...HELLO,
    {
      ...cancel,
      when: (outside, view) =>
        outside.turns.has('m1') && (outside.begun.size > 0 || view.heads.get('s')?.phase === 'awaitingReview'),
    },
    send({ messageId: 'm2' }, (outside) => outside.isDone('cancel')),
  ],
  async people(engine, outside, life) {
    if (!outside.isDone('send m2')) return false;
    const reviews = await engine.reviews();
    for (const { turnId, callId, idempotencyKey } of reviews) {
      await engine.settleCall(turnId, callId, { ...whatReceiverSays(life, idempotencyKey), by: 'ann' });
    }
    return reviews.length > 0;
  },
  ends: ['cancelled', 'completed'],
  judge: (_view, { landed }) => (landed.length <= 2 ? [] : [`post has landed ${landed.length} times`]),
};

const withdrawn: Scenario = {
  name: 'input that is taken back',
  tools: (life) => ({ mail: slow(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: [
    ...HELLO,
    send({ messageId: 'm2' }, begun),
    {
      name: 'withdraw',
      when: (outside) => outside.isDone('send m2'),
      async run(engine) {
        try {
          await engine.withdrawMessage('s', 'm2');
        } catch (thrown) {
          // Taken back before, and the answer was lost.
          if (!(thrown instanceof TurnError && thrown.code === 'TURN_NOT_FOUND')) throw thrown;
        }
      },
    },
  ],
  removes: true,
};

const rewound: Scenario = {
  name: 'a rewind',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: [
    ...HELLO,
    {
      name: 'rewind',
      when: (outside, view) => outside.isDone('send m1') && view.heads.get('s')?.inProgress === false,
      run: (engine) =>
        engine.sendMessage({ sessionId: 's', messageId: 'm2', input: 'please m2', attended: false, after: 'm1' }),
    },
  ],
  removes: true,
  effects: { 'mail {}': 2 },
  judge: ({ calls }) =>
    calls.size === 1 ? [] : [`${calls.size} calls are in the journal, not the one the list names`],
};

const deleted: Scenario = {
  name: 'a session that is deleted',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: [
    ...HELLO,
    {
      name: 'delete',
      when: (outside, view) => outside.isDone('send m1') && view.markers.size === 0,
      run: (engine) => engine.deleteSession('s'),
    },
  ],
  removes: true,
  effects: { 'mail {}': 1 },
  judge: (view) => (view.heads.size + view.calls.size + view.seen.size === 0 ? [] : ['something is left of it']),
};

export const trafficScenarios: readonly Scenario[] = [
  approved,
  parked,
  refused,
  expired,
  injection,
  queue,
  both,
  cancelled,
  cancelledParked,
  afterCancel,
  withdrawn,
  rewound,
  deleted,
];
