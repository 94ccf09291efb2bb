// Traps of LevelDB about bytes that are not what was written, each with what it does to a plain adapter, then what the
// store does. Beside these, each with LevelDB alone first: a table over which it kills the process, CURRENT that is gone,
// a bit in the middle of a log (../damage/aborts.test.ts).
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TurnStore } from '../../../src/core/ports.js';
import type { Head } from '../../../src/core/records.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { appended, rewritten, textsOf } from '../fixtures.js';
import { NaiveStore } from '../naive/naive-store.js';
import { afterFirstGet } from '../naive/recorded-calls.js';
import { temporaryFolder } from '../world.js';

let scratch = '';
let plain = '';
let path = '';
let warnings: string[] = [];
const listen = ({ message }: Error): void => void warnings.push(message);
beforeEach(() => {
  scratch = temporaryFolder();
  [plain, path] = [join(scratch, 'plain'), join(scratch, 'database')];
  warnings = [];
  process.on('warning', listen);
});
afterEach(() => {
  process.off('warning', listen);
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

/** Text in which compression finds nothing to shorten: most of it lies in a table as it is. */
const text = (seed: string): string => createHash('sha512').update(seed).digest('base64');
const IDS = ['a', 'b', 'c'];
const textsIn = (id: string): string[] => Array.from({ length: 60 }, (_, nth) => text(`${id} ${nth}`));

/** Flips one bit in one of the texts of `b`, in a file of this kind. @returns What is stored now. */
function flipIn(folder: string, kind: RegExp): string {
  for (const name of readdirSync(folder).filter((one) => kind.test(one))) {
    const bytes = readFileSync(join(folder, name));
    const stored = textsIn('b').find((one) => bytes.includes(one));
    if (stored === undefined) continue;
    const at = bytes.indexOf(stored);
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(join(folder, name), bytes);
    return bytes.toString('latin1', at, at + stored.length);
  }
  throw new Error('No file holds one of the texts as it is.');
}

const logIn = (folder: string): string => join(folder, readdirSync(folder).find((name) => name.endsWith('.log')) ?? '');

const openAndClose = async (folder: string): Promise<void> => (await openLevelStore({ path: folder })).close();

describe('checksums are not verified on read', () => {
  it('a flipped bit in a table is read as a text that nobody wrote; the store tells the session and keeps the others', async () => {
    const naive = new NaiveStore(plain);
    for (const id of IDS) await naive.append(id, textsIn(id));
    await naive.close();
    // The next opening turns the log into a table.
    const again = new NaiveStore(plain);
    await again.level.open();
    await again.close();
    const wrong = flipIn(plain, /\.ldb$/);
    expect(textsIn('b')).not.toContain(wrong);
    const damaged = new NaiveStore(plain);
    expect((await damaged.load('b'))?.messages).toContain(wrong);
    await damaged.close();

    const store = await openLevelStore({ path });
    for (const id of IDS) await store.commit(appended(undefined, id, textsIn(id)));
    await store.close();
    await openAndClose(path);
    flipIn(path, /\.ldb$/);
    const repaired = await openLevelStore({ path });
    const read = await Promise.all(IDS.map((id) => repaired.messages(id).then(textsOf, (error) => error.code)));
    // The block in which it lies can hold records of its neighbours in the order of keys.
    for (const [nth, id] of IDS.entries()) expect(['TURN_DAMAGED', textsIn(id)]).toContainEqual(read[nth]);
    expect([read[0], read[1]]).toEqual([textsIn('a'), 'TURN_DAMAGED']);
    await repaired.close();
  });
});

describe('repair() works in place and skips the checksums of logs', () => {
  it('it takes a damaged value for a written one and moves the originals; the store repairs a copy and believes no damage', async () => {
    const naive = new NaiveStore(plain);
    for (const id of IDS) await naive.append(id, textsIn(id));
    await naive.close();
    const wrong = flipIn(plain, /\.log$/);
    rmSync(join(plain, 'CURRENT'));
    const before = readdirSync(plain).filter((name) => /^(MANIFEST|\d)/.test(name));
    await (Level as unknown as { repair(path: string): Promise<void> }).repair(plain);
    const after = new NaiveStore(plain);
    expect((await after.load('b'))?.messages).toContain(wrong);
    await after.close();
    expect(readdirSync(plain)).not.toEqual(expect.arrayContaining(before));

    const store = await openLevelStore({ path });
    for (const id of IDS) await store.commit(appended(undefined, id, textsIn(id)));
    await store.close();
    flipIn(path, /\.log$/);
    rmSync(join(path, 'CURRENT'));
    const originals = Object.fromEntries(
      readdirSync(path)
        .filter((name) => /^(MANIFEST|\d)/.test(name))
        .map((name) => [name, readFileSync(join(path, name), 'base64')]),
    );
    const repaired = await openLevelStore({ path });
    const read = await Promise.all(IDS.map((id) => repaired.messages(id).then(textsOf, (error) => error.code)));
    // Its commit is lost whole: the session never was, and the warning says that something may be.
    expect(read).toEqual([textsIn('a'), [], textsIn('c')]);
    expect(warnings.join()).toMatch(/A part of what was stored may be lost/);
    await repaired.close();
    for (const [name, bytes] of Object.entries(originals)) {
      expect(readFileSync(join(path, 'damaged-1', name), 'base64')).toBe(bytes);
    }
  });
});

describe('a torn end of the log is dropped without a word', () => {
  it('a plain adapter cannot tell it from a write that was never acknowledged; the store can, after a killed process', async () => {
    const naive = new NaiveStore(plain);
    for (const id of IDS) await naive.append(id, [text(id)]);
    await naive.close();
    const store = await openLevelStore({ path });
    for (const id of IDS) await store.commit(appended(undefined, id, [text(id)]));
    await store.close();
    for (const folder of [plain, path]) {
      const log = logIn(folder);
      truncateSync(log, readFileSync(log).length - 5);
    }
    const after = new NaiveStore(plain);
    expect([await after.load('c'), (await after.interrupted()).sort()]).toEqual([undefined, ['a', 'b']]);
    await after.close();
    const again = await openLevelStore({ path });
    expect(warnings.join()).toMatch(/acknowledged writes are missing at its end/);
    expect((await again.damagedSessions('agent')).map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    await again.close();
    // The same cut where the process was cut off before it acknowledged anything: the file of its run says nothing more.
    const unacknowledged = join(scratch, 'unacknowledged');
    cpSync(join(path, 'damaged-1'), unacknowledged, { recursive: true, filter: (name) => !/report|\.run$/.test(name) });
    warnings = [];
    await openAndClose(unacknowledged);
    expect(warnings).toEqual([]);
  });
});

describe('two reads can see two states', () => {
  it('a head and a list of two moments look like damage; the store reads both from one snapshot', async () => {
    const naive = new NaiveStore(plain);
    await naive.save('s', ['one', 'two']);
    let between = afterFirstGet(() => naive.append('s', ['three']));
    const torn = await naive.load('s');
    between.restore();
    expect([torn?.head.count, torn?.messages.length]).toEqual([2, 3]);
    await naive.close();

    const store: TurnStore = await openLevelStore({ path });
    const first = appended(undefined, 's', ['one', 'two']);
    await store.commit(first);
    const commits: ((head: Head) => Promise<Head>)[] = [
      async (head) => committed(store, appended(head, 's', ['three'])),
      async (head) => committed(store, rewritten(head, 's', ['short'])),
    ];
    let head = first.head;
    for (const commit of commits) {
      const before = textsOf(await store.messages('s'));
      let next = head;
      between = afterFirstGet(async () => {
        next = await commit(head);
      });
      const records = await store.load('s');
      between.restore();
      expect(next.revision).toBe(head.revision + 1);
      expect([records?.head.revision, textsOf(records?.messages ?? [])]).toEqual([head.revision, before]);
      head = next;
    }
    await store.close();
  });
});

async function committed(store: TurnStore, commit: ReturnType<typeof appended>): Promise<Head> {
  await store.commit(commit);
  return commit.head;
}
