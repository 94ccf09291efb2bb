// `durable-turn visualize <module>`: any machine of any module, and plain words where there is none.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { visualize } from '../../src/cli/visualize.js';

const fixtures = join(dirname(fileURLToPath(import.meta.url)), 'fixtures');
let out: string;
let said: string;
let complained: string;

beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'durable-turn-charts-'));
  [said, complained] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    complained += text;
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(out, { recursive: true, force: true, maxRetries: 5 });
});

const fixture = (name: string) => join(fixtures, name);

describe('durable-turn visualize', () => {
  it('writes every form of the only machine of a module, and says what it wrote', async () => {
    expect(await visualize([fixture('door.mjs'), '--out', out])).toBe(0);
    const names = ['door.machine.ts', 'door.md', 'door.mmd', 'door.scxml', 'door.svg'];
    expect(readdirSync(out).sort()).toEqual(names);
    expect(readFileSync(join(out, 'door.svg'), 'utf8')).toMatch(/^<svg /);
    for (const name of names) expect(said).toContain(name);
    expect(complained).toBe('');
  });

  it('takes the export it is told', async () => {
    expect(await visualize([fixture('two.mjs'), '--export', 'second', '--out', out])).toBe(0);
    expect(readdirSync(out)).toContain('second.svg');
  });

  it('explains itself', async () => {
    expect(await visualize(['--help'])).toBe(0);
    expect(said).toContain('durable-turn visualize <module> [--export name] [--out folder]');
  });

  const refusals: readonly (readonly [string, string[], number, RegExp])[] = [
    ['no module', [], 2, /name the module/],
    ['two modules', ['a.mjs', 'b.mjs'], 2, /one module at a time/],
    ['an unknown option', ['a.mjs', '--colour'], 2, /colour.*visualize --help shows all options/],
    ['a file that is not there', ['./no-such-file.mjs'], 2, /there is no file/],
    ['a package that is not there', ['no-such-package-anywhere'], 1, /could not be loaded/],
    ['a module without a machine', [fixture('none.mjs')], 2, /exports no machine of XState 5/],
    ['several machines', [fixture('two.mjs')], 2, /several machines: choose one with --export \(first, second\)/],
    [
      'an export that is no machine',
      [fixture('door.mjs'), '--export', 'version'],
      2,
      /no machine version; it has door/,
    ],
  ];
  for (const [what, args, code, words] of refusals) {
    it(`refuses ${what} in one line, without a stack`, async () => {
      expect(await visualize([...args])).toBe(code);
      expect(complained).toMatch(words);
      expect(complained.trimEnd().split('\n')).toHaveLength(1);
      expect(readdirSync(out)).toEqual([]);
    });
  }
});
