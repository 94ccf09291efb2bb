/**
 * Owns putting a repaired database in the place of the damaged one, whose files are all kept beside it.
 * Must not know how it was repaired. A crash anywhere is made up for by the next look at the folder: the plan is on
 * disk before the first file moves, and every move that was made is recognised.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { TurnError } from '../core/errors.js';
import { isLevelFile } from './folder-content.js';
import { readFile } from './leveldb/regular-file.js';
import { RUN_FILE } from './run-file.js';
import { progressOf } from './unreadable-plan.js';

/** The repaired database while it is made, and until its files are in place. */
export const REPAIRED = 'repaired.tmp';
const PLAN = 'repair.json';
/** Folders in the folder with the originals of a repair. */
export const KEPT = /^damaged-(\d+)$/;

interface Plan {
  /** The folder in the folder that gets the originals. */
  readonly kept: string;
  /** The file of the last run comes last: see `unreadable-plan.ts`. */
  readonly originals: readonly string[];
}

/** Over all of it: another name in it would be another file that moves. */
const sumOf = ({ kept, originals }: Plan): number => crc32(JSON.stringify([kept, originals]));

/** LevelDB's own reports go with the files they are about; its LOCK stays, it is held. */
const isOriginal = (name: string): boolean => isLevelFile(name) || /^LOG(\.old)?$/.test(name) || name === RUN_FILE;
/** What a plan may name: no path leads out of the folder. */
const isOwnName = (name: string): boolean => basename(name) === name && isOriginal(name);
const isProduct = (name: string): boolean => name !== 'LOCK' && !/^LOG(\.old)?$/.test(name);

/** Only under the lock of the folder. @returns Where the originals are. */
export function swapIn(folder: string, report: object): string {
  const plan: Plan = { kept: keptFolder(newestKept(folder) + 1), originals: originalsIn(folder) };
  const kept = join(folder, plan.kept);
  mkdirSync(kept);
  try {
    writeFileSync(join(kept, 'report.json'), `${JSON.stringify(report, null, 2)}\n`, { flush: true });
    syncFolder(join(folder, REPAIRED));
    writeDurably(folder, PLAN, JSON.stringify({ ...plan, sum: sumOf(plan) }));
  } catch (error) {
    if (!isSwapPending(folder)) rmSync(kept, { recursive: true, force: true });
    throw error;
  }
  carryOut(folder, plan);
  return kept;
}

/** Whether a crash left a swap half done: nothing else may look at the folder before it is finished. */
export const isSwapPending = (folder: string): boolean => existsSync(join(folder, PLAN));

/**
 * Only under the lock of the folder.
 * @throws {TurnError} TURN_DAMAGED where its plan cannot be read and nothing tells how far it came, and what the file
 * system throws.
 */
export async function finishSwap(folder: string): Promise<void> {
  if (!isSwapPending(folder)) return;
  const plan = readPlan(folder) ?? (await planByFiles(folder));
  if (plan !== null) return carryOut(folder, plan);
  rmSync(join(folder, REPAIRED), { recursive: true, force: true });
  rmSync(join(folder, PLAN));
}

/** Stored bytes like any others: what is no plan of ours moves no file. */
function readPlan(folder: string): Plan | null {
  try {
    const { sum, ...plan } = JSON.parse(readFile(join(folder, PLAN)).toString()) as Plan & { sum?: unknown };
    return KEPT.test(plan.kept) && plan.originals.every(isOwnName) && sum === sumOf(plan) ? plan : null;
  } catch {
    return null;
  }
}

/** What the plan has to be, by what lies there; null where nothing has moved yet. */
async function planByFiles(folder: string): Promise<Plan | null> {
  const nth = newestKept(folder);
  const kept = keptFolder(nth);
  switch (await progressOf(folder, join(folder, REPAIRED), nth === 0 ? null : join(folder, kept))) {
    case 'repaired':
      return { kept, originals: originalsIn(folder) };
    case 'originals':
      return null;
    case 'placing':
      return { kept, originals: [] };
    case 'unknown':
      throw new TurnError(
        'TURN_DAMAGED',
        `The database in ${folder} is half repaired, ${PLAN} says no more how far, and what lies there is no whole ` +
          'database. Nothing was changed. Restore a backup into another folder; or copy into a new one what is in this ' +
          `folder and then, over it, what is in ${kept}: opened, that is repaired once more.`,
      );
  }
}

const keptFolder = (nth: number): string => `damaged-${nth}`;
const newestKept = (folder: string): number =>
  Math.max(0, ...readdirSync(folder).map((name) => Number(KEPT.exec(name)?.[1] ?? 0)));
const originalsIn = (folder: string): readonly string[] => {
  const names = readdirSync(folder).filter(isOriginal);
  return [...names.filter((name) => name !== RUN_FILE), ...names.filter((name) => name === RUN_FILE)];
};

/** A link to nothing moves like any other file: left where it is, LevelDB would follow it. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function carryOut(folder: string, { kept, originals }: Plan): void {
  for (const name of originals) {
    const target = join(folder, kept, name);
    // What is there under the name then is a file of the repaired database.
    if (!isThere(target) && isThere(join(folder, name))) renameSync(join(folder, name), target);
  }
  // An original is in its new place for certain before a file of the same name takes the old one.
  syncFolder(join(folder, kept));
  syncFolder(folder);
  const repaired = join(folder, REPAIRED);
  for (const name of existsSync(repaired) ? readdirSync(repaired).filter(isProduct) : []) {
    renameSync(join(repaired, name), join(folder, name));
  }
  syncFolder(folder);
  rmSync(repaired, { recursive: true, force: true });
  // Not synced: carried out again it changes nothing, and LevelDB syncs the folder when it opens what is in it.
  rmSync(join(folder, PLAN));
}

function writeDurably(folder: string, name: string, text: string): void {
  const draft = join(folder, `${name}.tmp`);
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, join(folder, name));
  syncFolder(folder);
}

/** Makes renames durable; Windows cannot sync folders and does not need to. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
