// A turn with a mixed parallel batch, killed at every moment it has, and again at the moments of the recovery from it.
// A run that nobody kills counts the moments, and each of them gets a test.
//
// Moments between the same two commits and the same two effects leave the same bytes behind, so to whoever comes after
// they are one. All of them get a single kill; the pairs are made of one moment for each state, first and second alike.
// The second kills all begin with copies of the store that the first one left.
import { describe, it } from 'vitest';
import { endOf, expectKilled, killedAt, LONG_MS, momentsOf, oneForEachState } from './kills.js';
import type { Service } from './package.js';
import type { Order, Processes } from './processes.js';
import { expectCompleted, ONE_BATCH } from './verdict.js';

const IN_TURN: Order = { script: 'batch', drive: 'send' };
const AT_ONCE: Order = { ...IN_TURN, inTurn: false };
const WANTED = { roles: ONE_BATCH, calls: 5 };

export async function describeBatch(service: Service, processes: Processes): Promise<void> {
  const inTurn = await momentsOf(processes, IN_TURN);
  const atOnce = await momentsOf(processes, AT_ONCE);

  const describeSingles = (order: Order, moments: typeof inTurn): void => {
    moments.forEach((moment, index) => {
      it(
        `C5, C6: killed ${moment.name}, completes with every effect exactly once`,
        async () => {
          const place = await killedAt(processes, order, { ...moment, number: index + 1 });
          endOf(await processes.run(place, order));
          await expectCompleted(service, place, { ...WANTED, starts: 2 });
          processes.remove(place);
        },
        LONG_MS,
      );
    });
  };

  describe.concurrent('a mixed batch whose calls finish one after another', () => {
    describeSingles(IN_TURN, inTurn);

    for (const first of oneForEachState(inTurn)) {
      it(
        `C5, I11: killed ${first.name} and again anywhere in its recovery, completes with every effect exactly once`,
        async () => {
          const origin = await killedAt(processes, IN_TURN, first);
          const calm = processes.copy(origin);
          const { passed } = endOf(await processes.run(calm, IN_TURN));
          processes.remove(calm);
          for (const second of oneForEachState(passed)) {
            const place = processes.copy(origin);
            expectKilled(await processes.run(place, { ...IN_TURN, killAt: second.number }), place, second.name);
            endOf(await processes.run(place, IN_TURN));
            await expectCompleted(service, place, { ...WANTED, starts: 3 });
            processes.remove(place);
          }
          processes.remove(origin);
        },
        LONG_MS,
      );
    }
  });

  describe.concurrent('a mixed batch whose calls finish at the same time', () => {
    describeSingles(AT_ONCE, atOnce);
  });
}
