// What `npm run load` runs; it is no part of `npm test`.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/service/load/whole.ts'],
    pool: 'forks',
    maxWorkers: 1,
    disableConsoleIntercept: true,
  },
});
