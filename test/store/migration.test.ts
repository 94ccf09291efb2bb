// From format 1, where every record was in one piece: one pass, that goes on wherever it was killed.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Level } from 'level';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FORMAT } from '../../src/store/format.js';
import * as keys from '../../src/store/keys.js';
import { openLevelStore } from '../../src/store/level-store.js';
import type { MigrationProgress } from '../../src/store/migration.js';
import { PART_BYTES } from '../../src/store/parts.js';
import { decodeRecord, encodeRecord } from '../../src/store/records.js';
import { LevelTurnStore } from '../../src/store/store.js';
import { viewFolder } from '../../src/store/view.js';
import { type BatchFate, CrashDisk, type DiskImage } from '../../src/testing/crash-disk.js';
import { contentsOf } from './fixtures/contents.js';
import { copyOfFixture, expectedOf } from './fixtures/folders.js';
import { partsIn, temporaryFolder } from './world.js';

const FIXTURE = 'format-1';
const FORMAT_PLACE = `!meta!${keys.FORMAT_KEY}`;

let scratch = '';
let old: DiskImage;
beforeAll(async () => {
  scratch = temporaryFolder();
  const path = join(scratch, 'read');
  copyOfFixture(path, FIXTURE);
  const level = new Level<string, Buffer>(path, { valueEncoding: 'buffer' });
  const image = new Map<string, Buffer>(await level.iterator().all());
  await level.close();
  // More than the one of the fixture, so that there is something between two batches.
  const [place, call] = [...image].find(([key, value]) => key.startsWith('!call!') && value.length > PART_BYTES) ?? [];
  expect(place).toBeDefined();
  for (const [nth, kind] of (['archive', 'outcome', 'quarantine'] as const).entries()) {
    image.set(`!${kind}!more!${nth}`, Buffer.concat([call as Buffer, call as Buffer]));
  }
  old = image;
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Opens a store on the disk, which may be the last thing the process does. */
async function opened(image: DiskImage, fate: (nth: number) => BatchFate = () => 'pass') {
  const process = { dead: false };
  const told: MigrationProgress[] = [];
  let die = () => {};
  const died = new Promise<'dead'>((resolve) => {
    die = () => resolve('dead');
  });
  const disk = new CrashDisk(image, {
    fate,
    applied: () => {},
    died: () => {
      process.dead = true;
      die();
    },
    get dead() {
      return process.dead;
    },
  });
  const store = new LevelTurnStore('crash', disk, (progress) => told.push(progress));
  const end = await Promise.race([store.open().then(() => 'open' as const), died]);
  return { disk, store, told, end };
}

const formatIn = (image: DiskImage) => {
  const record = decodeRecord('meta', keys.FORMAT_KEY, image.get(FORMAT_PLACE) as Buffer);
  return record.ok ? (record.value as { format: number; migrated?: unknown }) : undefined;
};
/** What is on a disk, in a form that is quick to compare. */
const printOf = (image: DiskImage) =>
  Object.fromEntries(
    [...image].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, `${value.length} ${crc32(value)}`]),
  );
const largest = (image: DiskImage) => Math.max(...[...image.values()].map(({ length }) => length));

describe('the migration from format 1', () => {
  it('leaves no large value in one piece, changes nothing that the port tells, and is done once', async () => {
    expect(formatIn(old)).toEqual({ format: 1 });
    const first = await opened(old);
    expect(await contentsOf(first.store)).toEqual(expectedOf(FIXTURE));
    expect(formatIn(first.disk.image)).toEqual({ format: FORMAT });
    expect(largest(first.disk.image)).toBeLessThan(PART_BYTES + 100);
    expect(first.disk.batches).toBeGreaterThan(4);
    expect(first.told.at(-1)?.records).toBeGreaterThan(100);
    const second = await opened(first.disk.image);
    expect([second.told, second.disk.batches]).toEqual([[], 0]);
    expect(await contentsOf(second.store)).toEqual(expectedOf(FIXTURE));
  });

  it('I3: killed at any batch, goes on where it was, and never brings the same twice', async () => {
    const whole = await opened(old);
    const { batches, image } = whole.disk;
    for (let nth = 1; nth <= batches; nth += 1) {
      for (const fate of ['dieBefore', 'dieAfter'] as const) {
        const label = `${fate} ${nth} of ${batches}`;
        const killed = await opened(old, (n) => (n === nth ? fate : 'pass'));
        expect(killed.end, label).toBe('dead');
        const written = killed.disk.image !== old;
        // From its first batch on, an older release refuses it.
        expect(formatIn(killed.disk.image)?.format, label).toBe(written ? FORMAT : 1);
        const again = await opened(killed.disk.image);
        expect(again.disk.batches, label).toBe(fate === 'dieBefore' ? batches - nth + 1 : batches - nth);
        expect(await contentsOf(again.store), label).toEqual(expectedOf(FIXTURE));
        expect(printOf(again.disk.image), label).toEqual(printOf(image));
      }
    }
  });

  it('by a batch that fails, refuses the opening, and the next one goes on', async () => {
    for (const fate of ['failBefore', 'failAfter'] as const) {
      let image: DiskImage = old;
      const disk = new CrashDisk(old, {
        fate: (nth) => (nth === 2 ? fate : 'pass'),
        applied: () => {},
        died: () => {},
        dead: false,
      });
      await expect(new LevelTurnStore('crash', disk).open()).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
      image = disk.image;
      const again = await opened(image);
      expect(await contentsOf(again.store)).toEqual(expectedOf(FIXTURE));
      expect(largest(again.disk.image)).toBeLessThan(PART_BYTES + 100);
    }
  });

  it('I12: begins anew where the format record is damaged or lost, and changes nothing that is new', async () => {
    const { disk } = await opened(old);
    for (const bytes of [Buffer.from('junk'), undefined]) {
      const image = new Map(disk.image);
      if (bytes === undefined) image.delete(FORMAT_PLACE);
      else image.set(FORMAT_PLACE, bytes);
      const again = await opened(image);
      expect(await contentsOf(again.store)).toEqual(expectedOf(FIXTURE));
      expect(printOf(again.disk.image)).toEqual(printOf(disk.image));
    }
  });

  it('does not touch a database of a newer format', async () => {
    const image = new Map(old);
    image.set(FORMAT_PLACE, encodeRecord('meta', keys.FORMAT_KEY, 0, { format: FORMAT + 1 }, 'format'));
    const disk = new CrashDisk(image, { fate: () => 'pass', applied: () => {}, died: () => {}, dead: false });
    await expect(new LevelTurnStore('crash', disk).open()).rejects.toMatchObject({ code: 'TURN_STORE_FORMAT' });
    expect(disk.batches).toBe(0);
  });

  it('runs in a folder, tells how far it is, and a look at the folder before it changes nothing', async () => {
    const path = join(scratch, 'db');
    copyOfFixture(path, FIXTURE);
    const view = await viewFolder(path);
    const large: number[] = [];
    for await (const [, value] of view.tables.scan('call')) if (value.length > PART_BYTES) large.push(value.length);
    expect([large.length, await partsIn(view.tables)]).toEqual([1, []]);
    await view.close();
    const told: MigrationProgress[] = [];
    const warned = once(process, 'warning');
    const store = await openLevelStore({
      path,
      onMigration(progress) {
        told.push(progress);
        throw new Error('a listener ends nothing');
      },
    });
    expect(String((await warned)[0])).toContain('onMigration threw: a listener ends nothing');
    expect(await contentsOf(store)).toEqual(expectedOf(FIXTURE));
    await store.close();
    expect(told.at(-1)?.bytes).toBeGreaterThan(900_000);
    const after = await viewFolder(path);
    expect((await partsIn(after.tables)).length).toBeGreaterThan(3);
    await after.close();
    await expect(openLevelStore({ path, onMigration: 5 as never })).rejects.toThrow('onMigration must be a function');
  });
});
