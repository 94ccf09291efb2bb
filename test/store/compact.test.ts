// Compacting makes LevelDB read all of its tables: whatever is damaged in them has to be found before.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compactFolder } from '../../src/store/compact.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { printOf } from './fixtures/folders.js';
import { appended } from './fixtures.js';
import { temporaryFolder } from './world.js';

let path = '';
beforeEach(() => {
  path = join(temporaryFolder(), 'db');
  mkdirSync(path);
});
afterEach(() => rmSync(join(path, '..'), { recursive: true, force: true }));

it('a damaged block is found in a database of any size, where an opening looks only at what it scans', async () => {
  const store = await openLevelStore({ path });
  for (let n = 0; n < 10; n += 1) {
    await store.commit(appended(undefined, `s${n}`, [randomBytes(700_000).toString('base64')]));
  }
  await store.close();
  // The log becomes a table.
  await (await openLevelStore({ path })).close();
  const tables = readdirSync(path).filter((name) => name.endsWith('.ldb'));
  const sizes = tables.map((name) => statSync(join(path, name)).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(8 << 20);
  const largest = join(path, tables[sizes.indexOf(Math.max(...sizes))] as string);
  const bytes = readFileSync(largest);
  const middle = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 4, middle);
  writeFileSync(largest, bytes);

  const before = printOf(path);
  await expect(compactFolder(path, () => {})).rejects.toMatchObject({
    code: 'TURN_DAMAGED',
    message: expect.stringMatching(/has a damaged block.*durable-turn repair/),
  });
  expect(printOf(path)).toEqual(before);
});
