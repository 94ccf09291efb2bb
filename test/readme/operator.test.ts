// What the README tells the operator: every command it lists exists, and every line it shows runs as it stands.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { VERBS } from '../../src/cli/operator/command.js';
import { copyOfFixture } from '../store/fixtures/folders.js';
import { blockIn, root, tableIn } from './text.js';

const run = promisify(execFile);
const main = join(root, 'dist', 'bundle', 'main.js');

it('the table names every command of the operator, and no other, with what it does', () => {
  const told = tableIn('For the operator', 'command').map(([name, what]) => [name, what]);
  expect(told).toEqual(VERBS.map(({ name, summary }) => [`\`${name}\``, summary]));
});

it('every command line runs as it stands, in this order, on a folder with sessions of every kind', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'durable-turn-readme-'));
  try {
    copyOfFixture(join(scratch, 'turns'));
    mkdirSync(join(scratch, 'tmp'));
    const lines = blockIn('For the operator', 'sh').trim().split('\n');
    expect(lines.map((line) => line.split(' ')[2])).toEqual(VERBS.map(({ name }) => name));
    for (const line of lines) {
      const [npx, command, ...args] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
      expect([npx, command]).toEqual(['npx', 'durable-turn']);
      const env = { ...process.env, TMPDIR: join(scratch, 'tmp') };
      const { stdout, stderr } = await run(process.execPath, [main, ...(args as string[])], { cwd: scratch, env });
      expect({ line, stderr }).toEqual({ line, stderr: '' });
      expect(stdout, line).not.toBe('');
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
