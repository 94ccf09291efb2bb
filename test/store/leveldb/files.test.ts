// LevelDB's files read without LevelDB: everything it has is found, nothing that it deleted, and of damaged files what is whole.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readFolder } from '../../../src/store/folder-content.js';
import { crc32c, masked } from '../../../src/store/leveldb/bytes.js';
import { readLog } from '../../../src/store/leveldb/log-file.js';
import { readManifest } from '../../../src/store/leveldb/manifest.js';
import { unsnappy } from '../../../src/store/leveldb/snappy.js';
import { Salvage } from '../../../src/store/salvage-files.js';
import { checkTables } from '../../../src/store/table-check.js';
import { temporaryFolder } from '../world.js';
import { withHarmlessEdit } from './harmless-edit.js';

let scratch = '';
let path = '';
beforeEach(() => {
  scratch = temporaryFolder();
  path = join(scratch, 'db');
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

type Open = Level<string, string>;

/** Runs some work on a database, and some more on the same one opened again. */
async function worked(...works: readonly ((level: Open) => Promise<unknown>)[]): Promise<void> {
  for (const work of works) {
    const level = new Level<string, string>(path);
    await level.open();
    await work(level);
    await level.close();
  }
}

const numbered = (n: number): string => `key${String(n).padStart(5, '0')}`;
/** Batches, so that a record of the log has more than one write. */
async function filled(level: Open, from: number, to: number, value: (n: number) => string): Promise<void> {
  for (let n = from; n < to; n += 10) {
    const ops = Array.from({ length: Math.min(10, to - n) }, (_, i) => n + i);
    await level.batch(ops.map((key) => ({ type: 'put', key: numbered(key), value: value(key) })));
  }
}

const fileLike = (pattern: RegExp): string => readdirSync(path).find((name) => pattern.test(name)) as string;

/** What LevelDB itself has. */
async function byLevel(): Promise<Record<string, string>> {
  const copy = join(scratch, 'copy');
  cpSync(path, copy, { recursive: true });
  const level = new Level<string, string>(copy);
  const entries = await level.iterator().all();
  await level.close();
  rmSync(copy, { recursive: true });
  return Object.fromEntries(entries);
}

function salvaged(): { readonly entries: Record<string, string>; readonly lost: Salvage['lost'] } {
  const salvage = new Salvage(readFolder(path));
  const entries = [...salvage.entries()].map(({ key, value }) => [key.toString(), value.toString()]);
  return { entries: Object.fromEntries(entries) as Record<string, string>, lost: salvage.lost };
}

function changed(file: string, change: (bytes: Buffer) => Buffer | undefined): void {
  const bytes = readFileSync(join(path, file));
  writeFileSync(join(path, file), change(bytes) ?? bytes);
}

const flip = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] as number) ^ 1;
  return bytes;
};

/** Characters in no order, the same for the same seed. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return String.fromCharCode(33 + ((state >>> 16) % 90));
  }).join('');
}

describe('checksums', () => {
  it('are those of RFC 3720, whatever part of the bytes they are of', () => {
    expect(crc32c(Buffer.from('123456789'), 0, 9)).toBe(0xe3069283);
    expect(crc32c(Buffer.alloc(32), 0, 32)).toBe(0x8a9136aa);
    expect(crc32c(Buffer.from('..123456789..'), 2, 11)).toBe(0xe3069283);
    expect(masked(0)).toBe(0xa282ead8);
  });
});

describe('a database', () => {
  it('gives what LevelDB gives: newest values, nothing deleted, over logs, tables and levels', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.array(
            fc.tuple(
              fc.nat(30),
              fc.option(fc.oneof(fc.string(), fc.constantFrom('x'.repeat(40_000), 'ab'.repeat(3000)))),
            ),
            { maxLength: 20 },
          ),
          { minLength: 1, maxLength: 6 },
        ),
        fc.boolean(),
        async (lives, compacted) => {
          rmSync(path, { recursive: true, force: true });
          const compact = async (level: Open) =>
            (level as unknown as { compactRange(a: string, b: string): Promise<void> }).compactRange('a', 'z');
          await worked(
            ...lives.map((writes) => async (level: Open) => {
              for (const [n, value] of writes)
                await (value === null ? level.del(numbered(n)) : level.put(numbered(n), value));
            }),
            ...(compacted ? [compact] : []),
          );
          const content = readFolder(path);
          expect(content.findings).toEqual([]);
          expect((await checkTables(content, 'everything')).findings).toEqual([]);
          expect(content.lastSequence).toBe(lives.flat().length);
          expect(salvaged()).toEqual({ entries: await byLevel(), lost: [] });
        },
      ),
      { numRuns: 25 },
    );
  });

  it('of several megabytes and thousands of blocks is read whole, also without manifest and CURRENT', async () => {
    const text = (n: number) => `${n} ${'some text that compresses well '.repeat(20)}${Math.sin(n)}`;
    await worked(
      (level) => filled(level, 0, 6000, text),
      (level) => filled(level, 0, 1000, (n) => `again ${n}`),
      async (level) => {
        for (let n = 0; n < 6000; n += 7) await level.del(numbered(n));
      },
    );
    const expected = await byLevel();
    expect(readdirSync(path).filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(1);
    expect(salvaged()).toEqual({ entries: expected, lost: [] });
    rmSync(join(path, 'CURRENT'));
    rmSync(join(path, fileLike(/^MANIFEST/)));
    expect(salvaged()).toEqual({ entries: expected, lost: [] });
  });
});

describe('a damaged table', () => {
  const text = (n: number) => `${n} ${Math.sin(n)} ${'x'.repeat(200)}`;
  beforeEach(() =>
    worked(
      (level) => filled(level, 0, 1000, text),
      async () => undefined,
    ),
  );

  it('whose index, footer or list of filters is damaged gives everything all the same', async () => {
    const table = fileLike(/\.ldb$/);
    const expected = await byLevel();
    const { size } = statSync(join(path, table));
    for (const at of [size - 1, size - 48, size - 60]) {
      changed(table, flip(at));
      const { findings } = await checkTables(readFolder(path), 'everything');
      expect(findings).toMatchObject([{ file: table, what: 'has a damaged index' }]);
      expect(salvaged(), `byte ${at}`).toEqual({ entries: expected, lost: [] });
      changed(table, flip(at));
    }
  });

  it('gives all but the entries of a damaged block, and says between which keys they lie', async () => {
    const table = fileLike(/\.ldb$/);
    const expected = await byLevel();
    changed(table, flip(3000));
    expect((await checkTables(readFolder(path), 'everything')).findings).toMatchObject([{ file: table }]);
    const { entries, lost } = salvaged();
    const missing = Object.keys(expected).filter((key) => !(key in entries));
    expect(missing.length).toBeGreaterThan(0);
    expect(missing.length).toBeLessThan(200);
    expect(lost).toHaveLength(1);
    const [keys] = lost as [{ from: Buffer; to: Buffer }];
    for (const key of missing) {
      expect(key >= keys.from.toString() && key <= keys.to.toString(), key).toBe(true);
    }
    for (const [key, value] of Object.entries(entries)) expect(value).toBe(expected[key]);
  });

  it('that is gone, short, zeros or a directory is found, and its keys are said to be lost', async () => {
    const table = fileLike(/\.ldb$/);
    const whole = readFileSync(join(path, table));
    for (const bytes of [null, whole.subarray(0, 2000), Buffer.alloc(whole.length)]) {
      if (bytes === null) rmSync(join(path, table));
      else writeFileSync(join(path, table), bytes);
      expect((await checkTables(readFolder(path), 'start')).findings).toMatchObject([{ file: table }]);
      expect(salvaged().lost).toHaveLength(1);
    }
  });

  it('whose bloom filter is damaged is found: LevelDB would believe it and miss keys', async () => {
    const table = fileLike(/\.ldb$/);
    // The filter is the last block with bytes of its own: the index names the end of the entries.
    const expected = await byLevel();
    const { size } = statSync(join(path, table));
    let found = false;
    for (let at = size - 100; at > 0 && !found; at -= 40) {
      changed(table, flip(at));
      const { findings } = await checkTables(readFolder(path), 'everything');
      found = findings.some(({ what }) => what.startsWith('has a damaged filter'));
      if (found) expect(salvaged()).toEqual({ entries: expected, lost: [] });
      changed(table, flip(at));
    }
    expect(found).toBe(true);
  });
});

describe('a table that is read in several parts', () => {
  // Values that Snappy cannot shorten, blocks of many sizes, and one block larger than a part.
  const value = (n: number) => noise(n, n === 700 ? 400_000 : 200 + ((n * 37) % 900));
  beforeEach(() =>
    worked(
      (level) => filled(level, 0, 1400, value),
      async () => undefined,
    ),
  );

  it('is found whole, and damaged wherever a bit is flipped', async () => {
    const table = fileLike(/\.ldb$/);
    expect((await checkTables(readFolder(path), 'start')).findings).toEqual([]);
    const { size } = statSync(join(path, table));
    expect(size).toBeGreaterThan(1_000_000);
    for (let at = 11; at < size; at += 23_456) {
      changed(table, flip(at));
      expect((await checkTables(readFolder(path), 'start')).findings, `byte ${at}`).toMatchObject([{ file: table }]);
      changed(table, flip(at));
    }
  });
});

describe('a damaged log', () => {
  beforeEach(() => worked((level) => filled(level, 0, 2000, (n) => `${n} ${'y'.repeat(100)}`)));

  it('loses the one record in which a bit was flipped, and says up to which write', () => {
    const log = fileLike(/\.log$/);
    const whole = salvaged().entries;
    const { size } = statSync(join(path, log));
    for (const at of [0, 5, 6, 7, 40_000, Math.floor(size / 2), size - 3000]) {
      changed(log, flip(at));
      const { findings, lostUpTo } = readFolder(path);
      expect(findings, `byte ${at}`).toMatchObject([{ file: log }]);
      const { entries } = salvaged();
      const missing = Object.keys(whole).filter((key) => !(key in entries));
      expect(missing, `byte ${at}`).toHaveLength(10);
      // Keys were written in their order, from write number 1 on.
      expect(lostUpTo).toBe(Number(missing.at(-1)?.slice(3)) + 1);
      changed(log, flip(at));
    }
  });

  it('that a crash cut in its last record is as it should be, unless that was acknowledged', () => {
    const log = fileLike(/\.log$/);
    changed(log, (bytes) => bytes.subarray(0, bytes.length - 20));
    expect(readFolder(path)).toMatchObject({ findings: [], lastSequence: 1990, lostUpTo: 0 });
    expect(readFolder(path, 1990)).toMatchObject({ findings: [], lostUpTo: 0 });
    expect(readFolder(path, 2000)).toMatchObject({
      findings: [{ file: log, what: '10 acknowledged writes are missing at its end' }],
      lostUpTo: 2000,
    });
  });

  it('with zeros, garbage or nothing at its end loses no whole record', () => {
    const log = fileLike(/\.log$/);
    for (const rest of [Buffer.alloc(100_000), Buffer.from('junk'.repeat(10_000))]) {
      changed(log, (bytes) => Buffer.concat([bytes.subarray(0, 200_000), rest]));
      const { lastSequence, findings } = readFolder(path);
      expect(findings).toEqual([]);
      expect(lastSequence).toBeGreaterThan(1000);
    }
  });

  it('never throws, whatever its bytes are, and takes none of them for a record', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000, size: 'max' }), (bytes) => {
        expect(readLog(Buffer.from(bytes)).records).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('that is cut between two records, with another log behind it, has lost the writes in between', async () => {
    rmSync(path, { recursive: true });
    await worked((level) => filled(level, 0, 100, String));
    const log = fileLike(/\.log$/);
    const bytes = readFileSync(join(path, log));
    const begins = readLog(bytes).records.map(({ at }) => at);
    const next = `${String(Number.parseInt(log, 10) + 1).padStart(6, '0')}.log`;
    writeFileSync(join(path, next), bytes.subarray(begins[6]));
    writeFileSync(join(path, log), bytes.subarray(0, begins[5]));
    expect(readFolder(path)).toMatchObject({
      findings: [{ file: next, what: 'has lost writes before byte 0' }],
      lastSequence: 100,
      lostUpTo: 60,
    });
  });

  it('that is missing may hide any write', () => {
    rmSync(join(path, fileLike(/\.log$/)));
    expect(readFolder(path)).toMatchObject({ findings: [{ what: 'is missing' }], lostUpTo: Number.POSITIVE_INFINITY });
  });
});

describe('a damaged manifest', () => {
  it('is told wherever a bit was flipped, in all but an edit that a crash cut off', async () => {
    await worked(
      (level) => filled(level, 0, 50, String),
      (level) => filled(level, 0, 50, String),
      async () => undefined,
    );
    const bytes = readFileSync(join(path, fileLike(/^MANIFEST/)));
    const intact = readManifest(bytes);
    expect(intact).toMatchObject({ lastSequence: 100 });
    const { records, tail } = readLog(bytes);
    expect(tail).toBe(0);
    expect(records.length).toBeGreaterThan(1);
    for (let at = 0; at < bytes.length; at += 1) {
      const found = readManifest(flip(at)(Buffer.from(bytes)));
      if (typeof found === 'string') continue;
      // Only the last edit can have gone: it names the log, or what it adds is missing then.
      expect(at).toBeGreaterThanOrEqual(records.at(-1)?.at ?? 0);
    }
    expect(existsSync(path)).toBe(true);
  });

  /** What LevelDB makes of a manifest, in place of its own. */
  async function levelOpens(manifest: Buffer): Promise<boolean> {
    const copy = join(scratch, 'copy');
    cpSync(path, copy, { recursive: true });
    writeFileSync(join(copy, fileLike(/^MANIFEST/)), manifest);
    const level = new Level<string, string>(copy);
    const opens = await level.open().then(
      () => true,
      () => false,
    );
    await level.close();
    rmSync(copy, { recursive: true });
    return opens;
  }

  it('whose last edit contradicts no file is told where LevelDB refuses it, and believed where LevelDB opens it', async () => {
    await worked((level) => filled(level, 0, 50, String));
    const begin = readFileSync(join(path, fileLike(/^MANIFEST/)));
    const bytes = withHarmlessEdit(begin);
    const damages = [
      bytes,
      ...Array.from({ length: (bytes.length - begin.length) * 8 }, (_, bit) => {
        const flipped = Buffer.from(bytes);
        flipped[begin.length + (bit >> 3)] = (flipped[begin.length + (bit >> 3)] as number) ^ (1 << (bit & 7));
        return flipped;
      }),
      ...Array.from({ length: bytes.length - begin.length }, (_, cut) => bytes.subarray(0, begin.length + cut)),
      Buffer.concat([begin, Buffer.alloc(100)]),
      Buffer.concat([begin, Buffer.from('junk'.repeat(50))]),
      // A block that is full is cut nowhere: what goes on behind its end is damaged.
      Buffer.concat([begin, Buffer.alloc(32_768 - begin.length, 0xff)]),
    ];
    const opened: boolean[] = [];
    for (const [nth, manifest] of damages.entries()) {
      const opens = await levelOpens(manifest);
      opened.push(opens);
      expect(typeof readManifest(manifest) !== 'string', `damage ${nth}`).toBe(opens);
    }
    expect(new Set(opened)).toEqual(new Set([true, false]));
  });
});

describe('Snappy', () => {
  it('is undone, copies of what was just written included', () => {
    // "ab" and a copy of 8 bytes from 2 bytes ago.
    expect(unsnappy(Buffer.from([10, 0x04, 0x61, 0x62, 0x11, 0x02]))?.toString()).toBe('ababababab');
    expect(unsnappy(Buffer.from([0]))?.toString()).toBe('');
  });

  it('never throws and never reads or writes outside, whatever the bytes are', () => {
    for (const bytes of [
      [],
      [5],
      [10, 0x04, 0x61, 0x62, 0x11, 0x03],
      [1, 0xfc, 0xff, 0xff, 0xff, 0xff],
      [255, 255, 255, 255, 255, 15],
    ]) {
      expect(unsnappy(Buffer.from(bytes))).toBeNull();
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const out = unsnappy(Buffer.from(bytes));
        expect(out === null || out.length >= 0).toBe(true);
      }),
    );
  });
});
