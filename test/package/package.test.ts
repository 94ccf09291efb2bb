// Installs the package the way a consumer gets it, from the tarball and with nothing but its declared dependencies,
// and loads every entry point in a plain Node. Tests that import the sources cannot see a file missing from the
// tarball, an undeclared dependency, or a module that only loads under the conditions a test runner sets.
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importsOf } from '../source-text.js';

const run = promisify(execFile);
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Manifest {
  readonly name: string;
  readonly exports: Record<string, string | { readonly types: string; readonly default: string }>;
  readonly bin: Record<string, string>;
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
}

interface EntryPoint {
  readonly subpath: string;
  readonly specifier: string;
  readonly types: string;
  readonly code: string;
}

const ENTRY_POINTS: readonly EntryPoint[] = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string'
    ? []
    : [{ subpath, specifier: manifest.name + subpath.slice(1), types: target.types, code: target.default }],
);

/** The entry points that need an optional peer. All others have to load in a project that has none of them. */
const NEEDS_PEERS: readonly string[] = ['./testing/paths'];

const scratch = mkdtempSync(join(tmpdir(), 'durable-turn-package-'));
/** Two consumers: one that installed no optional peer, and one that installed them all. */
const bare = join(scratch, 'bare');
const withPeers = join(scratch, 'with-peers');
const installed = join(bare, 'node_modules', manifest.name);

/** What the test runner adds for its own workers must not decide how a consumer's Node resolves. */
const plainEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS|NODE_ENV|NODE_PATH|VITEST.*|npm_.*)$/i.test(name)),
);

async function node(project: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: project, env: plainEnv });
  return stdout.trim();
}

/** What the emitted code and types below a directory import. */
function emittedImports(dir: string): string[] {
  const emitted = filesOf(dir).filter((file) => /\.(?:js|d\.ts)$/.test(file));
  return emitted.flatMap((file) => importsOf(readFileSync(join(dir, file), 'utf8')).map(({ specifier }) => specifier));
}

const isOwn = (specifier: string): boolean => /^\.\/[\w.-]+\.js$/.test(specifier);

/** What the import of one entry point loads: files of the package, and what they import from elsewhere. */
function loadedBy(entry: Manifest['exports'][string] | undefined) {
  const code = typeof entry === 'object' ? entry.default : '';
  const files = new Set([join(installed, code)]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const { specifier, clause } of importsOf(readFileSync(file, 'utf8'))) {
      if (clause === 'import()') continue;
      if (isOwn(specifier)) files.add(join(dirname(file), specifier));
      else packages.add(specifier);
    }
  }
  return { files, packages };
}

let probes = 0;

async function evaluate(project: string, type: 'module' | 'commonjs', code: string): Promise<string> {
  probes += 1;
  const file = join(project, `probe-${probes}.${type === 'module' ? 'mjs' : 'cjs'}`);
  writeFileSync(file, code);
  return node(project, file);
}

async function pack(): Promise<string> {
  // `npm test` has built already; the scripts of the package would only do it again.
  const args = ['pack', '--ignore-scripts', '--pack-destination', scratch];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('npm-cli.js') === true) await run(process.execPath, [npm, ...args], { cwd: root, env: plainEnv });
  else await run('npm', args, { cwd: root, env: plainEnv, shell: process.platform === 'win32' });
  const tarballs = readdirSync(scratch).filter((name) => name.endsWith('.tgz'));
  expect(tarballs).toHaveLength(1);
  return tarballs[0] as string;
}

/**
 * Puts the unpacked package beside links to the packages it declares. Those find their own dependencies where they
 * really are; the package itself finds only what is linked, so an undeclared import fails, and no network is used.
 */
async function installInto(project: string, tarball: string, packages: readonly string[]): Promise<void> {
  const modules = join(project, 'node_modules');
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  // Relative names only: some versions of tar take the colon of a Windows path for a remote host.
  await run('tar', ['-xzf', `../../${tarball}`], { cwd: modules });
  // npm packs everything below one directory of this name.
  renameSync(join(modules, 'package'), join(modules, manifest.name));
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
}

function filesOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(dir.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

beforeAll(async () => {
  const tarball = await pack();
  const dependencies = Object.keys(manifest.dependencies);
  await installInto(bare, tarball, dependencies);
  await installInto(withPeers, tarball, [...dependencies, ...Object.keys(manifest.peerDependencies)]);
});

afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));

describe('the tarball', () => {
  it('holds every entry point with its types, and the command', () => {
    const expected = [...ENTRY_POINTS.flatMap(({ types, code }) => [types, code]), ...Object.values(manifest.bin)];
    const files = filesOf(installed);
    expect(ENTRY_POINTS.length).toBeGreaterThan(0);
    expect(expected.map((path) => path.replace(/^\.\//, '')).filter((path) => !files.includes(path))).toEqual([]);
  });

  it('holds the code, its types and maps, the texts, and nothing else', () => {
    const allowed =
      /^(?:dist\/bundle\/[\w-]+\.js(?:\.map)?|dist\/(?:machines|src)\/.+\.d\.ts|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
    expect(filesOf(installed).filter((file) => !allowed.test(file) || /\.test\.|tsbuildinfo/.test(file))).toEqual([]);
  });

  it('holds a README, a licence and a changelog', () => {
    expect(filesOf(installed)).toEqual(expect.arrayContaining(['CHANGELOG.md', 'LICENSE', 'README.md']));
  });

  it('starts the command with the line that makes it one', () => {
    for (const file of Object.values(manifest.bin)) {
      expect(readFileSync(join(installed, file), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\r?\n/);
    }
  });

  it('has machines that import nothing but xstate and each other', () => {
    const types = emittedImports(join(installed, 'dist', 'machines'));
    expect(new Set(types.filter((specifier) => !isOwn(specifier)))).toEqual(new Set(['xstate']));
    expect(loadedBy(manifest.exports['./machines']).packages).toEqual(new Set(['xstate']));
  });

  it('loads few files for a service: each of them costs a start as much as a thousand lines', () => {
    const files = ['.', './level'].flatMap((subpath) => [...loadedBy(manifest.exports[subpath]).files]);
    expect(new Set(files).size).toBeLessThan(10);
  });

  it('imports only what package.json declares, in its types too', () => {
    // Loading alone would not show it: Node also looks into the node_modules of every directory above.
    const declared = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
    const packages = emittedImports(join(installed, 'dist'))
      .filter((specifier) => !/^\.|^node:/.test(specifier))
      .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    expect(packages).not.toEqual([]);
    // The one computed import is that of the module a user names: `durable-turn visualize <module>`.
    expect(packages.filter((name) => !declared.includes(name))).toEqual(['<computed>']);
  });

  it('carries its sources in its source maps', () => {
    const maps = filesOf(installed).filter((file) => file.endsWith('.js.map'));
    const withoutSources = maps.filter((file) => {
      const map = JSON.parse(readFileSync(join(installed, file), 'utf8'));
      return !Array.isArray(map.sourcesContent) || map.sourcesContent.length !== map.sources.length;
    });
    expect(maps.length).toBeGreaterThan(0);
    expect(withoutSources).toEqual([]);
  });
});

describe('a consumer', () => {
  for (const { subpath, specifier } of ENTRY_POINTS) {
    const project = NEEDS_PEERS.includes(subpath) ? withPeers : bare;
    const peers = NEEDS_PEERS.includes(subpath) ? 'the optional peers' : 'no optional peer';

    it(`imports ${specifier} with ${peers} installed`, async () => {
      const code = `import * as entry from '${specifier}'; console.log(Object.keys(entry).length);`;
      expect(Number(await evaluate(project, 'module', code))).toBeGreaterThan(0);
    });

    it(`requires ${specifier} from CommonJS with ${peers} installed`, async () => {
      const code = `console.log(Object.keys(require('${specifier}')).length);`;
      expect(Number(await evaluate(project, 'commonjs', code))).toBeGreaterThan(0);
    });
  }

  it('gets one copy of everything, whichever entry point it came through', async () => {
    const code = `import { TurnError } from '${manifest.name}';
      import { turnMachine } from '${manifest.name}/machines';
      import { memoryStore } from '${manifest.name}/level';
      import * as main from '${manifest.name}';
      const store = memoryStore();
      await store.close();
      const thrown = await store.head('s').catch((error) => error);
      console.log(thrown instanceof TurnError, turnMachine === main.turnMachine);`;
    expect(await evaluate(bare, 'module', code)).toBe('true true');
  });

  it('gets the production build of xstate, the one the service will run', async () => {
    const code = "console.log(import.meta.resolve('xstate'));";
    const resolved = await evaluate(bare, 'module', code);
    expect(resolved).toContain('xstate');
    expect(resolved).not.toContain('development');
  });

  it('reads package.json through the exports', async () => {
    const code = `console.log(require('${manifest.name}/package.json').name);`;
    expect(await evaluate(bare, 'commonjs', code)).toBe(manifest.name);
  });

  it('is told which package a demo with a real model needs, where it is not installed', async () => {
    const main = join(bare, 'node_modules', manifest.name, Object.values(manifest.bin)[0] as string);
    // A folder above this one may have it: an empty one in front hides that.
    const hollow = join(bare, 'node_modules', '@ai-sdk', 'openai-compatible');
    mkdirSync(hollow, { recursive: true });
    writeFileSync(join(hollow, 'package.json'), JSON.stringify({ name: '@ai-sdk/openai-compatible', exports: {} }));
    const asked = node(bare, main, 'demo', '--base-url', 'http://127.0.0.1:9/v1', '--model', 'm');
    await expect(asked).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('npm install @ai-sdk/openai-compatible'),
    });
  });

  it('cannot reach past the entry points', async () => {
    const code = `import '${manifest.name}/dist/src/index.js';`;
    await expect(evaluate(bare, 'module', code)).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('typechecks against every entry point, as a module and from CommonJS', async () => {
    const lines = ENTRY_POINTS.map(({ specifier }, k) => `import * as e${k} from '${specifier}';\nvoid e${k};`);
    writeFileSync(join(withPeers, 'consumer.mts'), lines.join('\n'));
    writeFileSync(join(withPeers, 'consumer.cts'), lines.join('\n'));
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
    };
    const files = ['consumer.mts', 'consumer.cts'];
    writeFileSync(join(withPeers, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const output = await node(withPeers, tsc, '-p', '.').catch((error) => `${error.stdout}`);
    expect(output).toBe('');
  });
});
