// What `npm test` runs. Two workers at most: the crash tests start processes of their own. The time-outs stop what hangs,
// and nothing else: no test has a shorter one of its own, since a busy machine takes minutes for what is done in seconds.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    // The closing line comes last: vitest's own summary is not one that CI counts.
    reporters: ['default', './.ci/closing-line.mjs'],
  },
});
