// An external call that cannot be reconciled: once it may have happened, only a person can say so.
import { describe, expect, it } from 'vitest';
import { endOf, expectKilled, killedAt, LONG_MS, momentsOf, oneForEachState } from './kills.js';
import type { Service } from './package.js';
import type { Order, Place, Processes } from './processes.js';
import { expectCompleted, type Found, lookInto, ONE_BATCH } from './verdict.js';
import { type WitnessLine, witnessed } from './witness.js';

const SEND: Order = { script: 'review', drive: 'send' };
const SETTLE: Order = { script: 'review', drive: 'settle' };
const WANTED = { roles: ONE_BATCH, calls: 3 };
/** One where the store is the same as at an earlier moment. */
const RESTARTS = { newState: 3, sameState: 1 };

const posts = (place: Place): number => witnessed(place, 'effect').filter(({ tool }) => tool === 'post').length;

/** Whether the call was handed to its tool and nobody knows what became of it. */
function isInDoubt(found: Found | undefined): boolean {
  return found?.session.calls.some(({ toolName, state }) => toolName === 'post' && state === 'dispatched') === true;
}

function expectParked({ session, markers, reviews }: Found): void {
  expect(session.head).toMatchObject({ inProgress: true, phase: 'awaitingReview' });
  expect(session.head.waiting).toMatchObject({ reviews: reviews.map(({ callId }) => callId), until: null });
  expect(reviews.map(({ toolName }) => toolName)).toEqual(['post']);
  expect(markers.map(({ turnId }) => turnId)).toEqual([session.head.turnId]);
}

export async function describeReview(service: Service, processes: Processes): Promise<void> {
  const moments = await momentsOf(processes, SEND);
  const states = new Set(oneForEachState(moments).map(({ number }) => number));

  describe.concurrent('an external call without reconcile', () => {
    moments.forEach((moment, index) => {
      it(
        `I5, C27: killed ${moment.name}, is never repeated without a person, however often the process starts`,
        async () => {
          const place = await killedAt(processes, SEND, { ...moment, number: index + 1 });
          const doubt = isInDoubt(await lookInto(service, place).catch(() => undefined));
          const first = endOf(await processes.run(place, SEND));
          if (!doubt) {
            await expectCompleted(service, place, { ...WANTED, starts: 2 });
          } else {
            expect(first.rest).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
            const restarts = states.has(index + 1) ? RESTARTS.newState : RESTARTS.sameState;
            for (let n = 0; n < restarts; n += 1) await stayParked(service, processes, place, first.turnId);
            expect(endOf(await processes.run(place, SETTLE)).reviews).toHaveLength(1);
            await expectCompleted(service, place, { ...WANTED, starts: restarts + 3 });
          }
          expect(posts(place)).toBe(1);
          processes.remove(place);
        },
        LONG_MS,
      );
    });

    it(
      'I5, I8: a person settles it, and the process is killed anywhere in between: it completes, and nothing is repeated',
      async () => {
        const dead = moments.findIndex(({ name }) => name.startsWith('after the effect of call 2'));
        const origin = await killedAt(processes, SEND, { ...moments[dead]!, number: dead + 1 });
        endOf(await processes.run(origin, SEND));
        const settling = processes.copy(origin);
        const { passed } = endOf(await processes.run(settling, SETTLE));
        processes.remove(settling);
        for (const moment of oneForEachState(passed)) {
          const place = processes.copy(origin);
          expectKilled(await processes.run(place, { ...SETTLE, killAt: moment.number }), place, moment.name);
          // What was told to the person as settled is settled: nobody is asked again.
          const told = witnessed(place, 'settled').length;
          const { reviews } = endOf(await processes.run(place, SETTLE));
          if (told > 0) expect(reviews).toEqual([]);
          await expectCompleted(service, place, { ...WANTED, starts: 4 });
          expect(posts(place)).toBe(1);
          processes.remove(place);
        }
        processes.remove(origin);
      },
      LONG_MS,
    );
  });
}

/** Waiting for a person spends no attempt, calls no model and touches nothing. */
async function stayParked(service: Service, processes: Processes, place: Place, turnId: string): Promise<void> {
  const seen = (): readonly WitnessLine[] => witnessed(place).filter(({ what }) => what !== 'accepted');
  const before = await lookInto(service, place);
  expectParked(before);
  const lines = seen();
  const { recovered, rest, accepted } = endOf(await processes.run(place, SEND));
  expect(recovered).toEqual({ resumed: [], held: [], parked: [turnId], abandoned: [], damaged: [] });
  expect({ accepted, status: rest.status }).toEqual({ accepted: 'duplicate', status: 'parked' });
  const after = await lookInto(service, place);
  expectParked(after);
  expect(after.session).toEqual(before.session);
  expect(seen()).toEqual(lines);
}
