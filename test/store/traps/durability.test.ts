// Traps of LevelDB about what is durable, each with what it does to a plain adapter, then what the store does. Beside
// these: a disk that is really full, for root (../disk-full.test.ts); processes that are killed, and a store whose log meets
// a limit (../kill.test.ts); power that goes anywhere in a real stream of writes (../power-loss.test.ts).
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readFolder } from '../../../src/store/folder-content.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { readLog } from '../../../src/store/leveldb/log-file.js';
import { TOMBSTONES } from '../../../src/store/tombstones.js';
import { bundle } from '../bundle.js';
import { appended, textsOf } from '../fixtures.js';
import { NaiveStore } from '../naive/naive-store.js';
import { RecordedCalls } from '../naive/recorded-calls.js';
import { temporaryFolder } from '../world.js';

let scratch = '';
let path = '';
let image = '';
let calls: RecordedCalls;
beforeEach(() => {
  scratch = temporaryFolder();
  [path, image] = [join(scratch, 'database'), join(scratch, 'image')];
  calls = new RecordedCalls();
});
afterEach(() => {
  calls.restore();
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

const texts = (count: number): string[] => Array.from({ length: count }, (_, nth) => `text ${nth}`);
const logOf = (folder: string): string => join(folder, readdirSync(folder).find((name) => name.endsWith('.log')) ?? '');

describe('`sync` is false unless the second argument of a batch says otherwise', () => {
  it.each([
    ['was not asked for', (naive: NaiveStore) => naive.save('s', texts(3))],
    ['stands in each op, where nobody reads it', (naive: NaiveStore) => naive.saveWithSyncedOps('s', texts(3))],
  ])('it %s: an acknowledged session is gone after a power loss, also behind close()', async (_, save) => {
    const naive = new NaiveStore(path);
    await save(naive);
    calls.withoutPower(path, image);
    await naive.close();
    calls.withoutPower(path, `${image}-closed`);
    for (const folder of [image, `${image}-closed`]) {
      const after = new NaiveStore(folder);
      expect(await after.load('s')).toBeUndefined();
      expect(await after.interrupted()).toEqual([]);
      await after.close();
    }
  });

  it('the store asks for it each time, in the one way of writing that it has: what is acknowledged stays', async () => {
    const store = await openLevelStore({ path });
    const first = appended(undefined, 's', texts(3));
    await store.commit(first);
    await store.commit(appended(first.head, 's', ['more']));
    await store.commit(appended(undefined, 'removed', texts(3)));
    await store.remove('removed');
    calls.withoutPower(path, image);
    await store.close();
    expect(calls.writes.length).toBeGreaterThan(4);
    expect(calls.writes.map(({ how, sync }) => `${how} ${sync}`)).toEqual(calls.writes.map(() => 'batch true'));
    const after = await openLevelStore({ path: image });
    expect(textsOf(await after.messages('s'))).toEqual([...texts(3), 'more']);
    expect((await after.markers('agent')).map(({ sessionId }) => sessionId)).toEqual(['s']);
    await after.close();
  });
});

describe('synced and unsynced writes mixed leave holes', () => {
  it('a later synced write survives earlier ones without, and nothing says so; the store has no unsynced ones', async () => {
    const naive = new NaiveStore(path);
    await naive.append('s', ['one', 'two']);
    const unsynced = readFileSync(logOf(path));
    await naive.append('s', ['three'], { sync: true });
    const synced = readFileSync(logOf(path)).subarray(unsynced.length);
    await naive.close();
    // LevelDB begins a new log when its memory is full, and never syncs the old one: without power that one stays empty.
    cpSync(path, image, { recursive: true });
    writeFileSync(logOf(image), '');
    writeFileSync(join(image, '000009.log'), synced);
    const after = new NaiveStore(image);
    expect(await after.load('s')).toEqual({ head: { count: 3, inProgress: true }, messages: ['three'] });
    await after.close();
    // Were it to happen to the store, it would see it.
    cpSync(path, `${image}-2`, { recursive: true });
    writeFileSync(logOf(`${image}-2`), '');
    writeFileSync(join(`${image}-2`, '000009.log'), synced);
    expect(readFolder(`${image}-2`).findings).toEqual([{ file: '000009.log', what: 'has lost writes before byte 0' }]);
  });
});

describe('clear() is many batches, and never synced', () => {
  it('power that goes in its middle leaves a session of which some messages are missing; the store removes it in one step', async () => {
    const id = 'session-with-a-name-of-some-length';
    const naive = new NaiveStore(path);
    await naive.save(id, texts(2_000));
    const before = readLog(readFileSync(logOf(path))).records.length;
    await naive.remove(id);
    const records = readLog(readFileSync(logOf(path))).records;
    await naive.close();
    expect(calls.writes.filter(({ how }) => how === 'clear')).toMatchObject([{ sync: false }]);
    // Cut behind its first batch.
    expect(records.length).toBeGreaterThan(before + 2);
    cpSync(path, image, { recursive: true });
    writeFileSync(logOf(image), readFileSync(logOf(path)).subarray(0, records[before + 1]?.at));
    const after = new NaiveStore(image);
    const half = await after.load(id);
    expect(half?.head.count).toBe(2_000);
    expect(half?.messages.length).toBeGreaterThan(0);
    expect(half?.messages.length).toBeLessThan(2_000);
    await after.close();

    const own = join(scratch, 'own');
    const store = await openLevelStore({ path: own });
    // Fewer than make the store compact behind it: LevelDB would begin another log.
    await store.commit(appended(undefined, id, texts(TOMBSTONES / 2)));
    const written = readLog(readFileSync(logOf(own))).records.length;
    await store.remove(id);
    await store.close();
    const log = readFileSync(logOf(own));
    const removal = readLog(log).records.slice(written);
    expect(removal.length).toBeGreaterThan(2);
    for (const end of [...removal.slice(1).map(({ at }) => at), log.length]) {
      const cut = join(scratch, `cut-${end}`);
      cpSync(own, cut, { recursive: true, filter: (name) => !name.endsWith('durable-turn.run') });
      writeFileSync(logOf(cut), log.subarray(0, end));
      const again = await openLevelStore({ path: cut });
      expect(await again.load(id)).toBeUndefined();
      expect(await again.markers('agent')).toEqual([]);
      await again.close();
    }
  });
});

describe('what is written before the database is open is encoded later', () => {
  it('an object that changes meanwhile is stored as it is then; the store encodes it at once', async () => {
    const naive = new Level<string, { state: string }>(path, { valueEncoding: 'json' });
    const record = { state: 'prepared' };
    const writing = naive.put('call', record);
    record.state = 'dispatched';
    await writing;
    // It was to be durable as prepared, before anything is dispatched.
    expect(await naive.get('call')).toEqual({ state: 'dispatched' });
    await naive.close();

    mkdirSync(image);
    const store = await openLevelStore({ path: image });
    const context = { state: 'prepared' };
    const commit = appended(undefined, 's', ['x']);
    const committing = store.commit({ ...commit, head: { ...commit.head, context } });
    context.state = 'dispatched';
    await committing;
    expect((await store.head('s'))?.context).toEqual({ state: 'prepared' });
    await store.close();
  });
});

describe('reads and writes are not isolated', () => {
  it('of two that read, change and write at the same time one is lost; the store refuses the second', async () => {
    const naive = new NaiveStore(path);
    await naive.append('s', ['first']);
    await Promise.all([naive.append('s', ['a']), naive.append('s', ['b'])]);
    expect((await naive.load('s'))?.messages).toHaveLength(2);
    await naive.close();

    const store = await openLevelStore({ path: image });
    const first = appended(undefined, 's', ['first']);
    await store.commit(first);
    const both = ['a', 'b'].map((text) => store.commit(appended(first.head, 's', [text])));
    const [a, b] = await Promise.allSettled(both);
    expect([a?.status, (b as PromiseRejectedResult).reason.code]).toEqual(['fulfilled', 'TURN_CONFLICT']);
    expect(textsOf(await store.messages('s'))).toEqual(['first', 'a']);
    await store.close();
  });
});

describe.runIf(process.platform === 'linux')('one failed write takes acknowledged ones behind it', () => {
  it('LevelDB alone loses sixty of sixty on a handle on which a write has failed; ../kill.test.ts has the store there', async () => {
    const { folder, program } = await bundle('naive/limited.ts');
    // A log that may not grow over a limit fails as on a full disk; whoever set the limit may lift it, without being root.
    const limited = `ulimit -S -f 300; exec ${process.execPath} ${program} ${path}`;
    const child = spawn('bash', ['-c', limited], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      let said = '';
      child.stdout.on('data', (chunk) => {
        said += chunk;
      });
      await once(child.stdout, 'data');
      expect(said).toBe('failed\n');
      execFileSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']);
      child.stdin.write('go on\n');
      await once(child, 'close');
      expect(said).toBe('failed\n0 of 60\n');
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
