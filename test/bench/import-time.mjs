// B8: what importing the package takes, beyond what it is made of.
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figure } from './figures.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const PROGRAM = `
const began = performance.now();
await import('xstate');
await import('level');
const there = performance.now();
await import('durable-turn');
await import('durable-turn/level');
console.log(JSON.stringify([performance.now() - there, there - began]));
`;

export async function importing({ rounds }) {
  const times = [];
  for (let round = 0; round <= rounds; round += 1) {
    const args = ['--input-type=module', '--eval', PROGRAM];
    times.push(JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })));
  }
  // The first one reads files that the others find in memory.
  const warm = times.slice(1);
  const row = (name, values, target) => figure({ workload: 'B8', name, unit: 'ms', rounds: values, target });
  return [
    row(
      'import, beyond xstate and level',
      warm.map(([own]) => own),
      { atMost: 60 },
    ),
    row(
      'import of xstate and level',
      warm.map(([, others]) => others),
    ),
  ];
}
