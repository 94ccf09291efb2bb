// A start looks up in the index of a table which blocks can hold what it scans. A block that it misses is not verified,
// and damage in it could hide an interrupted turn: what is found has to be what a look at every block finds.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Level } from 'level';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entriesBetween } from '../../../src/store/leveldb/block-entries.js';
import { type Span, TableFile } from '../../../src/store/leveldb/table-file.js';
import { temporaryFolder } from '../world.js';

const scratch = temporaryFolder();
const KINDS = ['head', 'inbox', 'marker', 'message', 'meta', 'review'];
let file: TableFile;
let keys: readonly string[];

beforeAll(async () => {
  const level = new Level<string, string>(join(scratch, 'db'));
  await level.open();
  // Keys of every length, and blocks with one key as well as with many.
  keys = KINDS.flatMap((kind, k) =>
    Array.from({ length: 40 }, (_, n) => `!${kind}!${'x'.repeat(n % 7)}${n}-${k}`),
  ).sort();
  for (const [n, key] of keys.entries()) await level.put(key, `${n}`.padEnd(n % 5 === 0 ? 6_000 : 300, '.'));
  await (level as unknown as { compactRange(a: string, b: string): Promise<void> }).compactRange('!', '~');
  await level.close();
  const [name, ...others] = readdirSync(join(scratch, 'db')).filter((file) => file.endsWith('.ldb'));
  expect(others).toEqual([]);
  file = new TableFile(join(scratch, 'db', name as string));
});
afterAll(() => {
  file.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** By a look at every block: between the last key of the block before and its own. */
function lookedThrough(spans: readonly Span[]) {
  const all = file.index(file.size) ?? [];
  return all.filter((block, nth) => {
    const before = all[nth - 1]?.last;
    return spans.some(
      ({ from, to }) => block.last.compare(from) >= 0 && (before === undefined || before.compare(to) < 0),
    );
  });
}

describe('the index of a table', () => {
  it('gives for any spans the blocks that a look at all of them gives', () => {
    expect(file.index(file.size)?.length).toBeGreaterThan(40);
    const bound = fc.oneof(
      fc.constantFrom(...keys),
      fc.constantFrom(...keys).map((key) => `${key}!`),
      fc.constantFrom(...KINDS.flatMap((kind) => [`!${kind}!`, `!${kind}"`])),
    );
    fc.assert(
      fc.property(fc.uniqueArray(bound, { minLength: 2, maxLength: 8 }), (bounds) => {
        const sorted = bounds.map((key) => Buffer.from(key)).sort((a, b) => a.compare(b));
        const spans = sorted
          .slice(1)
          .flatMap((to, n) => (n % 2 === 0 ? [{ from: sorted[n] as Buffer, to }] : []))
          // Whoever asks has looked already whether the table reaches into the span.
          .filter(
            ({ from, to }) =>
              to.compare(Buffer.from(keys[0] as string)) > 0 && from.toString() <= (keys.at(-1) as string),
          );
        expect(file.within(file.size, spans)).toEqual(lookedThrough(spans));
      }),
    );
  });

  it('is not believed where it makes no sense, whatever its bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const found = entriesBetween(
          Buffer.from(bytes),
          () => false,
          () => false,
        );
        expect(found === null || Array.isArray(found)).toBe(true);
      }),
    );
  });
});
