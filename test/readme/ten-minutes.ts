// The program of the ten minutes in a folder of its own, as a process that can be killed. Must not know what is checked.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { plainEnv } from '../crash/package.js';
import { blockIn } from './text.js';

export const writeProgram = (folder: string): void =>
  writeFileSync(join(folder, 'turn.mjs'), blockIn('Ten minutes to a durable turn', 'js'));

/** Runs the program until it has sent this many mails, and kills it. Gives what it said. */
export async function killAfter(folder: string, mails: number): Promise<string> {
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
