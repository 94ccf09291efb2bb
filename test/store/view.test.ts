// Looking at a folder: nothing in it changes, nobody opens it meanwhile, and nothing is left behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Compacting } from '../../src/store/compact.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { holdFolder, type View, viewFolder } from '../../src/store/view.js';
import { bundle } from './bundle.js';
import { copyOfFixture, printOf } from './fixtures/folders.js';
import { everything, temporaryFolder } from './world.js';

let program = '';
let programFolder = '';
let scratch = '';
let path = '';
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('child.ts'));
});
afterAll(() => rmSync(programFolder, { recursive: true, force: true }));
beforeEach(() => {
  scratch = temporaryFolder();
  mkdirSync(join(scratch, 'tmp'));
  vi.stubEnv('TMPDIR', join(scratch, 'tmp'));
  path = join(scratch, 'db');
  copyOfFixture(path);
  // As a service leaves it; the fixture has none.
  writeFileSync(join(path, 'LOCK'), '');
});
afterEach(() => {
  expect(readdirSync(join(scratch, 'tmp'))).toEqual([]);
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
});

async function openElsewhere(): Promise<string> {
  const child = spawn(process.execPath, [program, 'open', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await once(child.stdout, 'data');
  await once(child, 'exit');
  return `${said}`.trim();
}

/** One line a record: comparing large buffers takes the test runner seconds. */
const recordsOf = async ({ tables }: View): Promise<readonly string[]> =>
  (await everything(tables)).map(({ kind, key, bytes }) => `${kind} ${key} ${crc32(bytes)}`);

describe('a view of a folder', () => {
  it('shows what is stored, writes to itself only, and leaves every byte of the folder as it was', async () => {
    const before = printOf(path);
    const view = await viewFolder(path);
    const records = await recordsOf(view);
    expect(records.length).toBeGreaterThan(100);
    // Even what would change the database changes the view.
    await view.tables.write([{ type: 'del', kind: 'head', key: 'completed' }]);
    await (view.tables.level as unknown as Compacting).compactRange('!', '~');
    await view.close();
    expect(printOf(path)).toEqual(before);

    const again = await viewFolder(path);
    expect(await recordsOf(again)).toEqual(records);
    await again.close();
  });

  it('keeps everybody else out while it is open, and nobody afterwards', async () => {
    const view = await viewFolder(path);
    await expect(openLevelStore({ path })).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    await expect(viewFolder(join(path, '.'))).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    expect(await openElsewhere()).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    await view.close();
    expect(await openElsewhere()).toBe('opened');
  });

  it('is refused while a store has the folder open, in this process or another, and takes nothing away', async () => {
    const store = await openLevelStore({ path });
    await expect(viewFolder(path)).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    expect(await openElsewhere()).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    await store.close();

    const owner = spawn(process.execPath, [program, 'write', path, '0', '100000'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(owner.stdout, 'data');
    const link = join(scratch, 'link');
    symlinkSync(path, link);
    await expect(viewFolder(link)).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await (await viewFolder(link)).close();
  });

  it('makes no file LOCK where there is none', async () => {
    rmSync(join(path, 'LOCK'));
    const before = printOf(path);
    const view = await viewFolder(path);
    expect((await everything(view.tables)).length).toBeGreaterThan(100);
    await view.close();
    expect(printOf(path)).toEqual(before);
  });

  it('says what is missing or damaged in terms of the folder, and changes nothing', async () => {
    await expect(viewFolder(join(scratch, 'nowhere'))).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    mkdirSync(join(scratch, 'empty'));
    await expect(viewFolder(join(scratch, 'empty'))).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    rmSync(join(path, 'MANIFEST-000004'));
    const before = printOf(path);
    await expect(viewFolder(path)).rejects.toMatchObject({
      code: 'TURN_DAMAGED',
      message: expect.stringContaining(path),
    });
    rmSync(join(path, 'CURRENT'));
    await expect(viewFolder(path)).rejects.toMatchObject({ code: 'TURN_DAMAGED' });
    writeFileSync(join(path, 'CURRENT'), 'MANIFEST-000004\n');
    expect((printOf(path) as unknown[]).length).toBe((before as unknown[]).length);
    // The folder is free again after each refusal.
    await (await holdFolder(path)).release();
  });

  it('opens one of a process that was killed in the middle of its work, with all it acknowledged', async () => {
    const killed = join(scratch, 'killed');
    const owner = spawn(process.execPath, [program, 'write', killed, '0', '100000'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(owner.stdout, 'data');
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    const log = readdirSync(killed).find((name) => /^\d+\.log$/.test(name)) as string;
    const bytes = readFileSync(join(killed, log));
    const view = await viewFolder(killed);
    const heads = (await everything(view.tables)).filter(({ kind }) => kind === 'head');
    expect(heads.length).toBeGreaterThan(0);
    await view.close();
    expect(readFileSync(join(killed, log))).toEqual(bytes);
  });
});
