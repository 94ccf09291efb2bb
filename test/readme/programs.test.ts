// The code of the README against the packed package: every block compiles, and the two programs do what is said of
// them, as real processes, with a SIGKILL in between.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTurnEngine, DefinitiveFailure, jsonSchema, type Model, tool } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { installService, plainEnv, type Service } from '../crash/package.js';
import { killAfter, writeProgram } from './ten-minutes.js';
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

it('the messages it shows are those that a model is asked with after an interruption', async () => {
  const index = programs.findIndex(({ code }) => code.includes('export const messages'));
  const file = join(compiled, fileOf(programs[index] as Block, index).replace('.mts', '.mjs'));
  const { messages } = await import(/* @vite-ignore */ pathToFileURL(file).href);
  const store = memoryStore();
  const sendMail = tool({
    description: 'Sends a mail.',
    input: jsonSchema<{ to: string }>({ type: 'object' }),
    async execute({ to }) {
      if (to === 'bob') throw new DefinitiveFailure('No such address.');
      return { sent: 1 };
    },
  });
  const engineOf = (call: Model['call']) =>
    createTurnEngine({ agent: 'a', store, tools: { sendMail }, model: { id: 'm', call } });
  const facts = { finish: { reason: 'stop' }, usage: { input: {}, output: {} } } as const;
  let isAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const interrupted = engineOf(async (request) => {
    if (request.messages.length === 1) return { ...facts, content: messages[1].content };
    isAsked();
    return new Promise(() => undefined);
  });
  await interrupted.sendMessage({ sessionId: 's', input: 'Tell Ann and Bob.', attended: false });
  await asked;
  await interrupted.close();
  const told: unknown[] = [];
  const engine = engineOf(async (request) => {
    told.push(request.messages);
    return { ...facts, content: [{ type: 'text', text: 'Ann knows.' }] };
  });
  const { resumed } = await engine.recover();
  await Promise.all(resumed.map(({ outcome }) => outcome));
  expect(told).toEqual([messages]);
  await engine.close();
});

it('the complete example runs as it is saved, and again without sending twice', async () => {
  const folder = join(project, 'example');
  mkdirSync(folder);
  const [command, file] = blockIn('A complete example', 'sh').trim().split(' ');
  expect(command).toBe('node');
  writeFileSync(join(folder, file as string), blockIn('A complete example', 'js'));
  for (const round of ['first', 'again']) {
    const out = await node(folder, file as string);
    expect(out, round).toContain("status: 'completed'");
    expect(out, round).toContain("text: 'Ann knows.'");
    expect(readFileSync(join(folder, 'example.log'), 'utf8')).toMatch(/^ann \S+\n$/);
  }
});

it('the ten-minute turn, killed twice, sends each mail exactly once', async () => {
  const folder = join(project, 'ten-minutes');
  mkdirSync(folder);
  writeProgram(folder);

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
