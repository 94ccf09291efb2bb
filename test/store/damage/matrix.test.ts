// Every file of a data folder, damaged in every way: the service starts or says what to do, what is damaged is told, and
// nothing that was never stored is read (I2, I5, I12; cases C19, C29). `npm run damage` does 200 flips of each file.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runMatrix } from './matrix.js';

const FLIPS = process.env.DAMAGE_FLIPS;
const SEED = Number(process.env.DAMAGE_SEED ?? 1);
const ONLY = new RegExp(process.env.DAMAGE_ONLY ?? '');

it(`case C19: every file of a data folder damaged in every way, seed ${SEED}`, async () => {
  const thorough = FLIPS === undefined ? null : { flips: Number(FLIPS) };
  const figures = await runMatrix(thorough, SEED, ONLY, thorough === null ? undefined : console.log);
  const { wrong, ...counted } = figures;
  console.log(JSON.stringify(counted));
  expect(wrong).toEqual([]);
  expect(figures.abortedAgain).toBe(0);
  expect(figures.started + figures.refused).toBe(figures.cases);
  expect(figures.files).toBeGreaterThanOrEqual(process.env.DAMAGE_ONLY === undefined ? 10 : 1);
}, 3_600_000);

it('an argument of `npm run damage` is refused with what there is: half an hour of another matrix helps nobody', () => {
  const command = fileURLToPath(new URL('all.mjs', import.meta.url));
  for (const argument of ['--help', '--seed=2', 'MANIFEST']) {
    const { status, stderr } = spawnSync(process.execPath, [command, argument], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/^npm run damage takes no arguments; DAMAGE_ONLY.*\n$/),
    ]);
  }
});
