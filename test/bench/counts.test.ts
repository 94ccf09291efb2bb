// What the library costs, as far as it is the same on every machine: commits, batches, bytes. Times are no tests; they
// are in `npm run bench`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

interface Row {
  readonly workload: string;
  readonly name: string;
  readonly value: { readonly median: number };
}

const bench = join(dirname(fileURLToPath(import.meta.url)), 'run.mjs');
let rows: readonly Row[];

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-counts-'));
  const json = join(folder, 'counts.json');
  try {
    execFileSync(process.execPath, [bench, '--counts', '--json', json], { stdio: 'pipe' });
    rows = JSON.parse(readFileSync(json, 'utf8')).rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** The one figure whose name begins like this. */
function countOf(workload: string, name: string): number {
  const found = rows.filter((row) => row.workload === workload && row.name.startsWith(name));
  expect(found, `${workload} ${name}`).toHaveLength(1);
  return found[0]?.value.median as number;
}

describe('counts that no machine changes', () => {
  it('an iteration with an effect is two synced commits', () => {
    expect(countOf('B1', 'synced commits per iteration')).toBe(2);
  });

  it('without effects the debounce decides how often a turn is written, not the number of iterations', () => {
    expect(countOf('B2', 'commits per second')).toBeLessThanOrEqual(1);
  });

  it('a start reads a few keys for each interrupted turn, however many sessions are stored', () => {
    expect(countOf('B4', 'keys read by a start')).toBeLessThan(40);
    expect(countOf('B4', 'the same with')).toBe(1);
  });

  it('taking up a turn reads its messages and a few keys, however many turns there are', () => {
    expect(countOf('B5', 'keys read for each turn')).toBeLessThanOrEqual(10);
    expect(countOf('B5', 'the same with')).toBeLessThanOrEqual(1);
  });

  it('a turn writes a bounded number of bytes for each byte of new content', () => {
    expect(countOf('B6', "bytes handed to LevelDB / bytes of new content, effect 'none'")).toBeLessThan(1.5);
    expect(countOf('B6', "bytes handed to LevelDB / bytes of new content, effect 'external'")).toBeLessThan(2.3);
  });

  it('what an iteration writes does not grow with the turn', () => {
    expect(countOf('B6', "that of 100 iterations / that of 20, effect 'none'")).toBeLessThan(1.02);
    expect(countOf('B6', "that of 100 iterations / that of 20, effect 'external'")).toBeLessThan(1.02);
  });
});
