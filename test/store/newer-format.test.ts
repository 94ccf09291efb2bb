// A database of ours that a newer release wrote: every way in refuses it, and not a byte of the folder changes.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compactFolder } from '../../src/store/compact.js';
import { findRecord } from '../../src/store/find-record.js';
import { readFolder } from '../../src/store/folder-content.js';
import { FORMAT, FORMAT_PLACE } from '../../src/store/format.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { encodeRecord } from '../../src/store/records.js';
import { repairFolder } from '../../src/store/repair.js';
import { RUN_FILE } from '../../src/store/run-file.js';
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

const formatRecord = (format: number): Buffer => encodeRecord('meta', 'format', 0, { format }, 'format');

/** @param openings Each turns the log of the one before into a table. */
async function writtenBy(format: number, openings: number): Promise<void> {
  const store = await openLevelStore({ path });
  for (let n = 0; n < 50; n += 1) await store.commit(appended(undefined, `s${n}`, ['x'.repeat(500)]));
  await store.close();
  for (let n = 0; n < openings; n += 1) {
    const level = new Level<string, Buffer>(path, { valueEncoding: 'buffer' });
    await level.open();
    // The number that counts is the newest one.
    if (n === 0) for (const each of [FORMAT, format]) await level.put(FORMAT_PLACE, formatRecord(each));
    await level.close();
  }
  rmSync(join(path, RUN_FILE));
}

/** Reports of LevelDB are files like any others here: none is begun. */
const bytesIn = (): Record<string, string> =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'base64')]));

const refused = { code: 'TURN_STORE_FORMAT', message: expect.stringContaining(`has format ${FORMAT + 1}`) };

describe('a database of a newer format', () => {
  const ways = {
    'a store': () => openLevelStore({ path }),
    compact: () => compactFolder(path, () => {}),
    repair: () => repairFolder(path),
    verify: () => viewFolder(path),
  };
  for (const [way, enter] of Object.entries(ways)) {
    it(`is refused by ${way} before LevelDB opens it, and no byte changes: its number in the log, or in a table`, async () => {
      for (const openings of [1, 2, 4]) {
        rmSync(path, { recursive: true, force: true });
        await writtenBy(FORMAT + 1, openings);
        const before = bytesIn();
        for (let n = 0; n < 2; n += 1) await expect(enter()).rejects.toMatchObject(refused);
        expect(bytesIn()).toEqual(before);
      }
    });
  }

  it('that is damaged as well is not repaired: its records are not for this release to judge', async () => {
    await writtenBy(FORMAT + 1, 2);
    writeFileSync(join(path, 'CURRENT'), 'junk');
    const before = bytesIn();
    for (const enter of [ways.repair, ways['a store']]) await expect(enter()).rejects.toMatchObject(refused);
    expect(bytesIn()).toEqual(before);
  });
});

describe('the number of the format', () => {
  it('is found as LevelDB finds it, wherever it lies, and not where it was deleted', async () => {
    for (const openings of [1, 2, 4]) {
      rmSync(path, { recursive: true, force: true });
      await writtenBy(FORMAT, openings);
      expect(findRecord(readFolder(path), FORMAT_PLACE)).toEqual(formatRecord(FORMAT));
      for (const key of ['!meta!forma', '!meta!formats', 'a', 'z', '']) {
        expect(findRecord(readFolder(path), key)).toBeNull();
      }
      // Newer than all tables, in the log.
      const level = new Level<string, Buffer>(path, { valueEncoding: 'buffer' });
      await level.del(FORMAT_PLACE);
      await level.close();
      expect(findRecord(readFolder(path), FORMAT_PLACE)).toBeNull();
    }
  });

  it('of this release or an older one refuses nobody', async () => {
    await writtenBy(FORMAT, 3);
    const store = await openLevelStore({ path });
    expect(textsOf(await store.messages('s7'))).toEqual(['x'.repeat(500)]);
    await store.close();
  });
});
