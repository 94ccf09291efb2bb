/**
 * Owns copying everything of an open database into a new folder, while others go on reading and writing.
 * Must not know what records mean.
 *
 * Files of a live LevelDB cannot be copied one after another: they would be of different moments. A snapshot can be
 * read record by record. The copy grows beside its place and takes it in one step, once it was read back and found the
 * same: a folder of that name is whole, whenever the process dies.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { messageOf, TurnError } from '../core/errors.js';
import type { BackupProgress } from '../core/ports.js';
import { KINDS } from './keys.js';
import { makeFolder } from './make-folder.js';
import { openDatabase } from './opening.js';
import { BATCH_BYTES, BATCH_OPS, countOf, type Op, put, type Snapshot, Tables } from './tables.js';

/**
 * @throws {TypeError} there is something in the folder.
 * @throws {TurnError} TURN_STORE_FAILED, TURN_DAMAGED where the database cannot be read; no folder is left then.
 */
export async function backUp(
  tables: Tables,
  path: string,
  tell: (progress: BackupProgress) => void,
): Promise<BackupProgress> {
  await checkFree(path);
  const folder = await placeOf(path);
  const growing = `${folder}.unfinished-${randomBytes(6).toString('hex')}`;
  try {
    await mkdir(growing);
    const written = await tables.atOnce((snapshot) => copyInto(growing, tables, snapshot, tell));
    const found = await inCopy(growing, false, (copy) => readThrough(copy, () => {}));
    if (found.sum !== written.sum) {
      throw new TurnError('TURN_STORE_FAILED', `The backup in ${growing} does not read back as it was written.`);
    }
    await takePlace(growing, folder);
    return written.progress;
  } catch (error) {
    await rm(growing, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/**
 * Where the system finds the folder: above what a link leads to is another place than its text says. Each new folder on
 * the way is durable with its name in the one above; of the last one `takePlace` sees to that.
 */
async function placeOf(path: string): Promise<string> {
  const found = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined) return found;
  const above = dirname(path);
  for (const made of await makeFolder(above)) await syncNames(dirname(made));
  return join(await realpath(above), basename(path));
}

async function checkFree(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new TypeError(`folder: ${folder} cannot be used for a backup (${messageOf(error)}); name a new one.`);
  });
  if (names.length > 0) throw new TypeError(`folder: ${folder} is not empty; name a new one for each backup.`);
}

interface Copied {
  readonly progress: BackupProgress;
  /** Over every key and value, in order. */
  readonly sum: number;
}

function copyInto(
  folder: string,
  tables: Tables,
  snapshot: Snapshot,
  tell: (progress: BackupProgress) => void,
): Promise<Copied> {
  return inCopy(folder, true, async (copy) => {
    let ops: Op[] = [];
    let [count, bytes] = [0, 0];
    const flush = async (): Promise<void> => {
      if (ops.length > 0) await copy.write(ops);
      ops = [];
      [count, bytes] = [0, 0];
    };
    const copied = await readThrough(tables, tell, snapshot, async (op, size) => {
      const writes = countOf([op]);
      if (count + writes > BATCH_OPS || (bytes > 0 && bytes + size > BATCH_BYTES)) await flush();
      ops.push(op);
      count += writes;
      bytes += size;
    });
    await flush();
    tell(copied.progress);
    return copied;
  });
}

async function inCopy<T>(folder: string, create: boolean, work: (copy: Tables) => Promise<T>): Promise<T> {
  const level = await openDatabase(folder, create);
  try {
    return await work(new Tables(level));
  } finally {
    await level.close();
  }
}

/** Records between two words about the progress. */
const TOLD_EVERY = 1_000;

/** A few records are in memory at a time, and between them whatever else waits has its turn. */
async function readThrough(
  tables: Tables,
  tell: (progress: BackupProgress) => void,
  snapshot?: Snapshot,
  each: (op: Op, size: number) => void | Promise<void> = () => {},
): Promise<Copied> {
  let [records, bytes, sum] = [0, 0, 0];
  for (const kind of KINDS) {
    for await (const [key, value] of tables.scan(kind, {}, snapshot === undefined ? {} : { snapshot })) {
      const size = key.length + value.length;
      await each(put(kind, key, value), size);
      sum = crc32(value, crc32(`${kind}!${key}`, sum));
      records += 1;
      bytes += size;
      if (records % TOLD_EVERY === 0) tell({ records, bytes });
    }
  }
  return { progress: { records, bytes }, sum };
}

/** One step for everybody who looks; durable with the names of both folders. */
async function takePlace(growing: string, folder: string): Promise<void> {
  await syncNames(growing);
  // Checked to be empty, or not there. Should somebody have put something into it since, this fails.
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(growing, folder);
  await syncNames(dirname(folder));
}

async function syncNames(folder: string): Promise<void> {
  // Windows opens no folders, and keeps names by itself.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
