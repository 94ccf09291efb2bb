// Scenarios about calls and their effects: what a batch can hold, and what can become of a call in doubt.
import { DefinitiveFailure, OutcomeUnknown } from '../../../../src/index.js';
import { calls, type Scenario, script, send } from '../scenario.js';
import { distant, external, land, mute, put, read, slow, whatReceiverSays } from '../tools.js';

const HELLO = [send({ messageId: 'm1' })];

const one: Scenario = {
  name: 'one effect',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail'])),
  acts: HELLO,
  effects: { 'mail {}': 1 },
};

const mixed: Scenario = {
  name: 'a mixed batch',
  tools: (life) => ({ read: read(life, 'read'), put: put(life, 'put'), mail: external(life, 'mail') }),
  answer: script(calls(['read'], ['put'], ['mail'])),
  acts: HELLO,
  effects: { 'put {}': 1, 'mail {}': 1 },
};

const twins: Scenario = {
  name: 'identical calls in a batch',
  tools: (life) => ({ mail: external(life, 'mail'), put: put(life, 'put') }),
  answer: script(calls(['mail'], ['mail'], ['put'], ['put'])),
  acts: HELLO,
  effects: { 'mail {}': 2, 'put {}': 2 },
};

const again: Scenario = {
  name: 'the same call, asked for again',
  tools: (life) => ({ mail: external(life, 'mail') }),
  answer: script(calls(['mail']), calls(['mail'])),
  acts: HELLO,
  effects: { 'mail {}': 2 },
};

const inTurn: Scenario = {
  name: 'calls that never overlap',
  tools: (life) => ({ charge: slow(life, 'charge', { exclusive: true }) }),
  answer: script(calls(['charge', { n: 1 }], ['charge', { n: 2 }])),
  acts: HELLO,
  effects: { 'charge {"n":1}': 1, 'charge {"n":2}': 1 },
};

const noted: Scenario = {
  name: 'a note before the effect',
  tools: (life) => ({
    mail: external(life, 'mail', {
      async execute(_input, call) {
        life.checks.checkStart('mail', call);
        await call.note({ sending: call.idempotencyKey });
        return land(life, 'mail', {}, call);
      },
      async reconcile({ notes, idempotencyKey }) {
        if (life.outside.has(idempotencyKey) && notes.length === 0) {
          life.complain('I14: the note that was durable before the effect is gone');
        }
        return whatReceiverSays(life, idempotencyKey);
      },
    }),
  }),
  answer: script(calls(['mail'])),
  acts: HELLO,
  effects: { 'mail {}': 1 },
};

const flight: Scenario = {
  name: 'a request on its way',
  tools: (life) => ({ pay: distant(life, 'pay') }),
  answer: script(calls(['pay'])),
  acts: HELLO,
  effects: { 'pay {}': 1 },
};

const failedInDoubt: Scenario = {
  name: 'reconcile says: failed',
  tools: (life) => ({
    mail: external(life, 'mail', {
      async reconcile({ idempotencyKey }) {
        if (life.outside.has(idempotencyKey)) return whatReceiverSays(life, idempotencyKey);
        return { outcome: 'failed', error: 'it was refused' };
      },
    }),
  }),
  answer: script(calls(['mail'])),
  acts: HELLO,
  judge: (_view, { landed, crashes }) =>
    landed.length <= 1 && (landed.length === 1 || crashes > 0) ? [] : [`mail has landed ${landed.length} times`],
};

const settled: NonNullable<Scenario['people']> = async (engine, outside, life) => {
  const reviews = await engine.reviews();
  for (const { turnId, callId, idempotencyKey } of reviews) {
    await engine.settleCall(turnId, callId, { ...whatReceiverSays(life, idempotencyKey), by: 'ann' });
  }
  return reviews.length > 0;
};

const unknown: Scenario = {
  name: 'reconcile does not know, a person does',
  tools: (life) => ({
    mail: external(life, 'mail', { reconcile: async () => ({ outcome: 'unknown' }) }),
    put: put(life, 'put'),
  }),
  answer: script(calls(['mail'], ['put'])),
  acts: HELLO,
  people: settled,
  effects: { 'mail {}': 1, 'put {}': 1 },
};

const review: Scenario = {
  name: 'only a person knows',
  tools: (life) => ({ post: mute(life, 'post'), read: read(life, 'read') }),
  answer: script(calls(['post', { n: 1 }], ['read'], ['post', { n: 2 }])),
  acts: HELLO,
  people: settled,
  effects: { 'post {"n":1}': 1, 'post {"n":2}': 1 },
};

const timeOut: Scenario = {
  name: 'a tool that never answers',
  tools: (life) => ({
    mail: external(life, 'mail', {
      timeoutMs: 5_000,
      async execute(input, call) {
        life.checks.checkStart('mail', call);
        await land(life, 'mail', input, call);
        return life.pause(60_000).then(() => 'too late');
      },
    }),
  }),
  answer: script(calls(['mail'])),
  acts: HELLO,
  effects: { 'mail {}': 1 },
};

/** The first try fails for good, the second is sent and its answer is lost, the third works. */
const errors: Scenario = {
  name: 'errors of a tool',
  tools: (life) => ({
    mail: external(life, 'mail', {
      async execute(input, call) {
        life.checks.checkStart('mail', call);
        if (life.outside.counted('refused') === 0) {
          life.outside.count('refused');
          await life.at('refused');
          throw new DefinitiveFailure('the box is full');
        }
        await land(life, 'mail', input, call);
        throw new OutcomeUnknown('the line broke');
      },
    }),
  }),
  answer: script(calls(['mail']), calls(['mail'])),
  acts: HELLO,
  // A crash behind the refusal and before it is stored makes one more call of it: the model asks twice in any case.
  judge: (_view, { landed }) =>
    landed.length >= 1 && landed.length <= 2 ? [] : [`mail has landed ${landed.length} times`],
};

export const callScenarios: readonly Scenario[] = [
  one,
  mixed,
  twins,
  again,
  inTurn,
  noted,
  flight,
  failedInDoubt,
  unknown,
  review,
  timeOut,
  errors,
];
