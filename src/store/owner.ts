/**
 * Owns whose folder it is: one store in one thread of one process.
 * Must not know what is in the folder, LevelDB's file LOCK excepted.
 */
import {
  type BigIntStats,
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { TurnError } from '../core/errors.js';
import { readFile } from './leveldb/regular-file.js';

/** Shared by all copies of this module in the thread. LevelDB would open `/d` and `/d/./` twice. */
const OPEN_FOLDERS = Symbol.for('durable-turn.openFolders');

function openFolders(): Set<string> {
  const scope = globalThis as { [OPEN_FOLDERS]?: Set<string> };
  scope[OPEN_FOLDERS] ??= new Set();
  return scope[OPEN_FOLDERS];
}

/**
 * Reserves a folder, under its real path, for one store; the result gives it back.
 * @throws {TurnError} TURN_STORE_LOCKED
 */
export function reserve(folder: string): () => void {
  if (openFolders().has(folder)) throw lockedError(folder, 'this process has it open');
  openFolders().add(folder);
  return () => void openFolders().delete(folder);
}

/**
 * Runs an opening of LevelDB that no other thread of this process tries at the same time. LevelDB refuses a second
 * opening in one process too, but while refusing it closes the lock file, and that gives back the lock of the whole
 * process: another process could then open the database as well. So it must not even be tried.
 * @throws {TurnError} TURN_STORE_LOCKED, and whatever `open` throws.
 */
export async function openedAlone<T>(folder: string, open: () => Promise<T>): Promise<T> {
  const file = takeTurn(folder);
  const touching = setInterval(() => touch(file), TOUCHED_EVERY_MS).unref();
  try {
    if (lockIsOurs(folder)) throw lockedError(folder, 'another thread of this process has it open');
    return await open();
  } finally {
    clearInterval(touching);
    rmSync(file, { force: true });
  }
}

/** An opening repairs and verifies where it has to, and nothing bounds how long that takes. */
const TOUCHED_EVERY_MS = 20_000;
/** Where the system does not tell which threads live: untouched for as long, its thread was ended in the middle of it. */
const OPENING_ENDED_MS = 60_000;

function touch(file: string): void {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // Somebody took the file away. The opening goes on, and ends as it would have.
  }
}

const OPENING = 'opening-';
const ownOpening = (): string => `${OPENING}${process.pid}-${startOf(process.pid)}`;

/** Threads share nothing but the file system: whoever makes the file may try. Its name is this process's own. */
function takeTurn(folder: string): string {
  const file = join(folder, ownOpening());
  while (!makeAlone(file)) {
    // What is judged is what may be taken: by then the file can be another one.
    const seen = identityOf(file);
    if (seen === '') continue;
    if (isBeingOpened(file) || !takeOver(file, seen)) {
      throw lockedError(folder, 'another thread of this process opens it');
    }
    break;
  }
  nameThread(file);
  return file;
}

/** Whether the file was not there, and is now: of all threads that try, for one. */
function makeAlone(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * Of threads that find the same opening ended, one takes its place: by a claim on that very file, which then becomes the
 * file. Whoever comes later finds another file there. A thread that ends between the two leaves its claim, and the folder
 * refused until the process ends: never open twice.
 */
function takeOver(file: string, seen: string): boolean {
  const claim = `${file}.${seen}`;
  if (!makeAlone(claim)) return false;
  if (identityOf(file) === seen) {
    renameSync(claim, file);
    return true;
  }
  rmSync(claim, { force: true });
  return false;
}

/**
 * Nobody touches it any more, so that it stays the same; empty where there is none. Of a link, the link: one to nothing
 * is there and could be looked for without end.
 */
function identityOf(file: string): string {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino}.${stat.ctimeNs}`;
}

/** On a full disk the file stays empty. */
function nameThread(file: string): void {
  try {
    writeFileSync(file, ownThread());
  } catch {
    // Its age counts then.
  }
}

/**
 * A thread that is busy touches nothing: where the file names its thread, only that one's end counts. Where nothing names
 * threads, one that was busy for a minute in the middle of an opening cannot be told from one that ended.
 */
function isBeingOpened(file: string): boolean {
  try {
    const [thread, start] = readFile(file).toString().split('-');
    if (thread && start) return startOf(thread) === start;
    return Date.now() - statSync(file).mtimeMs < OPENING_ENDED_MS;
  } catch {
    // Gone meanwhile: that opening has ended.
    return false;
  }
}

/** The thread with its start, since numbers of threads come again; empty where nothing tells. */
function ownThread(): string {
  try {
    // Node reads it in the thread that asks.
    const thread = basename(readlinkSync('/proc/thread-self'));
    const start = startOf(thread);
    return start === '' ? '' : `${thread}-${start}`;
  } catch {
    return '';
  }
}

/** Whether a process ended in the middle of an opening: what it left names a process that is no more. */
export function diedOpening(folder: string): boolean {
  return leftOpenings(folder).length > 0;
}

/** Once the folder was opened, nobody needs to know any more. */
export function forgetOpenings(folder: string): void {
  for (const name of leftOpenings(folder)) rmSync(join(folder, name), { force: true });
}

const leftOpenings = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith(OPENING) && !isOwn(name) && !isAlive(name));

/** A claim on it is as well. */
const isOwn = (name: string): boolean => name.split('.', 1)[0] === ownOpening();

/** In a container a service has the same pid in each of its lives: only the start tells one from the next. */
function isAlive(name: string): boolean {
  const [pid, start] = name.slice(OPENING.length).split(/[-.]/);
  const found = startOf(Number(pid));
  if (found !== '') return found === start;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * With its number it names a process or thread across restarts, where numbers come again; empty where nothing tells. One
 * that has ended and waits for its parent to hear of it has no start: it opens nothing.
 */
function startOf(pid: number | string): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the start is the 20th field behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

/**
 * Whether this process holds the lock, in any of its threads. Windows has no such list of open files, and no such flaw
 * in its locks.
 */
export function lockIsOurs(folder: string): boolean {
  try {
    // Looked up by name: opening it here, to close it again, would do what this prevents.
    const lock = statSync(join(folder, 'LOCK'), { bigint: true });
    return readdirSync('/dev/fd').some((fd) => isLockedFile(fd, lock));
  } catch {
    return false;
  }
}

function isLockedFile(fd: string, lock: BigIntStats): boolean {
  try {
    const file = fstatSync(Number(fd), { bigint: true });
    if (file.ino !== lock.ino || file.dev !== lock.dev) return false;
    // On Linux a child inherits the open files of LevelDB, but not the lock on them.
    return process.platform !== 'linux' || readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').includes('lock:');
  } catch {
    return false;
  }
}

export function lockedError(folder: string, who: string, cause?: unknown): TurnError {
  return new TurnError(
    'TURN_STORE_LOCKED',
    `The folder ${folder} is in use: ${who}. A database belongs to one store in one process: close that one first, ` +
      'share the store object, or choose another folder.',
    cause === undefined ? undefined : { cause },
  );
}
