// `npm run damage`: the whole matrix, 200 flips of each file, with a line for each case. Takes about
// half an hour; DAMAGE_ONLY=MANIFEST damages files of that name only, DAMAGE_SEED=2 flips other bits.
import { spawnSync } from 'node:child_process';

if (process.argv.length > 2) {
  process.stderr.write(
    'npm run damage takes no arguments; DAMAGE_ONLY=MANIFEST damages files of that name only, DAMAGE_SEED=2 flips other bits.\n',
  );
  process.exit(2);
}

const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/store/damage/matrix.test.ts', '--disable-console-intercept'],
  { stdio: 'inherit', env: { DAMAGE_FLIPS: '200', ...process.env } },
);
process.exitCode = status ?? 1;
