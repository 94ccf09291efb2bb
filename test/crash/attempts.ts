// A turn that kills the process at every start has to be given up, and not before its attempts are used up.
import { describe, expect, it } from 'vitest';
import { endOf, expectKilled, LONG_MS } from './kills.js';
import type { Service } from './package.js';
import type { Order, Place, Processes } from './processes.js';
import { expectNothingOpen, expectWholeList, lookInto, rolesOf } from './verdict.js';
import { witnessed } from './witness.js';

const MODEL = 'before model call 1 of this process is answered';
const SEND: Order = { script: 'talk', drive: 'send' };

/** Killed inside the model call in the first run and in each of three recoveries. */
async function killedFourTimes(service: Service, processes: Processes): Promise<Place> {
  const place = processes.place();
  for (let attempt = 0; attempt <= 3; attempt += 1) {
    expectKilled(await processes.run(place, { ...SEND, killAt: MODEL }), place, MODEL);
    // I4: durable before the model was called.
    const { session, markers } = await lookInto(service, place);
    expect(session.head).toMatchObject({ attempts: attempt, recoveries: attempt, inProgress: true });
    expect(markers).toHaveLength(1);
    expect(witnessed(place, 'model')).toHaveLength(attempt + 1);
  }
  return place;
}

export function describeAttempts(service: Service, processes: Processes): void {
  describe.concurrent('a turn whose model call kills the process', () => {
    it(
      'I4, C17: is abandoned at the fourth start with an event, after four model calls, and frees its session',
      async () => {
        const place = await killedFourTimes(service, processes);
        const { recovered, events, accepted, turnId, rest } = endOf(await processes.run(place, SEND));
        expect(recovered).toMatchObject({
          resumed: [],
          held: [],
          parked: [],
          abandoned: [{ turnId, gate: 'attempts' }],
        });
        expect(events).toEqual([{ type: 'interrupted_turn_abandoned', gate: 'attempts', turnId, durable: true }]);
        expect({ accepted, status: rest.status }).toEqual({ accepted: 'duplicate', status: 'abandoned' });
        expect(witnessed(place, 'model')).toHaveLength(4);
        const { session, markers, outcome } = await lookInto(service, place);
        expect(session.head).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: 'attempts' } });
        expect(markers).toEqual([]);
        expect(outcome).toMatchObject({ status: 'abandoned' });
        expect(rolesOf(session.messages)).toEqual(['user']);

        // C12: the session takes new input, and that turn has its own attempts.
        const next = endOf(await processes.run(place, { ...SEND, messageId: 'm2' }));
        expect(next).toMatchObject({ accepted: 'started', rest: { status: 'completed' } });
        const found = await lookInto(service, place);
        expectNothingOpen(found);
        expectWholeList(found.session);
        expect(rolesOf(found.session.messages)).toEqual(['user', 'user', 'assistant']);
        expect(witnessed(place, 'model')).toHaveLength(5);
        processes.remove(place);
      },
      LONG_MS,
    );

    it(
      'I4, I9: killed anywhere in the process that abandons it, is told as abandoned and never calls the model again',
      async () => {
        const origin = await killedFourTimes(service, processes);
        const calm = processes.copy(origin);
        const { passed } = endOf(await processes.run(calm, SEND));
        processes.remove(calm);
        for (const [index, { name }] of passed.entries()) {
          const place = processes.copy(origin);
          expectKilled(await processes.run(place, { ...SEND, killAt: index + 1 }), place, name);
          const open = (await lookInto(service, place)).markers.length > 0;
          const { rest, events } = endOf(await processes.run(place, SEND));
          expect(rest.status).toBe('abandoned');
          // A kill between the commit and its event repeats the event rather than losing it.
          if (open) expect(events.map(({ type }) => type)).toContain('interrupted_turn_abandoned');
          expect(witnessed(place, 'model')).toHaveLength(4);
          expect(new Set(witnessed(place, 'outcome').map(({ status }) => status))).toEqual(new Set(['abandoned']));
          const { session, markers } = await lookInto(service, place);
          expect(session.head).toMatchObject({ inProgress: false, outcomesDue: [] });
          expect(markers).toEqual([]);
          processes.remove(place);
        }
        processes.remove(origin);
      },
      LONG_MS,
    );
  });
}
