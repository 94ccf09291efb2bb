// Damage over which LevelDB kills the process: at most once, then the service is up.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Head } from '../../../src/core/records.js';
import { readFolder } from '../../../src/store/folder-content.js';
import { messageKeys } from '../../../src/store/keys.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { TableFile } from '../../../src/store/leveldb/table-file.js';
import { bundle } from '../bundle.js';
import { appended } from '../fixtures.js';
import { temporaryFolder } from '../world.js';

let program = '';
let programFolder = '';
/** Removed after each test, with the folder of the database and the copies of it that a test makes beside it. */
let world = '';
let path = '';
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('damage/abort-program.ts'));
});
afterAll(() => rmSync(programFolder, { recursive: true, force: true }));
beforeEach(() => {
  world = temporaryFolder();
  path = join(world, 'database');
});
afterEach(() => rmSync(world, { recursive: true, force: true }));

interface Said {
  readonly read: readonly string[];
  readonly repaired: boolean;
}

/** What the process said, or the signal that killed it. */
async function run(mode: 'naive' | 'store', folder: string): Promise<Said | string> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program, mode, folder]);
    return mode === 'store' ? (JSON.parse(stdout) as Said) : stdout.trim();
  } catch (error) {
    return (error as { signal?: string }).signal ?? String(error);
  }
}

/** Text that LevelDB does not compress, so that the keys lie open in its blocks. */
const text = (seed: string): string =>
  Array.from({ length: 60 }, (_, i) => createHash('sha512').update(`${seed} ${i}`).digest('base64')).join('');

async function filled(sessions: number, messages: number): Promise<void> {
  const store = await openLevelStore({ path });
  const heads = new Map<number, Head>();
  for (let from = 0; from < messages; from += 50) {
    for (let n = 0; n < sessions; n += 1) {
      const texts = Array.from({ length: Math.min(50, messages - from) }, (_, i) => text(`${n} ${from + i}`));
      const commit = appended(heads.get(n), `s${n}`, texts);
      await store.commit(commit);
      heads.set(n, commit.head);
    }
  }
  await store.close();
  // The next opening turns the log into a table.
  await (await openLevelStore({ path })).close();
}

/**
 * Makes the first key of the block with the first message of `s1` shorter than any key of LevelDB is: it asserts that
 * none is, and compares that key with what it seeks.
 */
function shortenKey(): string {
  const first = Buffer.from(`!message!${messageKeys('s1', 0)(0)}`);
  for (const table of readFolder(path).tables) {
    if (!('number' in table) || table.largest.compare(first) < 0 || table.smallest.compare(first) > 0) continue;
    const file = new TableFile(join(path, table.file));
    const block = file.index(table.size)?.find(({ last }) => last.compare(first) >= 0);
    file.close();
    if (block === undefined) continue;
    const bytes = readFileSync(join(path, table.file));
    // Not compressed, and nothing shared with the key before.
    expect([bytes[block.offset + block.size], bytes[block.offset]]).toEqual([0, 0]);
    bytes[block.offset + 1] = 3;
    writeFileSync(join(path, table.file), bytes);
    return table.file;
  }
  throw new Error('There is no such block.');
}

it('a damaged table that kills a process reading it by LevelDB alone never reaches LevelDB', async () => {
  await filled(3, 20);
  const table = shortenKey();
  const damaged = readFileSync(join(path, table));
  const copy = `${path}-naive`;
  cpSync(path, copy, { recursive: true });
  expect(await run('naive', copy)).toBe('SIGABRT');

  expect(await run('store', path)).toEqual({
    read: ['s0: 20 messages', 's1: TURN_DAMAGED', 's2: 20 messages'],
    repaired: true,
  });
  expect(readFileSync(join(path, 'damaged-1', table))).toEqual(damaged);
  expect(await run('store', path)).toMatchObject({ repaired: false });
});

it('in a large store, where not every table is verified at each opening, it kills once and never again', async () => {
  // 3 sessions of 12 MB in all: more than is verified whole.
  await filled(3, 800);
  shortenKey();
  expect(await run('store', path)).toBe('SIGABRT');
  expect(await run('store', path)).toMatchObject({
    read: ['s0: 800 messages', 's1: TURN_DAMAGED', 's2: 800 messages'],
    repaired: true,
  });
  expect(await run('store', path)).toMatchObject({ repaired: false });
});

it('case C29: CURRENT that is gone makes LevelDB alone begin an empty database, and the store keeps every session', async () => {
  await filled(2, 20);
  rmSync(join(path, 'CURRENT'));
  const copy = `${path}-naive`;
  cpSync(path, copy, { recursive: true });
  expect(await run('naive', copy)).toBe('0 entries');
  expect(readdirSync(copy).filter((name) => name.endsWith('.ldb'))).toEqual([]);
  expect(await run('store', path)).toEqual({ read: ['s0: 20 messages', 's1: 20 messages'], repaired: true });
});

it('a bit in the middle of the log makes LevelDB alone forget what came after it, and the store loses one commit', async () => {
  const store = await openLevelStore({ path });
  for (let n = 0; n < 50; n += 1) await store.commit(appended(undefined, `s${n}`, [`short ${n}`]));
  await store.close();
  const log = readdirSync(path).find((name) => name.endsWith('.log')) as string;
  const bytes = readFileSync(join(path, log));
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  writeFileSync(join(path, log), bytes);
  const copy = `${path}-naive`;
  cpSync(path, copy, { recursive: true });
  const naive = Number.parseInt((await run('naive', copy)) as string, 10);
  // Head, message and marker of each, and the format: LevelDB dropped several commits without a word.
  expect(naive).toBeLessThan(50 * 3 - 5);
  const said = (await run('store', path)) as Said;
  expect(said.repaired).toBe(true);
  expect(said.read).toHaveLength(49);
});
