// Packs the built package once for all crash tests and installs it in a project of its own, as a service gets it: the
// children must run what is published, with the production build of xstate, and not the sources.
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** The repository: compiled, this file is somewhere else in it. */
function repository(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

const root = repository();
const run = promisify(execFile);

/** What the test runner adds for its own workers must not decide how a service's Node resolves. */
export const plainEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS|NODE_ENV|NODE_PATH|VITEST.*|npm_.*)$/i.test(name)),
);

export interface Service {
  /** Holds everything that these tests write. */
  readonly scratch: string;
  /** The program of the children. */
  readonly program: string;
  /** `durable-turn/level` of the packed package, to look into a store when no child has it open. */
  readonly level: typeof import('../../src/store/level-store.js');
  remove(): void;
}

async function pack(scratch: string): Promise<string> {
  // `npm test` has built already; the scripts of the package would only do it again.
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', scratch];
  const npm = process.env.npm_execpath;
  const options = { cwd: root, env: plainEnv };
  const { stdout } =
    npm?.endsWith('npm-cli.js') === true
      ? await run(process.execPath, [npm, ...args], options)
      : await run('npm', args, { ...options, shell: process.platform === 'win32' });
  return stdout.trim().split('\n').at(-1) as string;
}

export async function installService(): Promise<Service> {
  const scratch = mkdtempSync(join(tmpdir(), 'durable-turn-crash-'));
  const remove = (): void => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  try {
    const project = join(scratch, 'service');
    const modules = join(project, 'node_modules');
    mkdirSync(modules, { recursive: true });
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'service', private: true }));
    const tarball = await pack(scratch);
    // Relative names only: some versions of tar take the colon of a Windows path for a remote host.
    await run('tar', ['-xzf', `../../${tarball}`], { cwd: modules });
    const installed = join(modules, 'durable-turn');
    renameSync(join(modules, 'package'), installed);
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
    }
    // Beside their own node_modules: in the repository `durable-turn` would be the repository itself.
    cpSync(join(root, 'test/crash/child'), project, { recursive: true });
    const entry = createRequire(join(project, 'service.mjs')).resolve('durable-turn/level');
    const level = await import(/* @vite-ignore */ pathToFileURL(entry).href);
    return { scratch, program: join(project, 'service.mjs'), level, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
