// visualizations/ is what the machines of today give. `npm run visualize -- --check` says the same in CI.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { staleFiles, writeFiles } from '../../src/visualize/folder.js';
import { ownFiles } from '../../src/visualize/own-files.js';
import { stepperPage } from '../../visualizations/stepper-page.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = join(root, 'visualizations');
const generated = (file: string) => /\.(?:svg|md|mmd|scxml|html)$|\.machine\.ts$/.test(file);
/** Three layouts and a bundle take seconds, and more on a busy machine. */
const GENERATE_MS = 60_000;
let files: Map<string, string>;
beforeAll(async () => {
  files = await ownFiles();
  files.set('index.html', await stepperPage(files));
}, GENERATE_MS);

describe('visualizations/', () => {
  it('is up to date: run `npm run visualize` when it is not', () => {
    expect(staleFiles(folder, files, generated)).toEqual([]);
  });

  it(
    'comes out the same, byte for byte, in every run',
    async () => {
      const again = await ownFiles();
      again.set('index.html', await stepperPage(again));
      expect([...again.keys()]).toEqual([...files.keys()]);
      expect([...again].filter(([file, content]) => files.get(file) !== content).map(([file]) => file)).toEqual([]);
    },
    GENERATE_MS,
  );

  it('has every form of each machine', () => {
    for (const name of ['turn', 'recovery', 'call']) {
      for (const kind of ['svg', 'md', 'mmd', 'scxml', 'machine.ts', 'paths.md']) {
        expect([...files.keys()]).toContain(`${name}.${kind}`);
      }
    }
  });

  it('names no folder, no user and no time of the machine it was made on', () => {
    for (const content of files.values()) {
      expect(content).not.toContain(root);
      expect(content).not.toMatch(/\/(?:home|root|tmp|Users|work)\/|[A-Z]:\\|\b20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d/);
    }
  });

  it('has a page that shows all pictures, how to read them, the order of recovery and the boundaries', () => {
    const page = files.get('README.md') ?? '';
    for (const name of ['turn', 'recovery', 'call'])
      expect(page).toMatch(new RegExp(`!\\[[^\\]]+\\]\\(${name}\\.svg\\)`));
    for (const heading of ['How to read them', 'The order of recovery', 'Time-outs', 'Checkpoint boundaries']) {
      expect(page).toContain(heading);
    }
    const links = [...page.matchAll(/\]\((?!https:)([^)]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !files.has(link))).toEqual([]);
  });

  it('has one page to step through, which is small and asks no network for anything', () => {
    const page = files.get('index.html') ?? '';
    expect(Buffer.byteLength(page)).toBeLessThan(400_000);
    expect(page).toContain("default-src 'none'");
    expect(page).not.toMatch(/<(?:link|img|iframe|script src|source|video)\b|@import|url\(/);
    expect(page.match(/<script>/g)).toHaveLength(1);
    expect(page.match(/<\/script>/g)).toHaveLength(1);
  });

  it('draws each picture with what readers on GitHub need: a page of its own and both schemes', () => {
    for (const [file, content] of files) {
      if (!file.endsWith('.svg')) continue;
      expect(content).toContain('<rect class="page"');
      expect(content).toContain('prefers-color-scheme:dark');
    }
  });
});

describe('a folder of generated files', () => {
  let scratch: string;
  const wanted = new Map([
    ['a.md', 'one\n'],
    ['b.svg', '<svg/>'],
  ]);
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'durable-turn-visualize-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));

  it('is told what is missing, what differs and what is left over', () => {
    writeFileSync(join(scratch, 'a.md'), 'two\n');
    writeFileSync(join(scratch, 'old.svg'), '');
    writeFileSync(join(scratch, 'notes.txt'), '');
    expect(staleFiles(scratch, wanted, (file) => !file.endsWith('.txt'))).toEqual([
      { file: 'a.md', why: 'differs' },
      { file: 'b.svg', why: 'missing' },
      { file: 'old.svg', why: 'left over' },
    ]);
  });

  it('takes the line ends of another system for the same', () => {
    writeFiles(scratch, wanted, () => false);
    writeFileSync(join(scratch, 'a.md'), 'one\r\n');
    expect(staleFiles(scratch, wanted, () => false)).toEqual([]);
  });

  it('is written once, and left alone when nothing changed', () => {
    writeFileSync(join(scratch, 'old.svg'), '');
    const touched = writeFiles(join(scratch, 'new'), wanted, () => true);
    expect(touched.map(({ file }) => file)).toEqual(['a.md', 'b.svg']);
    expect(readFileSync(join(scratch, 'new', 'a.md'), 'utf8')).toBe('one\n');
    expect(writeFiles(join(scratch, 'new'), wanted, () => true)).toEqual([]);
  });

  it('loses only files that are generated', () => {
    for (const file of ['old.svg', 'notes.txt']) writeFileSync(join(scratch, file), '');
    writeFiles(scratch, wanted, (file) => file.endsWith('.svg'));
    expect(readdirSync(scratch).sort()).toEqual(['a.md', 'b.svg', 'notes.txt']);
  });
});
