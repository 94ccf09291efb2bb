// Traps of LevelDB's lock, each with what it does to a plain adapter, then what the store does. Threads and killed
// owners in every combination are in ../folder.test.ts and ../owner.test.ts.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyFolder } from '../../../src/store/inspect.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { bundle } from '../bundle.js';
import { appended } from '../fixtures.js';
import { NaiveStore } from '../naive/naive-store.js';
import { temporaryFolder } from '../world.js';

let program = '';
let programFolder = '';
let scratch = '';
let plain = '';
let path = '';
const children: ChildProcessWithoutNullStreams[] = [];
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('naive/holder.ts'));
});
afterAll(() => rmSync(programFolder, { recursive: true, force: true }));
beforeEach(() => {
  scratch = temporaryFolder();
  [plain, path] = [join(scratch, 'plain'), join(scratch, 'database')];
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});

/** What another process says that opens the folder by LevelDB alone. */
const openElsewhere = (folder: string): string =>
  execFileSync(process.execPath, [program, 'open', folder]).toString().trim();

async function holderOf(folder: string): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(process.execPath, [program, 'hold', folder]);
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

describe('the lock is per text of the path in one process', () => {
  it('under two names a folder opens twice, and what one of them acknowledged is gone; the store opens it once', async () => {
    const first = new NaiveStore(plain);
    await first.level.open();
    const second = new NaiveStore(`${plain}/.`);
    await second.level.open();
    await first.append('a', ['of the first'], { sync: true });
    await second.append('b', ['of the second'], { sync: true });
    await first.close();
    await second.close();
    const after = new NaiveStore(plain);
    await after.level.open();
    expect((await after.interrupted()).length).toBeLessThan(2);
    await after.close();

    const store = await openLevelStore({ path });
    symlinkSync(path, join(scratch, 'link'), 'junction');
    for (const name of [`${path}/.`, `${path}/`, join(scratch, 'link')]) {
      await expect(openLevelStore({ path: name })).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    }
    await store.close();
  });
});

describe.runIf(process.platform !== 'win32')('a process that closes the file LOCK gives its lock away', () => {
  it('who reads it, as a copy of the folder does, lets a second process in; the store looks at its files and never at that one', async () => {
    const holder = await holderOf(plain);
    expect(openElsewhere(plain)).toBe('LEVEL_DATABASE_NOT_OPEN LEVEL_LOCKED');
    holder.stdin.write('read LOCK\n');
    await once(holder.stdout, 'data');
    expect(openElsewhere(plain)).toBe('opened');

    const store = await openLevelStore({ path });
    await store.commit(appended(undefined, 's', ['x']));
    // Everything that looks at files, a refused opening included.
    await verifyFolder(path);
    await store.backup?.(join(scratch, 'backup'), () => {});
    await expect(openLevelStore({ path })).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    expect(openElsewhere(path)).toBe('LEVEL_DATABASE_NOT_OPEN LEVEL_LOCKED');
    await store.close();
  });
});

describe('the error of a second opening has its reason in `cause`', () => {
  it('who looks at `code` takes a folder that is in use for one that does not open; the store says which', async () => {
    const level = new Level(plain);
    await level.open();
    const refused = await new Level(plain).open().catch((error: { code: string; cause?: { code?: string } }) => error);
    expect(refused).toMatchObject({ code: 'LEVEL_DATABASE_NOT_OPEN', cause: { code: 'LEVEL_LOCKED' } });
    await level.close();

    await holderOf(path);
    await expect(openLevelStore({ path })).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED', retryable: true });
    mkdirSync(join(scratch, 'broken', 'CURRENT'), { recursive: true });
    const broken = openLevelStore({ path: join(scratch, 'broken') });
    await expect(broken).rejects.toMatchObject({ code: 'TURN_DAMAGED', retryable: false });
  });

  it('a file LOCK that a killed process left, or anybody wrote, locks nothing', async () => {
    const holder = await holderOf(path);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    writeFileSync(join(path, 'LOCK'), 'pid 1');
    expect(openElsewhere(path)).toBe('opened');
    await (await openLevelStore({ path: join(scratch, 'own') })).close();
    writeFileSync(join(scratch, 'own', 'LOCK'), 'pid 1');
    await (await openLevelStore({ path: join(scratch, 'own') })).close();
  });
});
