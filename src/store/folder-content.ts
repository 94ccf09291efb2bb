/**
 * Owns what a folder of LevelDB holds according to its own files: manifest, tables, logs, and what contradicts itself.
 * Must not know records. Reads only, never LOCK (closing it would give LevelDB's lock away), and never by LevelDB.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LogRecord, readLog } from './leveldb/log-file.js';
import { type Manifest, readManifest, type TableEntry } from './leveldb/manifest.js';
import { readFile } from './leveldb/regular-file.js';
import { decodeBatch, extentOf, type Write } from './leveldb/write-batch.js';
import { RUN_FILE } from './run-file.js';

/** One thing that is wrong with one file. */
export interface Finding {
  readonly file: string;
  readonly what: string;
}

export interface Table extends TableEntry {
  readonly file: string;
}

export interface FolderContent {
  readonly folder: string;
  readonly findings: readonly Finding[];
  /** Tables in use; where no manifest can be read, all there are, with unknown keys. */
  readonly tables: readonly (Table | { readonly file: string })[];
  /** Writes that are in no table yet, in their order; decoded when they are asked for, which only a repair does. */
  readonly writes: readonly Write[];
  /** Those of them that are to one key; most batches are not even decoded for it. */
  writesTo(key: Buffer): readonly Write[];
  /** The number of the last write on disk; 0 where neither a manifest nor a log tells. */
  readonly lastSequence: number;
  /** The number of the last write that is known to have been acknowledged; infinite where it may be any. */
  readonly acknowledged: number;
  /** Acknowledged writes up to this number may be missing, those above are not; 0 where none is. */
  readonly lostUpTo: number;
  /** Bytes of the files that were read. */
  readonly bytes: number;
}

const MANIFEST = /^MANIFEST-(\d{6,})$/;
const TABLE = /^(\d{6,})\.(?:ldb|sst)$/;
const LOG = /^(\d{6,})\.log$/;

/** Files without which there is no database, or of which one holds data. */
export const isDatabaseFile = (name: string): boolean =>
  name === 'CURRENT' || MANIFEST.test(name) || TABLE.test(name) || LOG.test(name);

/** Everything LevelDB makes, its lock and its own reports aside. */
export const isLevelFile = (name: string): boolean => isDatabaseFile(name) || /\.dbtmp$/.test(name);

/**
 * @param acknowledged The last write that a run is known to have acknowledged; 0 where nothing is known, infinite where
 * what was known is damaged.
 * @throws What the file system throws where the folder itself cannot be read.
 */
export function readFolder(folder: string, acknowledged = 0): FolderContent {
  const reading = new FolderReading(folder, readdirSync(folder).sort());
  return reading.run(acknowledged);
}

class FolderReading {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #findings: Finding[] = [];
  readonly #batches: Buffer[] = [];
  #lostUpTo = 0;
  #bytes = 0;

  constructor(folder: string, names: readonly string[]) {
    this.#folder = folder;
    this.#names = names;
  }

  run(acknowledged: number): FolderContent {
    const manifest = this.#manifest();
    const tables = this.#tables(manifest);
    const lastSequence = this.#logs(manifest);
    // Without a manifest and a log the tables have to tell.
    const told = manifest !== null || lastSequence > 0;
    if (acknowledged === Number.POSITIVE_INFINITY) {
      this.#lose(acknowledged);
      this.#find(RUN_FILE, 'is damaged: any acknowledged write may be missing at the end of the log');
    } else if (told && lastSequence < acknowledged) {
      this.#lose(acknowledged);
      const missing = `${acknowledged - lastSequence} acknowledged writes are missing at its end`;
      this.#find(this.#names.filter((name) => LOG.test(name)).at(-1) ?? 'the log', missing);
    }
    const batches = this.#batches;
    return {
      folder: this.#folder,
      findings: this.#findings,
      tables,
      get writes() {
        return batches.flatMap(decodeBatch);
      },
      writesTo: (key) =>
        batches
          .filter((batch) => batch.includes(key))
          .flatMap((batch) => decodeBatch(batch).filter((write) => write.key.equals(key))),
      lastSequence,
      acknowledged,
      lostUpTo: this.#lostUpTo,
      bytes: this.#bytes,
    };
  }

  /** The manifest that CURRENT names; where it names none that can be read, the newest that can. */
  #manifest(): Manifest | null {
    const current = this.#read('CURRENT');
    const name = current === null ? '' : current.toString('latin1').replace(/\n$/, '');
    const named = current?.at(-1) === 0x0a && MANIFEST.test(name);
    if (current !== null && !named) this.#find('CURRENT', 'names no manifest');
    const manifest = named ? this.#readManifest(name, true) : null;
    if (manifest !== null) return manifest;
    const others = this.#names.filter((other) => MANIFEST.test(other) && other !== name);
    for (const other of others.sort(byNumber).reverse()) {
      const found = this.#readManifest(other, false);
      if (found !== null) return found;
    }
    return null;
  }

  #readManifest(name: string, inUse: boolean): Manifest | null {
    const bytes = inUse || this.#names.includes(name) ? this.#read(name, inUse) : null;
    if (bytes === null) return null;
    const manifest = readManifest(bytes);
    if (typeof manifest !== 'string' && manifest.logNumber !== null) return manifest;
    if (inUse) this.#find(name, typeof manifest === 'string' ? manifest : 'names no log');
    return null;
  }

  #tables(manifest: Manifest | null): FolderContent['tables'] {
    const files = this.#names.filter((name) => TABLE.test(name));
    if (manifest === null) return files.map((file) => ({ file }));
    const numbered = new Map(files.toReversed().map((file) => [numberOf(file), file]));
    return manifest.tables.map((table) => {
      const file = numbered.get(table.number) ?? `${String(table.number).padStart(6, '0')}.ldb`;
      return { ...table, file };
    });
  }

  /** @returns The number of the last write. */
  #logs(manifest: Manifest | null): number {
    const { logNumber = 0, previousLog = 0, lastSequence = 0 } = manifest ?? {};
    const live = this.#names
      .filter((name) => LOG.test(name))
      .filter((name) => numberOf(name) >= (logNumber ?? 0) || numberOf(name) === previousLog)
      .sort(byNumber);
    if (manifest !== null && !live.some((name) => numberOf(name) === logNumber)) {
      this.#find(`${String(logNumber).padStart(6, '0')}.log`, 'is missing');
      this.#lose(Number.POSITIVE_INFINITY);
    }
    // The first log may begin with writes that the tables have already, but not behind what they have.
    let expected = lastSequence + 1;
    let first = true;
    for (const name of live) {
      const bytes = this.#read(name);
      if (bytes === null) {
        this.#lose(Number.POSITIVE_INFINITY);
        continue;
      }
      // Whatever its tail is, a crash may have left it: of a write that nobody was told of, a power loss can keep the
      // length and not the bytes. LevelDB opens a log with any tail, and an acknowledged write in it is missed by its number.
      for (const record of readLog(bytes).records) {
        const next = this.#batch(name, record, first && manifest === null ? null : expected, first);
        if (next === null) continue;
        [expected, first] = [next, false];
      }
    }
    return expected - 1;
  }

  /** @returns The number behind it; null for no batch. */
  #batch(
    name: string,
    { payload, at, afterDamage }: LogRecord,
    expected: number | null,
    first: boolean,
  ): number | null {
    const batch = extentOf(payload);
    if (batch === null) {
      this.#find(name, `has a record at byte ${at} that is no batch`);
      return null;
    }
    const gap = expected !== null && (first ? batch.first > expected : batch.first !== expected);
    if (afterDamage || gap) {
      this.#find(name, afterDamage ? `is damaged before byte ${at}` : `has lost writes before byte ${at}`);
      this.#lose(batch.first - 1);
    }
    this.#batches.push(payload);
    return batch.first + batch.count;
  }

  /** @returns null where it is missing or no file that can be read. */
  #read(name: string, told = true): Buffer | null {
    const path = join(this.#folder, name);
    try {
      const bytes = readFile(path);
      this.#bytes += bytes.length;
      return bytes;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const what = code === undefined ? message : `cannot be read (${code})`;
      if (told) this.#find(name, code === 'ENOENT' ? 'is missing' : what);
      return null;
    }
  }

  #find(file: string, what: string): void {
    this.#findings.push({ file, what });
  }

  #lose(upTo: number): void {
    this.#lostUpTo = Math.max(this.#lostUpTo, upTo);
  }
}

const numberOf = (name: string): number => Number(/\d+/.exec(name)?.[0]);
const byNumber = (a: string, b: string): number => numberOf(a) - numberOf(b);
