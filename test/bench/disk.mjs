// Owns what is known of the disk: which bytes a run hands to LevelDB, and how long the same bytes take without us.
// Must not know turns.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';

/** A folder on the disk that is measured; `TMPDIR` chooses it. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Every batch that reaches a LevelDB of this process while `work` runs, as it was handed over: keys with the prefix of
 * their sublevel, encoded values, and whether it was synced.
 */
export async function recordBatches(work) {
  const { batch: original } = Level.prototype;
  const batches = [];
  Level.prototype.batch = function recorded(...given) {
    if (given.length > 0) throw new Error('a batch as an array: it would not be recorded');
    return recordedPieces(original.call(this), batches);
  };
  try {
    return { result: await work(), batches };
  } finally {
    Level.prototype.batch = original;
  }
}

/** A batch that notes what it is given and becomes one of `batches` when it is written. */
function recordedPieces(pieces, batches) {
  const ops = [];
  return Object.assign(Object.create(pieces), {
    put(key, value) {
      ops.push({ type: 'put', key, value });
      pieces.put(key, value);
    },
    del(key) {
      ops.push({ type: 'del', key });
      pieces.del(key);
    },
    write(options) {
      batches.push({ sync: options.sync === true, ops });
      return pieces.write(options);
    },
  });
}

/** A batch that changes a session; the format of a new database and sweeps have no head. */
export const isCommit = ({ ops }) => ops.some(({ key }) => key.startsWith('!head!'));

export const bytesOf = ({ ops }) =>
  ops.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + (value === undefined ? 0 : value.length), 0);

const RAW = { keyEncoding: 'utf8', valueEncoding: 'buffer' };

/** The same bytes in the same number of synced batches, straight to classic-level; gives the ms each batch took. */
export function straightWrites(batches) {
  return inFolder(async (folder) => {
    const db = new Level(join(folder, 'db'), RAW);
    await db.open();
    const times = [];
    for (const { ops } of batches) {
      const began = performance.now();
      // Piece by piece, which is the fastest way that classic-level has.
      const pieces = db.batch();
      for (const { type, key, value } of ops) {
        if (type === 'put') pieces.put(key, value);
        else pieces.del(key);
      }
      await pieces.write({ sync: true });
      times.push(performance.now() - began);
    }
    await db.close();
    return times;
  });
}

/** The same bytes appended to one file, each batch with one fdatasync; gives the ms each took. */
export function rawWrites(batches) {
  return inFolder(async (folder) => {
    const file = openSync(join(folder, 'raw'), 'w');
    const times = batches.map((batch) => {
      const bytes = Buffer.alloc(bytesOf(batch), 1);
      const began = performance.now();
      writeSync(file, bytes);
      fdatasyncSync(file);
      return performance.now() - began;
    });
    closeSync(file);
    return times;
  });
}
