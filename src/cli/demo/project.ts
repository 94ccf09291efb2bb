/**
 * Owns what lies in the folder of a round: the store, and the temporary project that the turn of the demo releases with
 * its files before the turn. Must not know what the turn does to them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const storeIn = (folder: string): string => join(folder, 'store');
export const projectIn = (folder: string): string => join(folder, 'project');

export const PACKAGE_BEFORE = `${JSON.stringify({ name: 'tide', version: '1.3.0', type: 'module' }, null, 2)}\n`;

const FILES: Readonly<Record<string, string>> = {
  'package.json': PACKAGE_BEFORE,
  'CHANGELOG.md': '# Changelog\n\n',
  'deploys.log': '',
  'tide.js': 'export const highWater = (hours) => Math.cos((hours * Math.PI) / 6.21);\n',
  // It takes a while, so that a kill can find it running.
  'tide.test.js': `import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { highWater } from './tide.js';

test('the tide comes back after a day', async () => {
  await pause(120);
  assert.equal(highWater(0), 1);
  assert.ok(highWater(12.42) > 0.99);
});
`,
};

export function writeProject(folder: string): void {
  const project = projectIn(folder);
  mkdirSync(project, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(project, name), text);
}
