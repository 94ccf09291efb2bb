// Kills from outside at moments nobody chose: thirty of them over two conversations with turn after turn.
import { describe, expect, it } from 'vitest';
import { endOf, LONG_MS } from './kills.js';
import type { Service } from './package.js';
import type { Order, Place, Processes } from './processes.js';
import { expectNothingOpen, expectPaired, expectWholeList, lookInto, resultsOf, rolesOf } from './verdict.js';
import { witnessed } from './witness.js';

const SEEDS = [20_261, 7];
const KILLS = 15;
const LONGEST_DELAY_MS = 160;
const SESSIONS = ['left', 'right'];
const TRAFFIC: Order = { script: 'traffic', drive: 'traffic', inTurn: false, paceMs: 6, limitless: true };
const ONE_TURN = ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'];

/** Printed with every failure: the same seed gives the same delays, if not the same moments. */
function delaysFrom(seed: number): readonly number[] {
  let state = seed;
  return Array.from({ length: KILLS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * LONGEST_DELAY_MS);
  });
}

const acknowledged = (place: Place, sessionId: string): readonly string[] => [
  ...new Set(
    witnessed(place, 'accepted').flatMap(({ messageId = '' }) =>
      messageId.startsWith(`${sessionId} `) ? [messageId] : [],
    ),
  ),
];

async function expectWholeSession(service: Service, place: Place, sessionId: string, why: string): Promise<number> {
  const found = await lookInto(service, place, sessionId);
  const { messages } = found.session;
  expectNothingOpen(found);
  expectWholeList(found.session);
  expectPaired(messages);
  // I11: every message that was acknowledged is there once, in its order, with a turn of its own.
  const inputs = messages.filter(({ meta }) => meta.origin === 'input').map(({ meta }) => meta.id);
  expect(inputs, why).toEqual(inputs.map((_, index) => `${sessionId} ${index + 1}`));
  expect(inputs, why).toEqual(expect.arrayContaining([...acknowledged(place, sessionId)]));
  expect(rolesOf(messages), why).toEqual(inputs.flatMap(() => ONE_TURN));
  expectEffectsOfResults(
    place,
    sessionId,
    messages.flatMap(({ message }) => resultsOf(message)),
    why,
  );
  return inputs.length;
}

/** What the model was told is what happened: each receipt belongs to one effect, and each effect to one receipt. */
function expectEffectsOfResults(
  place: Place,
  sessionId: string,
  results: ReturnType<typeof resultsOf>,
  why: string,
): void {
  for (const tool of ['put', 'mail', 'charge']) {
    const receipts = results.flatMap(({ toolName, output }) =>
      toolName === tool ? [(output as { value?: { receipt?: string } }).value?.receipt] : [],
    );
    const keys = witnessed(place, 'effect')
      .filter((line) => line.session === sessionId && line.tool === tool)
      .map(({ key }) => key);
    expect(new Set(receipts).size, why).toBe(receipts.length);
    expect((tool === 'put' ? [...new Set(keys)] : [...keys]).sort(), why).toEqual([...receipts].sort());
  }
}

export function describeRandom(service: Service, processes: Processes): void {
  describe.concurrent('a service that is killed at random', () => {
    for (const seed of SEEDS) {
      it(
        `I2, I3, I11, C5: loses no message and doubles no effect in ${KILLS} kills at random moments (seed ${seed})`,
        async () => {
          const place = processes.place();
          const delays = delaysFrom(seed);
          const why = `seed ${seed}, delays in ms: ${delays.join(' ')}`;
          console.log(why);
          for (const delay of delays) {
            const running = await processes.start(place, { ...TRAFFIC, seed, upTo: { left: 10_000, right: 10_000 } });
            await running.said('open');
            await new Promise((resolve) => setTimeout(resolve, delay));
            running.kill('SIGKILL');
            const { signal, stderr } = await running.ended;
            expect({ signal, stderr }, why).toEqual({ signal: 'SIGKILL', stderr: '' });
          }
          // One more than was acknowledged: the last one may be on the disk without its sender knowing.
          const upTo = Object.fromEntries(SESSIONS.map((id) => [id, acknowledged(place, id).length + 1]));
          endOf(await processes.run(place, { ...TRAFFIC, seed, upTo }));
          let turns = 0;
          for (const sessionId of SESSIONS) turns += await expectWholeSession(service, place, sessionId, why);
          const ended = witnessed(place, 'outcome');
          expect(new Set(ended.map(({ turnId }) => turnId)).size, why).toBe(turns);
          expect(new Set(ended.map(({ status }) => status)), why).toEqual(new Set(['completed']));
          processes.remove(place);
        },
        LONG_MS,
      );
    }
  });
}
