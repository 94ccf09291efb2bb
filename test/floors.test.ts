// Enforces the floors of the source: which directory may import what, and what the pure ones may not touch. It reads
// the text of the files, because a tool that misreads the project finds no imports at all and is green; hence every
// rule is first shown to catch something, and every floor has to hold at least one file.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { codeOnly, type Import, importsOf } from './source-text.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MAX_LINES = 300;
const LEVEL_PACKAGES = ['level', 'memory-level', 'abstract-level'];

interface Floor {
  readonly dir: string;
  /** Directories it may import from, besides itself. */
  readonly below: readonly string[];
  readonly packages: readonly string[];
  readonly nodeBuiltIns: 'none' | 'hash' | 'any';
}

const FLOORS: readonly Floor[] = [
  { dir: 'machines', below: [], packages: ['xstate'], nodeBuiltIns: 'none' },
  // A hash of the same bytes is always the same, so `hash` does not make the core impure.
  { dir: 'src/core', below: ['machines'], packages: ['xstate'], nodeBuiltIns: 'hash' },
  { dir: 'src/store', below: ['src/core', 'machines'], packages: LEVEL_PACKAGES, nodeBuiltIns: 'any' },
  { dir: 'src/engine', below: ['src/core', 'machines'], packages: ['xstate'], nodeBuiltIns: 'any' },
  // It knows the AI SDK by structure: not even its types are imported.
  { dir: 'src/ai-sdk', below: ['src/core', 'machines'], packages: [], nodeBuiltIns: 'none' },
];

/** What the pure floors may not mention: clocks, randomness, timers and the process they run in. */
const AMBIENT: readonly RegExp[] = [
  /\bDate\s*\.\s*now\b/,
  /\bnew\s+Date\b/,
  /\bMath\s*\.\s*random\b/,
  /\bperformance\s*\.\s*now\b/,
  /\bsetTimeout\b/,
  /\bsetInterval\b/,
  /\bsetImmediate\b/,
  /\brandomUUID\b/,
  /\bgetRandomValues\b/,
  /(?<![\w$.])process\s*(?:\?\.|\.|\[)/,
  /(?<![\w$.])console\s*(?:\?\.|\.|\[)/,
  /\bglobalThis\b/,
];

function mayImport(floor: Floor, file: string, { specifier, clause }: Import): boolean {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    return [floor.dir, ...floor.below].some((dir) => target.startsWith(`${dir}/`));
  }
  if (specifier.startsWith('node:')) {
    if (floor.nodeBuiltIns === 'hash') {
      return specifier === 'node:crypto' && /^\{\s*hash\s*,?\s*\}\s*from$/.test(clause);
    }
    return floor.nodeBuiltIns === 'any';
  }
  return floor.packages.includes(specifier);
}

function wrongImports(floor: Floor, file: string, source: string): string[] {
  return importsOf(source)
    .filter((found) => !mayImport(floor, file, found))
    .map((found) => `${file} imports ${found.specifier}`);
}

function ambientMentions(file: string, source: string): string[] {
  const code = codeOnly(source);
  return AMBIENT.flatMap((pattern) => {
    const match = pattern.exec(code);
    return match === null ? [] : [`${file}:${code.slice(0, match.index).split('\n').length} mentions ${match[0]}`];
  });
}

/** Whether the file opens with a comment of at least one full clause, after a `#!` line if it has one. */
function opensWithComment(source: string): boolean {
  const text = source.replace(/^#!.*\n/, '').trimStart();
  const comment = /^\/\*[\s\S]*?\*\/|^(?:\/\/.*\n)+/.exec(text)?.[0] ?? '';
  return (comment.match(/[A-Za-z]{2,}/g) ?? []).length >= 6;
}

function filesIn(dir: string): string[] {
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

const read = (file: string) => readFileSync(join(root, file), 'utf8');
const floorOf = (dir: string) => FLOORS.find((floor) => floor.dir === dir) as Floor;

describe('the floors', () => {
  for (const floor of FLOORS) {
    const allowed = [...floor.below, ...floor.packages].join(', ');
    it(`${floor.dir} imports only itself and ${allowed}`, () => {
      const files = filesIn(floor.dir);
      expect(files.length, `files in ${floor.dir}`).toBeGreaterThan(0);
      expect(files.flatMap((file) => wrongImports(floor, file, read(file)))).toEqual([]);
    });
  }

  for (const dir of ['machines', 'src/core']) {
    it(`${dir} knows no clock, no randomness, no timers and no process`, () => {
      const files = filesIn(dir);
      expect(files.length, `files in ${dir}`).toBeGreaterThan(0);
      expect(files.flatMap((file) => ambientMentions(file, read(file)))).toEqual([]);
    });
  }
});

describe('every source file', () => {
  const files = () => [...filesIn('machines'), ...filesIn('src')];

  it(`is shorter than ${MAX_LINES} lines`, () => {
    const lines = (file: string) => read(file).replace(/\n$/, '').split('\n').length;
    expect(files().filter((file) => lines(file) >= MAX_LINES)).toEqual([]);
  });

  it('opens with a comment that says what it owns and must not know', () => {
    expect(files().filter((file) => !opensWithComment(read(file)))).toEqual([]);
  });

  it('has a name that says what is in it', () => {
    const named = [...files(), ...filesIn('test')];
    expect(named.filter((file) => /util|helper|manager/i.test(file))).toEqual([]);
  });
});

describe('the rules themselves', () => {
  const core = floorOf('src/core');
  const wrongInCore = (source: string) =>
    wrongImports(core, 'src/core/step.ts', source).map((w) => w.split(' ').at(-1));

  it('see every form of import', () => {
    const source = [
      "import a from '../store/a.js';",
      "import type { B } from '../engine/b.js';",
      "import {\n  c,\n  type D,\n} from '../cli/c.js';",
      "import '../e.js';",
      "export * from '../f.js';",
      "export { g } from '../../test/g.js';",
      "const h = await import('../h.js');",
      "const i = require('i');",
      'const j = await import(name);',
      "type K = import('../k.js').K;",
    ].join('\n');
    expect(wrongInCore(source).sort()).toEqual(
      [
        '../../test/g.js',
        '../cli/c.js',
        '../e.js',
        '../engine/b.js',
        '../f.js',
        '../h.js',
        '../k.js',
        '../store/a.js',
        '<computed>',
        'i',
      ].sort(),
    );
  });

  it('do not take prose, strings and types for imports', () => {
    const source = [
      "// import a from 'a';",
      "/* export * from 'b'; */",
      'const c = "import c from \'c\'";',
      "const d = `export * from 'd' ${f('x')} import 'e'`;",
      "export type E = 'from' | 'e';",
      "export const from = 'f';",
      "const g = /import 'g'/;",
      "const h = import.meta.url + 'h';",
    ].join('\n');
    expect(importsOf(source)).toEqual([]);
  });

  it('let the core import hash and nothing else of Node', () => {
    expect(wrongInCore("import { hash } from 'node:crypto';")).toEqual([]);
    expect(wrongInCore("import { hash, randomUUID } from 'node:crypto';")).toEqual(['node:crypto']);
    expect(wrongInCore("import * as crypto from 'node:crypto';")).toEqual(['node:crypto']);
    expect(wrongInCore("import { readFileSync } from 'node:fs';")).toEqual(['node:fs']);
  });

  it('keep the engine away from the store, and a directory apart from one whose name it begins with', () => {
    const engine = floorOf('src/engine');
    const wrong = (specifier: string) => wrongImports(engine, 'src/engine/a.ts', `import '${specifier}';`).length;
    expect(['../core/a.js', './a.js', '../../machines/index.js'].map(wrong)).toEqual([0, 0, 0]);
    expect(['../store/a.js', '../core-extra/a.js', 'level', '../index.js'].map(wrong)).toEqual([1, 1, 1, 1]);
  });

  it('find a clock in code, also inside a template, and not in prose', () => {
    const mentions = (source: string) => ambientMentions('a.ts', source).length;
    expect(mentions('const t = `at ${{ a: Date.now() }.a} `;')).toBe(1);
    expect(mentions('const d = a / b; const t = new Date(); // a / b')).toBe(1);
    expect(mentions('if (x) return /[/]"/.test(y); process.exit();')).toBe(1);
    expect(mentions("// Date.now()\nconst s = 'ends the process.'; this.process.next(); `console.log`;")).toBe(0);
  });

  it('tell an opening comment from a bare marker', () => {
    expect(opensWithComment('#!/usr/bin/env node\n// Owns the command line, and must not know the store.\nx;')).toBe(
      true,
    );
    expect(opensWithComment('// todo\nx;')).toBe(false);
    expect(opensWithComment("import 'x';\n// Owns a lot of things and knows nothing.")).toBe(false);
  });
});
