// A cancel that was acknowledged holds, whatever happens to the process right behind the answer.
import { describe, expect, it } from 'vitest';
import { endOf, expectKilled, LONG_MS } from './kills.js';
import type { Service } from './package.js';
import type { Order, Place, Processes } from './processes.js';
import { expectCompleted, expectPaired, expectWholeList, lookInto, ONE_BATCH } from './verdict.js';
import { witnessed } from './witness.js';

const SEND: Order = { script: 'batch', drive: 'send' };
const CANCEL: Order = { script: 'batch', drive: 'cancel' };

const MOMENTS = [
  'before model call 1 of this process is answered',
  'before the effect of call 3 (mail)',
  'after the effect of call 3 (mail)',
  'before model call 2 of this process is answered',
];

const work = (place: Place) => witnessed(place).filter(({ what }) => what === 'effect' || what === 'model');

/** No later start brings it back: nothing is called, nothing is done, and the session takes new input. */
async function expectNeverBack(service: Service, processes: Processes, place: Place): Promise<void> {
  const before = work(place);
  for (let start = 0; start < 2; start += 1) {
    const { recovered, accepted, rest } = endOf(await processes.run(place, SEND));
    expect(recovered).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
    expect({ accepted, status: rest.status }).toEqual({ accepted: 'duplicate', status: 'cancelled' });
    const { session, markers } = await lookInto(service, place);
    expect(session.head).toMatchObject({ inProgress: false, phase: 'cancelled', ended: { kind: 'cancelled' } });
    expect(markers).toEqual([]);
    expectWholeList(session);
    expectPaired(session.messages);
  }
  expect(work(place)).toEqual(before);
  const keys = witnessed(place, 'effect').map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  // What was sent twice is there once: the first input of the session.
  const next = endOf(await processes.run(place, { ...SEND, script: 'talk', messageId: 'm2' }));
  expect(next).toMatchObject({ accepted: 'started', rest: { status: 'completed' } });
  const { session } = await lookInto(service, place);
  const inputs = session.messages.filter(({ meta }) => meta.origin === 'input').map(({ meta }) => meta.id);
  expect(inputs).toEqual(['m1', 'm2']);
}

export function describeCancel(service: Service, processes: Processes): void {
  describe.concurrent('a cancelled turn', () => {
    for (const holdAt of MOMENTS) {
      it(
        `I8: cancelled ${holdAt}, acknowledged, and killed at once, never comes back`,
        async () => {
          const place = processes.place();
          const { signal, stderr } = await processes.run(place, { ...CANCEL, holdAt });
          expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
          expect(witnessed(place).at(-1)).toMatchObject({ what: 'cancelled', status: 'cancelled' });
          await expectNeverBack(service, processes, place);
          processes.remove(place);
        },
        LONG_MS,
      );
    }

    it(
      'I8: killed at any moment of the cancel, is cancelled or goes on to its end, and cancelled once it was told so',
      async () => {
        const order: Order = { ...CANCEL, holdAt: MOMENTS[2] as string };
        const trial = processes.place();
        const { passed } = endOf(await processes.run(trial, { ...order, killAt: 0 }));
        processes.remove(trial);
        const from = passed.findIndex(({ name }) => name === order.holdAt);
        expect(passed.length - from).toBeGreaterThan(2);
        for (const [index, { name }] of passed.entries()) {
          if (index < from) continue;
          const place = processes.place();
          expectKilled(await processes.run(place, { ...order, killAt: index + 1 }), place, name);
          const told = witnessed(place, 'cancelled').length > 0;
          const durable = (await lookInto(service, place)).session.head.ended?.kind === 'cancelled';
          if (told) expect(durable).toBe(true);
          if (durable) {
            await expectNeverBack(service, processes, place);
          } else {
            endOf(await processes.run(place, SEND));
            await expectCompleted(service, place, { roles: ONE_BATCH, calls: 5, starts: 2 });
          }
          processes.remove(place);
        }
      },
      LONG_MS,
    );
  });
}
