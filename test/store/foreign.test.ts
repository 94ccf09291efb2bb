// A LevelDB database of somebody else: every way in refuses it, and none changes it.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compactFolder } from '../../src/store/compact.js';
import { databaseFolder } from '../../src/store/inspect.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { repairFolder } from '../../src/store/repair.js';
import { viewFolder } from '../../src/store/view.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

let world = '';
let path = '';
beforeEach(() => {
  world = temporaryFolder();
  path = join(world, 'database');
});
afterEach(() => rmSync(world, { recursive: true, force: true }));

async function foreign(keys: readonly string[], openings: number): Promise<void> {
  for (let opening = 0; opening < openings; opening += 1) {
    const level = new Level(path);
    await level.open();
    for (const key of keys) await level.put(key, `of ${opening}`);
    await level.close();
  }
}

const bytesIn = (): Record<string, string> =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'base64')]));

describe('a database that durable-turn did not write', () => {
  const ways = {
    'a store': () => openLevelStore({ path }),
    compact: () => compactFolder(path, () => {}),
    repair: () => repairFolder(path),
    verify: () => viewFolder(path),
  };
  for (const [way, enter] of Object.entries(ways)) {
    it(`is refused by ${way} as by all others, and is left as it was`, async () => {
      // Before and behind where ours would be; in the log alone, then in a table as well.
      for (const [keys, openings] of [
        [['!users!1', 'z'], 1],
        [['a', 'b'], 3],
      ] as const) {
        rmSync(path, { recursive: true, force: true });
        await foreign(keys, openings);
        const before = bytesIn();
        await expect(enter()).rejects.toMatchObject({
          code: 'TURN_STORE_FORMAT',
          message: expect.stringContaining('that durable-turn did not write'),
        });
        expect(bytesIn()).toEqual(before);
      }
    });
  }
});

it('a database of ours is opened without the file of its last run as well', async () => {
  const store = await openLevelStore({ path });
  await store.commit(appended(undefined, 's', ['x']));
  await store.close();
  rmSync(join(path, 'durable-turn.run'));
  const again = await openLevelStore({ path });
  expect(textsOf(await again.messages('s'))).toEqual(['x']);
  await again.close();
  expect(await repairFolder(path)).toMatchObject({ findings: [], originals: null });
});

it('a link to nothing is told as that', () => {
  mkdirSync(path);
  const link = join(world, 'link');
  symlinkSync(join(world, 'gone'), link, 'dir');
  expect(() => databaseFolder(link)).toThrow(`There is no database in "${link}": it is a link to nothing.`);
  expect(() => databaseFolder(path)).toThrow(`There is no database in "${path}".`);
});

it('a path with a NUL character is refused by the name of the field', async () => {
  await expect(openLevelStore({ path: `${path}\0x` })).rejects.toThrow(
    new TypeError('path must not contain a NUL character: no file system has such a folder.'),
  );
});
