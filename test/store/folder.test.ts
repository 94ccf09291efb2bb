// Opening a folder: once, never wiping it, and with an answer that says what to do.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Level } from 'level';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FORMAT } from '../../src/store/format.js';
import { diedAtWork } from '../../src/store/inspect.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { makeFolder } from '../../src/store/make-folder.js';
import { encodeRecord } from '../../src/store/records.js';
import { bundle } from './bundle.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

const run = promisify(execFile);
const locked = { code: 'TURN_STORE_LOCKED', retryable: true };
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
  path = join(scratch, 'deep', 'er', 'db');
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

/** What another process says when it opens the folder. */
const openElsewhere = async (): Promise<string> => (await run(process.execPath, [program, 'open', path])).stdout.trim();

async function openInWorker(): Promise<string> {
  const worker = new Worker(program, { argv: ['open', path], stdout: true });
  let said = '';
  worker.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await new Promise((resolve) => worker.on('exit', resolve));
  return said.trim();
}

async function filled(): Promise<void> {
  const store = await openLevelStore({ path });
  await store.commit(appended(undefined, 's', ['kept']));
  await store.close();
}

describe('a folder', () => {
  it('is made where it is missing, and opens again with what it holds', async () => {
    await filled();
    const store = await openLevelStore({ path });
    expect(textsOf(await store.messages('s'))).toEqual(['kept']);
    expect(store.kind).toBe('level');
    await store.close();
  });

  it.each([undefined, '', 7])('needs a path, and %j is none', async (wrong) => {
    await expect(openLevelStore({ path: wrong as string })).rejects.toThrow(TypeError);
  });

  it('that is a file, or lies under one, fails with the reason', async () => {
    writeFileSync(join(scratch, 'file'), '');
    for (const wrong of [join(scratch, 'file'), join(scratch, 'file', 'db')]) {
      await expect(openLevelStore({ path: wrong })).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
    }
  });

  it.runIf(process.platform === 'linux')(
    'in a place where nothing can be made is refused, where Node itself would look for it for ever',
    async () => {
      for (const wrong of ['/proc/durable-turn', '/proc/durable-turn/deeper/db']) {
        await expect(openLevelStore({ path: wrong })).rejects.toMatchObject({
          code: 'TURN_STORE_FAILED',
          message: expect.stringContaining(`The folder ${wrong} cannot be used: ENOENT`),
        });
      }
      const store = await openLevelStore({ path });
      await expect(store.backup?.('/proc/durable-turn', () => {})).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
      await store.close();
    },
  );

  it('that is a link to nothing, or that somebody makes at the same time, is told or taken', async () => {
    symlinkSync(join(scratch, 'gone'), join(scratch, 'link'), 'junction');
    const opening = openLevelStore({ path: join(scratch, 'link') });
    await expect(opening).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
    const made = await Promise.all([1, 2, 3].map(() => makeFolder(path)));
    expect(existsSync(path)).toBe(true);
    expect([...new Set(made.flat())].sort()).toEqual(made.flat().sort());
    expect(await makeFolder(path)).toEqual([]);
  });

  it('is made where the system finds it, also above what a link leads to', async () => {
    mkdirSync(join(scratch, 'releases', '7'), { recursive: true });
    symlinkSync(join(scratch, 'releases', '7'), join(scratch, 'current'), 'junction');
    await (await openLevelStore({ path: `${scratch}/current/../turns` })).close();
    const below = process.platform === 'win32' ? scratch : join(scratch, 'releases');
    expect(existsSync(join(below, 'turns', 'CURRENT'))).toBe(true);
  });

  it('opens once in a process, under whatever name it is reached', async () => {
    const store = await openLevelStore({ path });
    const link = join(scratch, 'link');
    symlinkSync(join(scratch, 'deep'), link, 'junction');
    const names = [path, `${path}/`, join(path, '..', '.', 'db'), `${scratch}/deep/./er/../er/db`, relative('.', path)];
    for (const name of [...names, join(link, 'er', 'db')]) {
      const opening = openLevelStore({ path: name });
      await expect(opening).rejects.toMatchObject({ ...locked, message: expect.stringContaining('db is in use') });
    }
    await store.close();
    await (await openLevelStore({ path: join(link, 'er', 'db') })).close();
  });

  it('opens for one of two callers at the same time', async () => {
    const results = await Promise.allSettled([openLevelStore({ path }), openLevelStore({ path })]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const result of results) if (result.status === 'fulfilled') await result.value.close();
  });

  it('is refused to another process while it is open, and given to it afterwards', async () => {
    const store = await openLevelStore({ path });
    expect(await openElsewhere()).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    await store.commit(appended(undefined, 's', ['a']));
    await store.close();
    expect(await openElsewhere()).toBe('opened');
  });

  it('is refused to a worker thread, and a refusal does not open it to other processes', async () => {
    const store = await openLevelStore({ path });
    expect(await openInWorker()).toBe('TURN_STORE_LOCKED');
    await expect(openLevelStore({ path })).rejects.toMatchObject(locked);
    // LevelDB's own refusal within a process gives the lock of the process away.
    expect(await openElsewhere()).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    await store.close();
    expect(await openInWorker()).toBe('opened');
  });

  it('opens for one of several threads that try in the same instant, and stays closed to other processes', async () => {
    const threads = 3;
    for (let round = 0; round < 3; round += 1) {
      const gate = new SharedArrayBuffer(8);
      const said: string[] = [];
      const workers = Array.from({ length: threads }, () => {
        const worker = new Worker(program, {
          argv: ['contend', path],
          workerData: { gate, threads },
          stdout: true,
        });
        worker.stdout.on('data', (chunk) => said.push(`${chunk}`.trim()));
        return new Promise((resolve) => worker.on('exit', resolve));
      });
      const tried = new Int32Array(gate, 4, 1);
      while (Atomics.load(tried, 0) < threads) await new Promise((resolve) => setTimeout(resolve, 5));
      const elsewhere = await openElsewhere();
      Atomics.add(tried, 0, 1);
      await Promise.all(workers);
      expect(said.sort()).toEqual(['TURN_STORE_LOCKED', 'TURN_STORE_LOCKED', 'opened']);
      expect(elsewhere).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    }
    expect(await openElsewhere()).toBe('opened');
    expect(readdirSync(path).filter((name) => name.startsWith('opening'))).toEqual([]);
  });

  it('is freed at once by an owner that is killed', async () => {
    const owner = spawn(process.execPath, [program, 'write', path, '0', '100000'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(owner.stdout, 'data');
    await expect(openLevelStore({ path })).rejects.toMatchObject(locked);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await (await openLevelStore({ path })).close();
  });

  it.runIf(process.platform === 'linux')(
    'knows an opening in which a process died, also one with the pid that this one has, as in a container',
    async () => {
      await (await openLevelStore({ path })).close();
      const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
      await once(ended, 'exit');
      const alive = readFileSync(`/proc/${process.ppid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19];
      for (const [name, died] of [
        [`opening-${ended.pid}-1`, true],
        [`opening-${process.pid}-1`, true],
        [`opening-${process.ppid}-${alive}`, false],
      ] as const) {
        expect(diedAtWork(path)).toBe(false);
        writeFileSync(join(path, name), '');
        expect(diedAtWork(path), name).toBe(died);
        await (await openLevelStore({ path })).close();
        expect(existsSync(join(path, name))).toBe(!died);
      }
    },
  );

  it('can be opened again after an opening that failed', async () => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'CURRENT'), 'MANIFEST-000009\n');
    await expect(openLevelStore({ path })).rejects.toMatchObject({ message: expect.stringContaining(path) });
    rmSync(join(path, 'CURRENT'));
    await (await openLevelStore({ path })).close();
  });
});

describe('a damaged folder', () => {
  it.each(['a log', 'tables'])(
    'case C29: without CURRENT but with %s is repaired on a copy, never wiped',
    async (kind) => {
      await filled();
      // The second opening turns the log into a table.
      if (kind === 'tables') await (await openLevelStore({ path })).close();
      rmSync(join(path, 'CURRENT'));
      const before = originalsIn(path);
      const store = await openLevelStore({ path });
      expect(textsOf(await store.messages('s'))).toEqual(['kept']);
      await store.close();
      expect(originalsIn(join(path, 'damaged-1'))).toEqual(before);
    },
  );

  it('that holds nothing but what a crash during its making leaves is opened', async () => {
    mkdirSync(path, { recursive: true });
    for (const name of ['LOCK', 'LOG', 'MANIFEST-000001', '000001.dbtmp']) writeFileSync(join(path, name), '');
    await (await openLevelStore({ path })).close();
    expect(existsSync(join(path, 'CURRENT'))).toBe(true);
  });

  it.each(['CURRENT', 'the manifest'])(
    'case C29: of which %s is damaged is repaired, and nothing is lost',
    async (what) => {
      await filled();
      const name =
        what === 'CURRENT' ? what : (readdirSync(path).find((file) => file.startsWith('MANIFEST')) as string);
      writeFileSync(join(path, name), 'junk');
      for (let i = 0; i < 2; i += 1) {
        const store = await openLevelStore({ path });
        expect(textsOf(await store.messages('s'))).toEqual(['kept']);
        await store.close();
      }
      expect(readFileSync(join(path, 'damaged-1', name), 'utf8')).toBe('junk');
      expect(existsSync(join(path, 'damaged-2'))).toBe(false);
    },
  );

  it.each([
    ['all of its data is gone', (name: string) => !/^(LOG|LOCK|durable-turn\.run)/.test(name)],
    ['nothing but the report of LevelDB is left', (name: string) => !/^(LOG|LOCK)/.test(name)],
    ['nothing but what a repair has kept is left', (name: string) => name !== 'damaged-1'],
  ])('is refused and not taken for a new one where %s', async (_, isGone) => {
    await filled();
    mkdirSync(join(path, 'damaged-1'));
    for (const name of readdirSync(path).filter(isGone)) rmSync(join(path, name), { recursive: true });
    const left = readdirSync(path).sort();
    for (let i = 0; i < 2; i += 1) {
      await expect(openLevelStore({ path })).rejects.toMatchObject({
        code: 'TURN_DAMAGED',
        message: expect.stringMatching(/deep\/er\/db.*restore a backup/),
      });
    }
    expect(readdirSync(path).sort()).toEqual(left);
  });

  it('is refused where nothing of its records can be read, and stays as it was', async () => {
    await filled();
    const log = readdirSync(path).find((name) => name.endsWith('.log')) as string;
    writeFileSync(join(path, log), Buffer.alloc(statSync(join(path, log)).size));
    const before = originalsIn(path);
    await expect(openLevelStore({ path })).rejects.toMatchObject({
      code: 'TURN_DAMAGED',
      message: expect.stringContaining('Nothing can be read any more'),
    });
    expect(originalsIn(path)).toEqual(before);
  });
});

/** What LevelDB made, bytes and all. */
const originalsIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => /^(CURRENT|MANIFEST|\d+\.)/.test(name))
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'base64')]),
  );

describe('the format', () => {
  async function writeFormat(bytes: Buffer | null): Promise<void> {
    const level = new Level<string, Buffer>(path, { valueEncoding: 'buffer' });
    await level.open();
    const meta = level.sublevel<string, Buffer>('meta', { valueEncoding: 'buffer' });
    await (bytes === null ? meta.del('format') : meta.put('format', bytes));
    await level.close();
  }

  it('of a newer release is refused, and the folder is free again', async () => {
    await filled();
    await writeFormat(encodeRecord('meta', 'format', 0, { format: FORMAT + 1 }, 'format'));
    for (let i = 0; i < 2; i += 1) {
      await expect(openLevelStore({ path })).rejects.toMatchObject({ code: 'TURN_STORE_FORMAT' });
    }
    await writeFormat(encodeRecord('meta', 'format', 0, { format: FORMAT }, 'format'));
    await (await openLevelStore({ path })).close();
  });

  it.each(['junk', 'nothing'])('I12: of which %s is left does not stop the opening', async (left) => {
    await filled();
    await writeFormat(left === 'junk' ? Buffer.from('junk') : null);
    for (let i = 0; i < 2; i += 1) {
      const store = await openLevelStore({ path });
      expect(textsOf(await store.messages('s'))).toEqual(['kept']);
      await store.close();
    }
  });

  it('of somebody else is refused and left as it is', async () => {
    const level = new Level(path);
    await level.put('theirs', 'data');
    await level.close();
    await expect(openLevelStore({ path })).rejects.toMatchObject({ code: 'TURN_STORE_FORMAT' });
    await level.open();
    expect(await level.get('theirs')).toBe('data');
    await level.close();
  });
});
