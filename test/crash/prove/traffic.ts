// Random schedules: two sessions, one route or two, messages, cancels, deploys and clock jumps at any moment, tools of
// all effects, a provider in every mood, a disk that fails and a process that is killed again and again. fast-check
// makes them, and makes a failing one small.
import fc from 'fast-check';
import { textOf } from '../../../src/core/messages.js';
import type { ModelRequest } from '../../../src/index.js';
import type { ScriptedAnswer } from '../../../src/testing/index.js';
import type { Outside } from './outside.js';
import { type Act, answersIn, calls, type Scenario, send } from './scenario.js';
import type { ScheduleOptions } from './schedule.js';
import { distant, external, mute, put, read, slow, whatReceiverSays } from './tools.js';

const ANSWERS = [
  'words',
  'nothing',
  'read',
  'batch',
  'twins',
  'put',
  'slow',
  'distant',
  'mute',
  'approval',
  'hang',
  'overloaded',
  'auth',
  'tooLong',
  'cutOff',
  'nobody',
] as const;
type Answer = (typeof ANSWERS)[number];

/** What happens from outside, once so many moments have passed. */
interface Event {
  readonly kind: 'send' | 'cancel' | 'deploy' | 'jump' | 'attend';
  readonly session: 'a' | 'b';
  readonly at: number;
  readonly attended: boolean;
  /** Which of the messages before is cancelled; how far the clock jumps. */
  readonly which: number;
}

export interface Traffic {
  readonly route: 'shared' | 'own';
  /** What the provider says to the nth message, answer by answer. */
  readonly scripts: readonly (readonly Answer[])[];
  readonly events: readonly Event[];
  readonly kills: readonly { readonly at: number; readonly downMs: number }[];
  readonly failing: readonly { readonly nth: number; readonly fate: 'failBefore' | 'failAfter' }[];
}

const MINUTE_MS = 60_000;
const DOWN_MS = [1_000, MINUTE_MS, 10 * MINUTE_MS, 5 * 60 * MINUTE_MS];
const JUMPS_MS = [1_000, MINUTE_MS, 6 * MINUTE_MS, 60 * MINUTE_MS];

export const traffic: fc.Arbitrary<Traffic> = fc.record({
  route: fc.constantFrom('shared', 'own'),
  scripts: fc.array(fc.array(fc.constantFrom(...ANSWERS), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  }),
  events: fc.array(
    fc.record<Event>({
      kind: fc.constantFrom('send', 'send', 'send', 'cancel', 'deploy', 'jump', 'attend'),
      session: fc.constantFrom('a', 'b'),
      at: fc.nat(60),
      attended: fc.boolean(),
      which: fc.nat(3),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  kills: fc.array(fc.record({ at: fc.nat(25), downMs: fc.constantFrom(...DOWN_MS) }), {
    minLength: 1,
    maxLength: 4,
  }),
  failing: fc.array(
    fc.record({ nth: fc.integer({ min: 2, max: 15 }), fate: fc.constantFrom('failBefore', 'failAfter') }),
    { maxLength: 2 },
  ),
});

const SUMMARY = 'a summary';

/** Which message is being answered, from its text: the provider knows nothing else. */
function asked({ messages }: ModelRequest): number {
  const texts = messages.map((message) => (message.role === 'user' ? textOf(message) : ''));
  const last = texts.findLast((text) => /^please m\d+$/.test(text));
  return last === undefined ? 0 : Number(last.slice('please m'.length));
}

function answerOf(answer: Answer, n: number, outside: Outside, request: ModelRequest): ScriptedAnswer {
  const input = { n };
  switch (answer) {
    case 'nothing':
      return outside.count(`nothing ${n}`) > 1 ? 'words' : '';
    case 'read':
      return calls(['read']);
    case 'batch':
      return calls(['mail', input], ['read'], ['put', input]);
    case 'twins':
      return calls(['mail', input], ['mail', input], ['put'], ['put']);
    case 'put':
      return calls(['put', input]);
    case 'slow':
      return calls(['slow', input], ['slow', input], ['read']);
    case 'distant':
      return calls(['distant', input]);
    case 'mute':
      return calls(['mute', input], ['put', input]);
    case 'approval':
      return calls(['pay', input], ['read']);
    case 'hang':
      return { hang: true, say: 'well' };
    case 'overloaded':
      return outside.count(`overloaded ${n}`) > 2 ? 'words' : { fail: 'overloaded' };
    case 'auth':
      return { fail: 'auth' };
    case 'tooLong':
      return JSON.stringify(request.messages).includes(SUMMARY) ? 'words' : { fail: 'contextLength' };
    case 'cutOff':
      return { say: 'cut', calls: [{ tool: 'mail', input }], finish: 'length' };
    case 'nobody':
      return calls(['nobody'], ['mail', input]);
    default:
      return 'words';
  }
}

function actOf(event: Event, index: number, route: Traffic['route']): Act {
  const when = (outside: Outside): boolean => outside.moments >= event.at;
  const { session: sessionId, attended, which } = event;
  switch (event.kind) {
    case 'send': {
      const routeKey = route === 'shared' ? { routeKey: 'shared' } : {};
      return send({ messageId: `m${index}`, sessionId, attended, ...routeKey }, when);
    }
    case 'cancel':
      return {
        name: `cancel ${index}`,
        when,
        async run(engine, outside) {
          const turnId = [...outside.turns.values()][which];
          if (turnId !== undefined) await engine.cancelTurn(turnId);
        },
      };
    case 'deploy':
      return {
        name: `deploy ${index}`,
        when,
        async run(_engine, outside, life) {
          outside.confirm(`deploy ${index}`);
          await life.leave(which * 400);
        },
      };
    case 'attend':
      return {
        name: `attend ${index}`,
        when,
        async run(engine, _outside, life) {
          life.present.add(sessionId);
          await engine.attend(sessionId, { person: 'ann', forMs: 10 * MINUTE_MS });
        },
      };
    default:
      return { name: `jump ${index}`, when, run: async (_engine, _outside, life) => life.jump(JUMPS_MS[which] ?? 0) };
  }
}

/** Somebody looks after it: every question is answered, every doubt is settled by what the receiver says. */
const people: NonNullable<Scenario['people']> = async (engine, _outside, life) => {
  const asked = await engine.approvals();
  for (const { id, requestedAt } of asked) {
    await engine.decideApproval(id, { allow: requestedAt % 3 > 0, by: 'ann' });
  }
  const reviews = await engine.reviews();
  for (const { turnId, callId, idempotencyKey } of reviews) {
    await engine.settleCall(turnId, callId, { ...whatReceiverSays(life, idempotencyKey), by: 'ann' });
  }
  return asked.length + reviews.length > 0;
};

export function scenarioOf(data: Traffic): Scenario {
  const { scripts, events, route } = data;
  const last = Math.max(...events.map(({ at }) => at));
  return {
    name: 'random traffic',
    tools: (life) => ({
      read: read(life, 'read'),
      put: put(life, 'put'),
      mail: external(life, 'mail'),
      slow: slow(life, 'slow', { exclusive: true }),
      distant: distant(life, 'distant'),
      mute: mute(life, 'mute'),
      pay: external(life, 'pay', { approval: 'required', unattended: 'park' }),
    }),
    answer(request, outside) {
      const n = asked(request);
      const script = scripts[n % scripts.length] ?? [];
      const answer = script[answersIn(request)];
      return answer === undefined ? 'words' : answerOf(answer, n, outside, request);
    },
    acts: events.map((event, index) => actOf(event, index, route)),
    people,
    goesOn(outside) {
      const more = outside.moments < last;
      outside.moments = Math.max(outside.moments, last);
      return more;
    },
    options: {
      limits: { idleHardMs: 3 * MINUTE_MS, approvalMs: 5 * MINUTE_MS },
      compact: async (messages) => ({ summary: SUMMARY, keepFrom: messages.at(-1)?.meta.id ?? '' }),
    },
    ends: ['completed', 'stopped', 'failed', 'cancelled', 'abandoned'],
  };
}

export const scheduleOf = ({ kills, failing }: Traffic): ScheduleOptions => ({
  keeps: false,
  kills,
  failing: new Map(failing.map(({ nth, fate }) => [nth, fate])),
});
