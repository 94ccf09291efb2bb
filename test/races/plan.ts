// What a race is made of: what was left behind, what the model says, and what callers do, all of it found by fast-check.
import fc from 'fast-check';
import type { ScriptedAnswer } from '../../src/testing/index.js';
import { calls } from '../engine/world.js';

export const SESSIONS = ['a', 'b', 'c'] as const;
export type SessionId = (typeof SESSIONS)[number];

export type InSession = 'send' | 'again' | 'start' | 'cancel' | 'decide' | 'refuse' | 'settle' | 'attend';
export type Move =
  | { readonly do: InSession; readonly in: SessionId }
  | { readonly do: 'recover' }
  | { readonly do: 'close' }
  | { readonly do: 'pass'; readonly ms: number };

/** What a process before this one left behind in a session when it was killed. */
export type Left = 'nothing' | 'modelCall' | 'approval' | 'doubt';

export interface Plan {
  readonly left: Readonly<Record<SessionId, Left>>;
  /** What the model answers in each session, one after another; behind the end it says "done". */
  readonly answers: Readonly<Record<SessionId, readonly ScriptedAnswer[]>>;
  /** The sessions share a route: at most one of them may run. */
  readonly oneRoute: boolean;
  /** The application takes outcomes, which is one commit more for each turn. */
  readonly takesOutcomes: boolean;
  readonly moves: readonly Move[];
}

const ANSWERS: readonly ScriptedAnswer[] = [
  'done',
  calls('read'),
  calls('mail'),
  calls('pay'),
  calls(['mail', { n: 1 }], 'pay'),
  { fail: 'network' },
];

/** Moves in as many sessions as `sessions` names: in one, everything meets; in many, routes and recovery do. */
export function planIn(sessions: readonly SessionId[]): fc.Arbitrary<Plan> {
  const session = fc.constantFrom(...sessions);
  const inSession = fc.record({
    do: fc.constantFrom<InSession>('send', 'send', 'again', 'start', 'cancel', 'decide', 'refuse', 'settle', 'attend'),
    in: session,
  });
  const move: fc.Arbitrary<Move> = fc.oneof(
    { weight: 9, arbitrary: inSession },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Move>({ do: 'recover' }, { do: 'recover' }, { do: 'close' }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1_000, 310_000) }) },
  );
  const each = <T>(value: fc.Arbitrary<T>) => fc.record({ a: value, b: value, c: value });
  const left = fc.constantFrom<Left>('nothing', 'modelCall', 'approval', 'doubt');
  return fc.record({
    left: each(left).map((all) => keep(all, sessions)),
    answers: each(fc.array(fc.constantFrom(...ANSWERS), { maxLength: 3 })),
    oneRoute: fc.boolean(),
    takesOutcomes: fc.boolean(),
    moves: fc.array(move, { minLength: 2, maxLength: 8 }),
  });
}

/** Only these sessions take part. */
const keep = (all: Record<SessionId, Left>, sessions: readonly SessionId[]): Record<SessionId, Left> => ({
  a: sessions.includes('a') ? all.a : 'nothing',
  b: sessions.includes('b') ? all.b : 'nothing',
  c: sessions.includes('c') ? all.c : 'nothing',
});
