// What the README tells the operator: every command it lists exists, and every line it shows runs as it stands.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { VERBS } from '../../src/cli/operator/command.js';
import { killAfter, writeProgram } from './ten-minutes.js';
import { blockIn, root, tableIn } from './text.js';

const run = promisify(execFile);
const main = join(root, 'dist', 'bundle', 'main.js');

it('the table names every command of the operator, and no other, with what it does', () => {
  const told = tableIn('For the operator', 'command').map(([name, what]) => [name, what]);
  expect(told).toEqual(VERBS.map(({ name, summary }) => [`\`${name}\``, summary]));
});

it('every command line runs as it stands, in this order, on the folder that the killed guide leaves', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'durable-turn-readme-'));
  try {
    const modules = join(scratch, 'node_modules');
    mkdirSync(modules);
    symlinkSync(root, join(modules, 'durable-turn'), 'junction');
    symlinkSync(join(root, 'node_modules', 'zod'), join(modules, 'zod'), 'junction');
    mkdirSync(join(scratch, 'tmp'));
    writeProgram(scratch);
    await killAfter(scratch, 2);
    const lines = blockIn('For the operator', 'sh').trim().split('\n');
    expect(lines.map((line) => line.split(' ')[2])).toEqual(VERBS.map(({ name }) => name));
    let turnId: string | undefined;
    for (const line of lines) {
      const [npx, command, ...args] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
      expect([npx, command]).toEqual(['npx', 'durable-turn']);
      const env = { ...process.env, TMPDIR: join(scratch, 'tmp') };
      const given = args.map((word) => (word === '<turnId>' ? turnId : word)) as string[];
      const { stdout, stderr } = await run(process.execPath, [main, ...given], { cwd: scratch, env });
      // In this folder no call waits for a person, and how a list says that it is empty is not the README's.
      if (!line.includes(' reviews '))
        expect({ line, stderr, silent: stdout === '' }).toEqual({ line, stderr: '', silent: false });
      if (line.includes(' interrupted ')) turnId = JSON.parse(stdout).turnId;
    }
    expect(turnId).toMatch(/^news\./);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
