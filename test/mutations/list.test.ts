// The list of breaks rots as the code changes: every one of them has to find its place, exactly once.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MUTATIONS } from './list.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

describe('the mutations', () => {
  it('are many, and no two are the same', () => {
    expect(MUTATIONS.length).toBeGreaterThanOrEqual(40);
    const texts = MUTATIONS.map(({ file, search, replace }) => `${file}\n${search}\n${replace}`);
    expect(new Set(texts).size).toBe(texts.length);
  });

  it.each(MUTATIONS.map((mutation) => [mutation.breaks, mutation] as const))(
    'finds its place once: %s',
    (_breaks, { file, search, replace, tests }) => {
      expect(read(file).split(search).length - 1, `"${search}" in ${file}`).toBe(1);
      expect(replace).not.toBe(search);
      expect(tests.length).toBeGreaterThan(0);
      expect(tests.filter((test) => !existsSync(join(root, test)))).toEqual([]);
    },
  );
});

it('a word that no break has is refused: nothing would be broken, and nothing survive', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'test/mutations/run.mjs'), '--help'], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([2, expect.stringContaining('No break has "--help" in its sentence or file')]);
});
