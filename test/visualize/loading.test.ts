// What a service loads never reaches the drawing, and the drawing loads its optional peers only when it draws.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { importsOf } from '../source-text.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Everything that loads with a file: what it imports statically, types left out, and what those import. */
function loadedWith(files: readonly string[]): { readonly files: Set<string>; readonly packages: Set<string> } {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { specifier, clause } of importsOf(readFileSync(join(root, file), 'utf8'))) {
      if (clause === 'import()' || /^type\b/.test(clause)) continue;
      if (specifier.startsWith('.')) visit(posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts'));
      else packages.add(specifier);
    }
  };
  files.forEach(visit);
  return { files: seen, packages };
}

const sources = (dir: string) =>
  readdirSync(join(root, dir))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${dir}/${file}`);

describe('a service', () => {
  const entries = ['src/index.ts', ...['src/core', 'src/store', 'src/engine', 'machines'].flatMap(sources)];
  const service = loadedWith(entries.filter((file) => existsSync(join(root, file))));

  it('loads nothing of the drawing', () => {
    expect(service.files.size).toBeGreaterThan(20);
    expect([...service.files].filter((file) => file.startsWith('src/visualize/'))).toEqual([]);
    expect([...service.packages].filter((name) => /elkjs|@xstate\/graph/.test(name))).toEqual([]);
  });
});

describe('durable-turn/visualize', () => {
  const drawing = loadedWith(['src/visualize/index.ts', 'src/cli/visualize.ts']);

  it('loads no layout engine until a picture is asked for', () => {
    expect(drawing.files).toContain('src/visualize/layout.ts');
    expect([...drawing.packages].filter((name) => !name.startsWith('node:'))).toEqual([]);
    expect(readFileSync(join(root, 'src/visualize/layout.ts'), 'utf8')).toContain("import('elkjs/lib/elk.bundled.js')");
  });

  it('loads nothing of the engine, the store or this project’s own charts', () => {
    const own = [...drawing.files].filter((file) => !/^src\/(?:visualize|cli)\//.test(file));
    expect(own).toEqual([]);
  });

  it('looks into XState in one file only', () => {
    const files = sources('src/visualize').filter((file) => file !== 'src/visualize/xstate-fields.ts');
    const looking = /\.(?:root|config|implementations|_nodes|getTransitionData|transitions\.get)\b/;
    expect(files.filter((file) => looking.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});
