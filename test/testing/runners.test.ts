// The kit from vitest, jest and node:test: each really runs, in a project that has installed the packed package.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installService, plainEnv, type Service } from '../crash/package.js';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(dirname(dirname(here)), 'node_modules');

let service: Service;
let project: string;

beforeAll(async () => {
  service = await installService();
  project = join(dirname(service.program), 'tests');
  cpSync(join(here, 'runner-project'), project, { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'tests', private: true, type: 'module' }));
  const scope = join(project, 'node_modules');
  mkdirSync(join(scope, '@jest'), { recursive: true });
  for (const name of ['zod', 'vitest', 'jest', '@jest/globals']) {
    symlinkSync(join(modules, name), join(scope, name), 'junction');
  }
});
afterAll(() => service?.remove());

/** What the runner says, however it ends: the texts that are looked for say whether it passed. */
async function node(...args: string[]): Promise<string> {
  const options = { cwd: project, env: { ...plainEnv, NO_COLOR: '1', FORCE_COLOR: '0' } };
  const told = await run(process.execPath, args, options).catch((error) => error as { stdout: string; stderr: string });
  return `${told.stdout}\n${told.stderr}`;
}

it('compiles what users write, strictly, against the types of the package', async () => {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(modules, '@types')],
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['vitest.ts'] }));
  expect((await node(join(modules, 'typescript', 'bin', 'tsc'), '-p', '.', '--pretty', 'false')).trim()).toBe('');
});

it('runs from vitest', async () => {
  writeFileSync(join(project, 'vitest.config.mjs'), "export default { test: { include: ['vitest.ts'] } };");
  const told = await node(join(modules, 'vitest', 'vitest.mjs'), 'run', '--reporter=verbose');
  expect(told).toMatch(/Tests +4 passed \(4\)/);
});

it('runs from jest', async () => {
  const config = {
    transform: {},
    testMatch: ['**/jest.mjs'],
    moduleFileExtensions: ['mjs', 'js', 'json', 'node'],
    watchman: false,
    testTimeout: 60_000,
  };
  const told = await node(
    '--experimental-vm-modules',
    join(modules, 'jest', 'bin', 'jest.js'),
    '--runInBand',
    '--config',
    JSON.stringify({ ...config, rootDir: project }),
  );
  expect(told).toMatch(/Tests: +(\d+) passed, \1 total/);
  expect(told).not.toContain('failed');
});

it('runs from the test runner of Node', async () => {
  const told = await node('--test', 'node-test.mjs');
  expect(told).toMatch(/^. fail 0$/m);
  expect(Number(/^. pass (\d+)$/m.exec(told)?.[1])).toBeGreaterThan(30);
});
