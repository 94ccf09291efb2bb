// Callers that come at the same time, in every order that fast-check finds: one owner per route (I7), an end that stays
// (I8), input that is neither lost nor doubled (I11). `RACES=5000 npx vitest run test/races` looks further, with a new
// seed; `RACES_SEED=…` repeats one. A failure prints its seed, the moves and the order, made as short as possible.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { planIn, SESSIONS } from './plan.js';
import { Race } from './race.js';

const wanted = Number(process.env.RACES ?? 0);
const RUNS = wanted > 0 ? wanted : 100;
const SEED = Number(process.env.RACES_SEED ?? (wanted > 0 ? Date.now() % 2 ** 31 : 20_260_101));
const TIME_MS = Math.max(60_000, RUNS * 400);

const race = (sessions: Parameters<typeof planIn>[0]) =>
  fc.asyncProperty(planIn(sessions), fc.scheduler(), async (plan, scheduler) => {
    const run = new Race(plan, scheduler);
    await run.run();
    expect(run.faults).toEqual([]);
  });

it.each([
  ['one session', SESSIONS.slice(0, 1)],
  ['many sessions', SESSIONS],
] as const)(
  `races in %s keep I7, I8 and I11 (seed ${SEED}, ${RUNS} runs)`,
  { timeout: TIME_MS },
  async (_where, sessions) => {
    await fc.assert(race(sessions), { numRuns: RUNS, seed: SEED });
  },
);
