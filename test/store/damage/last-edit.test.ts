// The last edit of a manifest, damaged where no file contradicts it: LevelDB refuses it, and a repair has to find it too.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyFolder } from '../../../src/store/inspect.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { repairFolder } from '../../../src/store/repair.js';
import { appended, textsOf } from '../fixtures.js';
import { withHarmlessEdit } from '../leveldb/harmless-edit.js';
import { temporaryFolder } from '../world.js';

let world = '';
beforeEach(() => {
  world = temporaryFolder();
});
afterEach(() => rmSync(world, { recursive: true, force: true }));

it('one bit of the last edit of a manifest is told and repaired, and nothing is lost with it', async () => {
  const original = join(world, 'original');
  const filled = await openLevelStore({ path: original });
  for (const id of ['a', 'b']) await filled.commit(appended(undefined, id, [`of ${id}`, 'more']));
  await filled.close();
  const manifest = readdirSync(original).find((name) => name.startsWith('MANIFEST')) as string;
  const before = readFileSync(join(original, manifest));
  const bytes = withHarmlessEdit(before);
  let repairs = 0;
  for (let at = before.length; at < bytes.length; at += 1) {
    const path = join(world, `byte-${at}`);
    cpSync(original, path, { recursive: true });
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] as number) ^ 1;
    writeFileSync(join(path, manifest), flipped);
    const { findings } = await verifyFolder(path);
    const report = await repairFolder(path);
    expect(report, `byte ${at}`).toMatchObject({ findings, incomplete: false, sessions: [] });
    expect(report.originals !== null, `byte ${at}`).toBe(findings.length > 0);
    if (report.originals !== null) repairs += 1;
    const store = await openLevelStore({ path });
    for (const id of ['a', 'b']) expect(textsOf(await store.messages(id))).toEqual([`of ${id}`, 'more']);
    await store.close();
  }
  // All but the length: an edit that ends behind its file was cut off, for LevelDB as well.
  expect(repairs).toBe(bytes.length - before.length - 2);
});
