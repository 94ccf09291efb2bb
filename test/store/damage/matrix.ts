// Runs cases of damage in child processes, and tells what became of each. A child that dies is a result as well: then
// the next one gets the folder as the first left it, and must survive it.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundle } from '../bundle.js';
import { type Case, casesOf, nameOf } from './faults.js';
import type { Result } from './program.js';

export interface Figures {
  readonly files: number;
  readonly cases: number;
  started: number;
  refused: number;
  repaired: number;
  /** Sessions told to be damaged, over all cases. */
  told: number;
  older: number;
  gone: number;
  /** Processes that died, and those that died a second time of the same damage. */
  aborted: number;
  abortedAgain: number;
  readonly wrong: string[];
}

/** @param only Files whose names it matches are damaged. */
export async function runMatrix(
  thorough: { readonly flips: number } | null,
  seed: number,
  only: RegExp,
  say: (line: string) => void = () => {},
): Promise<Figures> {
  const { folder: programFolder, program } = await bundle('damage/program.ts');
  const root = mkdtempSync(join(tmpdir(), 'durable-turn-damage-'));
  try {
    const cases = makeFixture(program, root, thorough, seed).filter(({ file }) => only.test(file));
    const files = new Set(cases.map(({ file }) => file)).size;
    const figures: Figures = {
      ...{ files, cases: cases.length, started: 0, refused: 0, repaired: 0, told: 0, older: 0, gone: 0 },
      ...{ aborted: 0, abortedAgain: 0, wrong: [] },
    };
    await runCases(new Child(program, root), cases, figures, say);
    return figures;
  } finally {
    rmSync(root, { recursive: true, force: true });
    rmSync(programFolder, { recursive: true, force: true });
  }
}

function makeFixture(
  program: string,
  root: string,
  thorough: { readonly flips: number } | null,
  seed: number,
): readonly Case[] {
  try {
    execFileSync(process.execPath, [program, 'build', root], { stdio: ['ignore', 'ignore', 'inherit'] });
  } catch (error) {
    // It kills itself at the end.
    if ((error as { signal?: string }).signal !== 'SIGKILL') throw error;
  }
  execFileSync(process.execPath, [program, 'contents', root], { stdio: ['ignore', 'ignore', 'inherit'] });
  const original = join(root, 'original');
  return readdirSync(original)
    .filter((name) => !name.startsWith('opening-'))
    .sort()
    .flatMap((file, nth) => casesOf(file, statSync(join(original, file)).size, thorough, seed + nth));
}

async function runCases(child: Child, cases: readonly Case[], figures: Figures, say: (line: string) => void) {
  for (const one of cases) {
    let result = await child.run(one, true);
    if (result === null) {
      figures.aborted += 1;
      result = await child.run(one, false);
      if (result === null) figures.abortedAgain += 1;
    }
    say(`${nameOf(one)}: ${JSON.stringify(result)}`);
    if (result === null) continue;
    figures[result.outcome] += 1;
    if (result.repaired) figures.repaired += 1;
    figures.told += result.told;
    figures.older += result.older;
    figures.gone += result.gone;
    for (const what of result.wrong) figures.wrong.push(`${nameOf(one)}: ${what}`);
  }
  child.end();
}

class Child {
  readonly #program: string;
  readonly #root: string;
  #process: ChildProcessWithoutNullStreams | null = null;
  #lines: AsyncIterator<string> | null = null;

  constructor(program: string, root: string) {
    this.#program = program;
    this.#root = root;
  }

  /** @returns null where the process died of it. */
  async run(one: Case, fresh: boolean): Promise<Result | null> {
    const child = this.#start();
    child.stdin.write(`${JSON.stringify({ ...one, fresh, folder: join(this.#root, 'copy') })}\n`);
    const line = await (this.#lines as AsyncIterator<string>).next();
    if (line.done !== true) return JSON.parse(line.value) as Result;
    this.#process = null;
    return null;
  }

  end(): void {
    this.#process?.stdin.end();
  }

  #start(): ChildProcessWithoutNullStreams {
    if (this.#process !== null) return this.#process;
    const child = spawn(process.execPath, ['--no-warnings', this.#program, 'run', this.#root], {
      // As a service runs: XState checks more otherwise.
      env: { ...process.env, NODE_ENV: 'production' },
    });
    child.stdin.on('error', () => {});
    child.stderr.resume();
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    this.#process = child;
    return child;
  }
}
