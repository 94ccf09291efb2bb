// The code of the README against the packed package: every block compiles, and the two programs do what is said of
// them, as real processes, with a SIGKILL in between.
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installService, plainEnv, type Service } from '../crash/package.js';
import { type Block, blockIn, blocks, root } from './text.js';

const run = promisify(execFile);

/** What the short blocks take as given: an engine, a store, a bank. Blocks with imports of their own stand alone. */
const GIVEN = `import { DefinitiveFailure, describeTools, OutcomeUnknown, tool, toolFor, type TurnEngine } from 'durable-turn';
import type { TurnStore } from 'durable-turn/level';
import { z } from 'zod';
declare const engine: TurnEngine;
declare const store: TurnStore;
declare const bank: {
  charge(order: { card: string; cents: number; key: string; signal: AbortSignal }): Promise<string>;
  find(key: string): Promise<{ cents: number } | undefined>;
};
void [DefinitiveFailure, describeTools, OutcomeUnknown, tool, toolFor, z, engine, store, bank];
`;

let service: Service;
let project: string;
let compiled: string;

const fileOf = ({ language }: Block, index: number): string => `block-${index}.${language === 'ts' ? 'mts' : 'mjs'}`;
const example = join(root, 'test', 'service', 'program');
const programs = blocks.filter(({ language }) => language === 'ts' || language === 'js');

beforeAll(async () => {
  service = await installService();
  project = join(dirname(service.program), 'readme');
  compiled = join(project, 'compiled');
  mkdirSync(project);
  const modules = join(dirname(project), 'node_modules');
  for (const scope of ['@ai-sdk', '@anthropic-ai']) mkdirSync(join(modules, scope), { recursive: true });
  for (const name of ['zod', '@ai-sdk/anthropic', '@anthropic-ai/sdk', 'fastify'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
  // What the blocks of the example service import.
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  for (const name of readdirSync(example)) if (name.endsWith('.ts')) cpSync(join(example, name), join(project, name));
});

afterAll(() => service?.remove());

const node = async (folder: string, file: string): Promise<string> =>
  (await run(process.execPath, [file], { cwd: folder, env: plainEnv })).stdout;

it('every block of code compiles, strictly, against the package', async () => {
  for (const [index, block] of programs.entries()) {
    const given = /^import /m.test(block.code) ? '' : GIVEN;
    writeFileSync(join(project, fileOf(block, index)), given + block.code);
  }
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowJs: true,
    checkJs: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
    outDir: compiled,
  };
  const files = programs.map(fileOf);
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const output = await run(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], { cwd: project, env: plainEnv })
    .then(({ stdout }) => stdout)
    .catch((error) => `${error.stdout}`);
  expect(output).toBe('');
  expect(files.length).toBeGreaterThan(6);
});

it('the complete example runs, and again without sending twice', async () => {
  const index = programs.findIndex(({ section }) => section === 'A complete example');
  const folder = join(project, 'example');
  mkdirSync(folder);
  const program = join(compiled, fileOf(programs[index] as Block, index).replace('.mts', '.mjs'));
  for (const round of ['first', 'again']) {
    const out = await node(folder, program);
    expect(out, round).toContain("status: 'completed'");
    expect(out, round).toContain("text: 'Ann knows.'");
    expect(readFileSync(join(folder, 'sent.log'), 'utf8')).toMatch(/^ann \S+\n$/);
  }
});

/** Runs the program until it has sent this many mails, and kills it. */
async function killAfter(folder: string, mails: number): Promise<string> {
  const child = spawn(process.execPath, ['turn.mjs'], {
    cwd: folder,
    env: plainEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const killed = new Promise<NodeJS.Signals | null>((resolve) => child.on('close', (_code, signal) => resolve(signal)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    if ((out.match(/^sent to /gm)?.length ?? 0) >= mails) child.kill('SIGKILL');
  });
  const signal = await killed;
  // Windows knows no signals; there the process is gone all the same.
  if (process.platform !== 'win32') expect({ signal, out }).toEqual({ signal: 'SIGKILL', out });
  return out;
}

it('the ten-minute turn, killed twice, sends each mail exactly once', async () => {
  const folder = join(project, 'ten-minutes');
  mkdirSync(folder);
  writeFileSync(join(folder, 'turn.mjs'), blockIn('Ten minutes to a durable turn', 'js'));

  expect(await killAfter(folder, 3)).toContain('started');
  const second = await killAfter(folder, 1);
  expect(second).toContain('interrupted_turn_resumed');
  expect(second).toContain('was it sent to cid? true');

  const third = await node(folder, 'turn.mjs');
  expect(third).toContain('was it sent to dan? true');
  expect(third).toContain('duplicate');
  expect(third.trimEnd()).toMatch(/completed All five know\.$/);

  const sent = readFileSync(join(folder, 'sent.log'), 'utf8').trimEnd().split('\n');
  expect(sent.map((line) => line.split(' ')[0])).toEqual(['ann', 'bob', 'cid', 'dan', 'eve']);
  expect(new Set(sent.map((line) => line.split(' ')[1])).size).toBe(5);
  expect(existsSync(join(folder, 'turns'))).toBe(true);
});

it('the agent under test fails as it says, and its fix passes', async () => {
  const folder = join(project, 'own-agent');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mail.test.mjs'), blockIn('Test your own agent', 'js'));
  const ran = run(process.execPath, ['--test', 'mail.test.mjs'], { cwd: folder, env: plainEnv });
  const { code, stdout } = (await ran.catch((error: { code: number; stdout: string }) => error)) as {
    code?: number;
    stdout: string;
  };
  expect(code).toBe(1);
  expect(stdout).toContain('not ok 1 - the naive tool sends each mail once, whenever it crashes');
  expect(stdout).toContain('ok 2 - the careful tool sends each mail once, whenever it crashes');
  // Keys contain a random turn id.
  const told = blockIn('Test your own agent', 'text').replaceAll('…', '').trimEnd().split('\n');
  expect(told.length).toBeGreaterThan(10);
  for (const line of told) expect(stdout).toContain(line.trimEnd());
});
