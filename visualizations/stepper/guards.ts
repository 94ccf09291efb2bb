/**
 * Owns the guards of the charts as the stepper runs them: a reader may say what one answers, and otherwise the chart's
 * own guard does.
 * Must not know what a guard is asked for.
 */
import type { AnyStateMachine } from 'xstate';
import { callMachine, recoveryMachine, turnMachine } from '../../machines/index.js';

export type Answers = Readonly<Record<string, boolean>>;

/** XState asks guards deep inside a pure step, so what they answer stands here for the length of that step. */
let answers: Answers = {};

export function answering<T>(said: Answers, step: () => T): T {
  const before = answers;
  answers = said;
  try {
    return step();
  } finally {
    answers = before;
  }
}

type Guard = (args: unknown, params: unknown) => boolean;

function ask<M extends AnyStateMachine>(machine: M): M {
  const guards = machine.implementations.guards as unknown as Record<string, Guard>;
  const asked = Object.fromEntries(
    Object.entries(guards).map(([name, guard]): [string, Guard] => [
      name,
      (args, params) => answers[name] ?? guard(args, params),
    ]),
  );
  return machine.provide({ guards: asked } as never) as M;
}

export const turn = ask(turnMachine);
export const recovery = ask(recoveryMachine);
export const call = ask(callMachine);

export const guardNames = (machine: AnyStateMachine): string[] => Object.keys(machine.implementations.guards);
