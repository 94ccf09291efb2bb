// What `npm test` runs. Two workers at most: the crash tests start processes of their own, and time-outs that hold
// on a busy machine are worth more than a few seconds.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 10_000,
    // The closing line comes last: vitest's own summary is not one that CI counts.
    reporters: ['default', './.ci/closing-line.mjs'],
  },
});
