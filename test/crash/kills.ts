// What the suites share: how a run that was killed, or came to its end, is told from one that did neither.
import { expect } from 'vitest';
import type { End, Ended, Moment, Order, Place, Processes } from './processes.js';
import { witnessed } from './witness.js';

/** Far above what the longest schedule takes on a busy machine; nothing here is about time. */
export const LONG_MS = 600_000;

export type Numbered = Moment & { readonly number: number };

/** The first moment of each state, with its number. */
export function oneForEachState(moments: readonly Moment[]): readonly Numbered[] {
  const states = new Set<string>();
  return moments.flatMap((moment, index) => {
    if (states.has(moment.state)) return [];
    states.add(moment.state);
    return [{ ...moment, number: index + 1 }];
  });
}

/** Says why, where a process that should have come to its end did not. */
export function endOf({ last, code, signal, stderr }: Ended): End {
  expect({ code, signal, stderr, said: last?.what }).toEqual({ code: 0, signal: null, stderr: '', said: 'end' });
  return last as End;
}

/** It died where it was to die, and nowhere else. */
export function expectKilled({ signal, code, stderr }: Ended, place: Place, moment: string): void {
  expect({ signal, code, stderr }).toEqual({ signal: 'SIGKILL', code: null, stderr: '' });
  expect(witnessed(place).at(-1)).toMatchObject({ what: 'killed', at: moment });
}

/** The moments of a run that nobody kills. */
export async function momentsOf(processes: Processes, order: Order): Promise<readonly Moment[]> {
  const place = processes.place();
  const { passed } = endOf(await processes.run(place, order));
  processes.remove(place);
  return passed;
}

/** A new place whose first process died at this moment. */
export async function killedAt(processes: Processes, order: Order, moment: Numbered): Promise<Place> {
  const place = processes.place();
  expectKilled(await processes.run(place, { ...order, killAt: moment.number }), place, moment.name);
  return place;
}
