// What the bench refuses before it measures anything: a workload that ran shows on stderr, in a line of its own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const bench = join(dirname(fileURLToPath(import.meta.url)), 'run.mjs');
let scratch = '';
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-bench-options-'));
  mkdirSync(join(scratch, 'empty'));
  mkdirSync(join(scratch, 'broken'));
  writeFileSync(join(scratch, 'broken', 'run.json'), '{');
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function ran(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench, ...args], { encoding: 'utf8', cwd: scratch });
  return { status, stdout, stderr };
}

const refusals: readonly (readonly [string[], RegExp])[] = [
  [['--onyl', 'B1'], /^Unknown option '--onyl'.*--only B1,B3 +some/s],
  [['--only', ''], /^--only: there is no workload ""; there are B1, .*B9\.\n$/],
  [['--only', 'B1,'], /^--only: there is no workload "";/],
  [['--only', 'B8,B0'], /^--only: there is no workload "B0";/],
  [['--only', 'B8,B9'], /^B9 needs --trajectories <folder>/],
  [
    ['--only', 'B3', '--counts'],
    /^--counts: nothing of B3 is the same on every machine; it is of B1, B2, B4, B5, B6\.\n$/,
  ],
  [
    ['--only', 'B8', '--json', 'nowhere/x.json'],
    /^--json: "nowhere\/x\.json" cannot be written: there is no folder ".*nowhere"\.\n$/,
  ],
  [['--only', 'B8', '--json', 'empty'], /^--json: "empty" cannot be written: it is no file\.\n$/],
  [['--only', 'B8', '--json', ''], /^--json: "" cannot be written: it is no file\.\n$/],
  [['--only', 'B9', '--trajectories', 'nowhere'], /^--trajectories: ENOENT.*nowhere'\n$/],
  [['--only', 'B9', '--trajectories', 'empty'], /^--trajectories: there is no recorded run in "empty":/],
  [['--only', 'B9', '--trajectories', 'broken'], /^--trajectories: ".*run\.json" is no recorded run:/],
];
for (const [args, words] of refusals) {
  it(`refuses ${args.map((arg) => arg || '""').join(' ')} before anything runs`, () => {
    expect(ran(...args)).toEqual({ status: 2, stdout: '', stderr: expect.stringMatching(words) });
  });
}

it('lists every option that it takes', () => {
  const { status, stdout } = ran('--help');
  expect(status).toBe(0);
  for (const name of ['only', 'quick', 'counts', 'check', 'json', 'markdown', 'trajectories']) {
    expect(stdout).toContain(`--${name} `);
  }
});
