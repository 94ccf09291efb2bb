/**
 * Owns the small file beside the database that says how the last run went: whether it was closed, what LevelDB was
 * doing when it died, and up to which write it had acknowledged.
 * Must not know the database. Without the file nothing is claimed; a file that is there and cannot be read said
 * something once, and may have said anything.
 *
 * It is written with every commit and never synced: a killed process leaves it exact, a power loss leaves it older
 * than the database, never newer, since a commit is synced before it is acknowledged here.
 */
import { closeSync, constants, ftruncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { NOT_FOLLOWING, openFile, readFile } from './leveldb/regular-file.js';
import type { Watch } from './tables.js';

export const RUN_FILE = 'durable-turn.run';

/**
 * - `reading`: LevelDB reads its tables, where damage can kill the process, or it has met some.
 * - `open`: it only appends, if anything.
 */
export type Stage = 'reading' | 'open' | 'closed';

export interface LastRun {
  readonly stage: Stage;
  /** The number of the last write that was acknowledged; infinite where the file is damaged, and no number is too high. */
  readonly acknowledged: number;
}

const TITLE = 'durable-turn run file 1\n';
const STAGE_AT = TITLE.length;
const NUMBER_AT = STAGE_AT + 8;
const NUMBER_BYTES = 6;
const END = NUMBER_AT + NUMBER_BYTES + 4;
const STAGES: readonly Stage[] = ['reading', 'open', 'closed'];

/**
 * Of a file that is there and cannot be read, or of what lies under its name and is no file. What damaged it may have
 * cut the log as well, and nothing else would tell: turns would be resumed from an older state (I5).
 */
const DAMAGED: LastRun = { stage: 'reading', acknowledged: Number.POSITIVE_INFINITY };

/** @returns null where nothing is known. */
export function readLastRun(folder: string): LastRun | null {
  let bytes: Buffer;
  try {
    bytes = readFile(join(folder, RUN_FILE), NOT_FOLLOWING);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : DAMAGED;
  }
  if (isUnwritten(bytes)) return null;
  if (bytes.length !== END || bytes.toString('latin1', 0, STAGE_AT) !== TITLE) return DAMAGED;
  if (crc32(bytes.subarray(NUMBER_AT, END - 4)) !== bytes.readUInt32LE(END - 4)) return DAMAGED;
  const stage = STAGES[bytes[STAGE_AT] as number] ?? DAMAGED.stage;
  return { stage, acknowledged: bytes.readUIntLE(NUMBER_AT, NUMBER_BYTES) };
}

/**
 * As a crash leaves it before the first write, or a power loss before that is on disk: it is made, gets its length, then
 * all of its bytes, and lies in one sector ever after. So no crash cuts it, nor mixes two of its states.
 */
const isUnwritten = (bytes: Buffer): boolean =>
  bytes.length === 0 || (bytes.length === END && bytes.every((byte) => byte === 0));

/** The file of the present run, from the moment at which LevelDB has opened its files. Two system calls of some microseconds are all that a commit or a read pays for it. */
export class RunFile implements Watch {
  /** null where the file cannot be written: it only ever adds to what the database itself tells. And once it is closed. */
  #file: number | null;
  readonly #bytes = Buffer.alloc(END);
  #acknowledged: number;
  #reads = 0;
  #suspect = false;

  /** @param acknowledged The last write that is in the database. */
  constructor(folder: string, acknowledged: number) {
    this.#file = openOrNothing(join(folder, RUN_FILE));
    this.#acknowledged = acknowledged;
    this.#bytes.write(TITLE, 'latin1');
    this.#count();
    this.#bytes[STAGE_AT] = STAGES.indexOf('open');
    this.#write(0, END);
  }

  /** So many writes were acknowledged. */
  wrote(writes: number): void {
    this.#acknowledged += writes;
    this.#count();
    this.#write(NUMBER_AT, END);
  }

  /** LevelDB begins to read its files. */
  readBegins(): void {
    this.#reads += 1;
    if (this.#reads === 1) this.#stage('reading');
  }

  readEnds(): void {
    this.#reads -= 1;
    if (this.#reads === 0 && !this.#suspect) this.#stage('open');
  }

  /** The next opening looks at every table, however this run ends. */
  unreadable(): void {
    this.#suspect = true;
    this.#stage('reading');
  }

  /**
   * The end of the run: `closed` where LevelDB has closed its files. Reads of a handle that failed may come to an end
   * later, when the number of this file belongs to another one: to LevelDB's new log, for example.
   */
  end(closed: boolean): void {
    if (closed && !this.#suspect) this.#stage('closed');
    const file = this.#file;
    this.#file = null;
    if (file !== null) closeSync(file);
  }

  #count(): void {
    this.#bytes.writeUIntLE(this.#acknowledged, NUMBER_AT, NUMBER_BYTES);
    this.#bytes.writeUInt32LE(crc32(this.#bytes.subarray(NUMBER_AT, END - 4)), END - 4);
  }

  #stage(stage: Stage): void {
    this.#bytes[STAGE_AT] = STAGES.indexOf(stage);
    this.#write(STAGE_AT, STAGE_AT + 1);
  }

  #write(from: number, to: number): void {
    if (this.#file === null) return;
    try {
      writeSync(this.#file, this.#bytes, from, to - from, from);
    } catch {
      // What it says is older then, which is always true: nothing that is durable may fail for it.
    }
  }
}

function openOrNothing(path: string): number | null {
  try {
    const file = openFile(path, constants.O_RDWR | constants.O_CREAT | NOT_FOLLOWING);
    ftruncateSync(file, END);
    return file;
  } catch {
    return null;
  }
}
