// A copy of a store that others write to: of one moment, whole or not there, and read back before anybody sees it.
import { spawn } from 'node:child_process';
import { fstatSync, fsyncSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { crc32 } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BackupProgress, TurnStore } from '../../src/core/ports.js';
import type { Head } from '../../src/core/records.js';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';
import { Tables } from '../../src/store/tables.js';
import { type View, viewFolder } from '../../src/store/view.js';
import { bundle } from './bundle.js';
import { contentsOf } from './fixtures/contents.js';
import { copyOfFixture, expectedOf } from './fixtures/folders.js';
import { appended, checkpointOf, rewritten, textsOf } from './fixtures.js';
import { live } from './lives.js';
import { everything, temporaryFolder } from './world.js';

let program = '';
let programFolder = '';
let scratch = '';
let path = '';
let copy = '';
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('child.ts'));
});
afterAll(() => rmSync(programFolder, { recursive: true, force: true }));
beforeEach(() => {
  scratch = temporaryFolder();
  [path, copy] = [join(scratch, 'db'), join(scratch, 'deep', 'copy')];
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

const backup = (store: TurnStore, folder = copy, tell: (progress: BackupProgress) => void = () => {}) =>
  (store.backup as NonNullable<TurnStore['backup']>)(folder, tell);

const recordsOf = async ({ tables }: View): Promise<readonly string[]> =>
  (await everything(tables)).map(({ kind, key, bytes }) => `${kind} ${key} ${crc32(bytes)}`);

async function recordsIn(folder: string): Promise<readonly string[]> {
  const view = await viewFolder(folder);
  const records = await recordsOf(view);
  await view.close();
  return records;
}

/** Nothing but the copy itself may be where it was made. */
const beside = (): readonly string[] => readdirSync(join(scratch, 'deep'));

describe('a backup', () => {
  it('holds every record, byte for byte, and opens in place of the store', async () => {
    copyOfFixture(path);
    const store = await openLevelStore({ path });
    const steps: BackupProgress[] = [];
    const done = await backup(store, copy, (progress) => steps.push(progress));
    expect(await contentsOf(store)).toEqual(expectedOf());
    await store.close();
    expect(beside()).toEqual(['copy']);
    expect(await recordsIn(copy)).toEqual(await recordsIn(path));
    expect(steps.at(-1)).toEqual(done);
    expect(done.records).toBe((await recordsIn(path)).length);
    const restored = await openLevelStore({ path: copy });
    expect(await contentsOf(restored)).toEqual(expectedOf());
    await restored.close();
  });

  it('is made where the system finds its folder, also above what a link leads to', async () => {
    mkdirSync(join(scratch, 'releases', '7'), { recursive: true });
    symlinkSync(join(scratch, 'releases', '7'), join(scratch, 'current'), 'junction');
    const store = await openLevelStore({ path });
    await backup(store, `${scratch}/current/../copies/1`);
    await store.close();
    const below = process.platform === 'win32' ? scratch : join(scratch, 'releases');
    expect(readdirSync(join(below, 'copies'))).toEqual(['1']);
    expect(await recordsIn(join(below, 'copies', '1'))).toEqual(await recordsIn(path));
  });

  it.skipIf(process.platform === 'win32')(
    'syncs every folder it made on the way, and the one they were made in',
    async () => {
      const store = await openLevelStore({ path });
      const handle = await openFile(scratch);
      const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync');
      await handle.close();
      const synced: number[] = [];
      sync.mockImplementation(async function (this: FileHandle) {
        synced.push(fstatSync(this.fd).ino);
        fsyncSync(this.fd);
      });
      await backup(store, join(scratch, 'a', 'b', 'c', 'copy'));
      await store.close();
      const made = [scratch, join(scratch, 'a'), join(scratch, 'a', 'b'), join(scratch, 'a', 'b', 'c')];
      for (const folder of made) expect(synced, folder).toContain(statSync(folder).ino);
    },
  );

  it('may take an empty folder, and comes from a store in memory as well', async () => {
    const store = memoryStore();
    await live(store, 's');
    mkdirSync(copy, { recursive: true });
    await backup(store);
    const restored = await openLevelStore({ path: copy });
    expect(await restored.load('s')).toEqual(await store.load('s'));
    await restored.close();
  });

  it('is of one moment while others write: all that was acknowledged before, nothing by halves', async () => {
    const store = await openLevelStore({ path });
    const heads = new Map<string, Head>();
    let writing = true;
    const write = async (id: string): Promise<void> => {
      for (let n = 0; writing || n < 8; n += 1) {
        const before = heads.get(id);
        // Every fourth list is staged in several batches, and the one before it is swept.
        const texts = Array.from({ length: n % 4 === 3 ? 700 : 2 }, (_, i) => `${id} ${n} ${i}`);
        const commit = n % 4 === 3 ? rewritten(before, id, texts) : appended(before, id, texts);
        await store.commit({ ...commit, checkpoint: checkpointOf(commit.head) });
        heads.set(id, commit.head);
      }
    };
    const writers = ['a', 'b', 'c'].map(write);
    for (let nth = 0; nth < 4; nth += 1) {
      const acknowledged = new Map(heads);
      const target = `${copy}-${nth}`;
      await backup(store, target);
      const restored = await openLevelStore({ path: target });
      for (const [id, { revision }] of acknowledged) {
        const session = await restored.load(id);
        expect(session?.head.revision).toBeGreaterThanOrEqual(revision);
        expect(session?.checkpoint).toMatchObject({ revision: session?.head.revision });
        const list = textsOf(session?.messages ?? []);
        expect(list).toHaveLength(session?.head.count as number);
      }
      const marked = (await restored.markers('agent')).map(({ sessionId }) => sessionId);
      expect(marked).toEqual(expect.arrayContaining([...acknowledged.keys()]));
      await restored.close();
    }
    writing = false;
    await Promise.all(writers);
    await store.close();
  });

  it('is refused where something is already, before anything is written', async () => {
    const store = memoryStore();
    mkdirSync(copy, { recursive: true });
    writeFileSync(join(copy, 'theirs'), 'data');
    await expect(backup(store)).rejects.toThrow(/copy is not empty; name a new one/);
    await expect(backup(store, join(copy, 'theirs'))).rejects.toThrow(TypeError);
    await expect(backup(store, join(copy, 'theirs', 'below'))).rejects.toThrow(TypeError);
    expect(readdirSync(copy)).toEqual(['theirs']);
    expect(beside()).toEqual(['copy']);
  });

  it('that does not read back as it was written leaves nothing', async () => {
    const store = memoryStore();
    await live(store, 's');
    const write = Tables.prototype.write;
    vi.spyOn(Tables.prototype, 'write').mockImplementation(function (this: Tables, ops) {
      return write.call(this, ops.slice(1));
    });
    await expect(backup(store, copy)).rejects.toMatchObject({
      code: 'TURN_STORE_FAILED',
      message: expect.stringContaining('does not read back'),
    });
    expect(beside()).toEqual([]);
    vi.restoreAllMocks();
    await backup(store, copy);
    expect(beside()).toEqual(['copy']);
  });

  it('lets everything else have its turn between any thousand records', async () => {
    const store = await openLevelStore({ path });
    await store.commit(
      rewritten(
        undefined,
        's',
        Array.from({ length: 6_000 }, (_, i) => `${i}`),
      ),
    );
    let turns = 0;
    let running = true;
    const count = () => {
      turns += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    const seen: number[] = [];
    await backup(store, copy, ({ records }) => {
      if (records % 1_000 === 0) seen.push(turns);
    });
    running = false;
    await store.close();
    expect(seen.length).toBeGreaterThanOrEqual(6);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('of a store that is closed meanwhile says so and leaves nothing', async () => {
    const store = await openLevelStore({ path });
    const texts = Array.from({ length: 3_000 }, (_, i) => `${i}`);
    await store.commit(rewritten(undefined, 's', texts));
    let closing: Promise<void> | undefined;
    const running = backup(store, copy, () => {
      closing ??= store.close();
    });
    await expect(running).rejects.toMatchObject({ code: 'TURN_STORE_CLOSED' });
    await closing;
    expect(beside()).toEqual([]);
    await expect(backup(store, copy)).rejects.toMatchObject({ code: 'TURN_STORE_CLOSED' });
  });

  it('whose process is killed in its middle is not there, and the store is as it was', async () => {
    const child = spawn(process.execPath, [program, 'backup', path, copy], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface(child.stdout)) if (line !== 'written') child.kill('SIGKILL');
    const left = beside();
    expect(left).toHaveLength(1);
    expect(left[0]).toMatch(/^copy\.unfinished-[0-9a-f]{12}$/);
    const store = await openLevelStore({ path });
    expect(await store.messages('s')).toHaveLength(3_000);
    await backup(store);
    await store.close();
    expect(await recordsIn(copy)).toEqual(await recordsIn(path));
  });
});
