// What a scenario is: tools, a provider, senders and people, and how it has to end. Everything in it may depend on the
// world outside and on the request, and on nothing a process could lose.

import { textOf } from '../../../src/core/messages.js';
import type { EngineOptions, Input, Json, ModelRequest, Tool, TurnEngine } from '../../../src/index.js';
import type { ScriptedAnswer } from '../../../src/testing/index.js';
import type { Life } from './life.js';
import type { Outside } from './outside.js';
import type { View } from './view.js';

/** Something that a sender or a person does once; again after a crash, unless it was confirmed. */
export interface Act {
  readonly name: string;
  /** Default: at once. */
  when?(outside: Outside, view: View, life: Life): boolean;
  run(engine: TurnEngine, outside: Outside, life: Life): Promise<unknown>;
}

export interface Scenario {
  readonly name: string;
  tools(life: Life): { readonly [name: string]: Tool<any> };
  answer(request: ModelRequest, outside: Outside, sessionId: string): ScriptedAnswer;
  readonly acts: readonly Act[];
  /** What people do when nothing else moves; says whether they did anything. */
  people?(engine: TurnEngine, outside: Outside, life: Life): Promise<boolean>;
  /** Called when everything rests: true where more is to come. */
  goesOn?(outside: Outside): boolean;
  readonly options?: Partial<EngineOptions<any, any>>;
  /** Between the death of a process and the next start. Default 1,000. */
  readonly downMs?: number;
  /** Its schedules cost as much as ten of the others: every point and every pair is tried, and no more. */
  readonly bulky?: boolean;
  /** Whether sessions or inputs may be taken away by somebody. */
  readonly removes?: boolean;
  /** Effects that have to have landed in the end, exactly so often, by `tool input`. Absent: what the journal says. */
  readonly effects?: Readonly<Record<string, number>>;
  /** How turns may end, by what their session's head says. Default: completed. */
  readonly ends?: readonly string[];
  /** What else has to be true in the end. */
  judge?(view: View, outside: Outside): readonly string[];
}

/** A message that is sent until it is acknowledged. */
export function send(input: Partial<Input> & { readonly messageId: string }, when?: Act['when']): Act {
  return {
    name: `send ${input.messageId}`,
    ...(when === undefined ? {} : { when }),
    async run(engine, outside, life) {
      if (input.attended === true) life.present.add(input.sessionId ?? 's');
      const { turn } = await engine.sendMessage({
        sessionId: 's',
        input: `${ASKED} ${input.messageId}`,
        attended: false,
        ...input,
      });
      outside.turns.set(input.messageId, turn.turnId);
    },
  };
}

/** How the text of every input begins: the notice of a resume and nudges are in the list as well. */
const ASKED = 'please';

/** Answers in the list since the last input: the provider's own view of how far it is. */
export function answersIn({ messages }: ModelRequest): number {
  const asked = messages.findLastIndex((message) => message.role === 'user' && textOf(message).startsWith(ASKED));
  return messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length;
}

export const calls = (...made: readonly (readonly [string, Json?])[]): ScriptedAnswer => ({
  calls: made.map(([tool, input = {}]) => ({ tool, input })),
});

/** One answer after another, then "done". */
export const script =
  (...answers: readonly ScriptedAnswer[]): Scenario['answer'] =>
  (request) =>
    answers[answersIn(request)] ?? 'done';
