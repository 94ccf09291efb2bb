// Every single crash point of every scenario, in a fresh short run of the simulation, against what RESULTS.md says the
// long one found. What it checks of each schedule is in prove/.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { plainEnv } from './package.js';
import { catalogue } from './prove/catalogue/index.js';
import { quotationIn, quotedFrom, withPart } from './prove/results.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = promisify(execFile);

/** Far above what it takes on a busy machine. */
const LONG_MS = 300_000;

interface Facts {
  readonly schedules: number;
  readonly crashes: number;
  readonly doubled: number;
  readonly lost: number;
  readonly failures: readonly { readonly where: string; readonly faults: readonly string[] }[];
  readonly singles: Readonly<Record<string, number>>;
}

const at = (path: string): string => join(root, path);

beforeAll(async () => {
  await run(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('test/crash/prove/tsconfig.json')]);
}, LONG_MS);

async function quickRun(): Promise<Facts> {
  const args = [at('dist/prove/test/crash/prove/main.js'), '--quick', '--json'];
  const { stdout } = await run(process.execPath, args, { cwd: root, env: plainEnv }).catch((failed) => failed);
  return JSON.parse(stdout) as Facts;
}

const tableRows = (text: string): readonly (readonly string[])[] =>
  text.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.slice(2, -2).split(' | ')] : []));

/** The rows behind the one that begins with this cell, up to the end of its table. */
function tableOf(text: string, head: string): readonly (readonly string[])[] {
  const [, behind] = text.split(`| ${head} |`);
  return tableRows((behind ?? '').split('\n\n')[0] as string).filter(([cell]) => !/^-+$/.test(cell as string));
}

it(
  'every single crash point of every scenario keeps every invariant, and RESULTS.md names them all',
  async () => {
    const { failures, doubled, lost, singles, schedules } = await quickRun();
    expect({ failures, doubled, lost }).toEqual({ failures: [], doubled: 0, lost: 0 });
    expect(schedules).toBeGreaterThan(Object.values(singles).reduce((sum, count) => sum + count, 0));
    const results = readFileSync(join(root, 'test/crash/RESULTS.md'), 'utf8');
    expect(Object.fromEntries(tableOf(results, 'scenario | crash points'))).toEqual(
      Object.fromEntries(catalogue.map(({ name }) => [name, String(singles[name])])),
    );
    const [figures] = tableOf(results, 'schedules | crashes | effects | doubled | lost');
    expect(figures?.slice(3)).toEqual(['0', '0']);
  },
  LONG_MS,
);

it('the README quotes the figures of RESULTS.md', () => {
  const [readme, results] = ['README.md', 'test/crash/RESULTS.md'].map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  expect(quotationIn(readme as string)).toBe(quotedFrom(results as string));
});

it('each part of RESULTS.md is written without touching the other', () => {
  const first = withPart('', 'simulation', 'one');
  const both = withPart(first, 'deaths', 'two');
  expect(withPart(withPart(both, 'simulation', 'three'), 'deaths', 'two')).toBe(
    withPart(withPart('', 'deaths', 'two'), 'simulation', 'three'),
  );
  expect(both).toContain('one');
  expect(both).toContain('two');
});

it('a count that is none, and an option or scenario that there is not, are refused: nothing would be proved', async () => {
  const wrong = async (program: string, ...args: string[]): Promise<unknown> =>
    run(process.execPath, [at(`dist/prove/test/crash/prove/${program}.js`), ...args], {
      cwd: root,
      env: plainEnv,
    }).then(
      () => 'accepted',
      ({ code, stderr }) => [code, String(stderr).split('\n')[0]],
    );
  const number = (option: string, text: string) => `--${option} must be a whole number of at least 1, not "${text}".`;
  expect(await wrong('main', '--schedules', 'x')).toEqual([2, number('schedules', 'x')]);
  expect(await wrong('main', '--workers', '0')).toEqual([2, number('workers', '0')]);
  expect(await wrong('main', '--only', 'nothing')).toEqual([
    2,
    expect.stringContaining('no scenario "nothing"; there'),
  ]);
  expect(await wrong('main', '--onyl', 'a cancel')).toEqual([2, expect.stringContaining("Unknown option '--onyl'")]);
  expect(await wrong('kill', '--kills', '0')).toEqual([2, number('kills', '0')]);
});
