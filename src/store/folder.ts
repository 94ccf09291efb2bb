/**
 * Owns the opening of a LevelDB database: that it is never wiped by it, that LevelDB gets no damaged file to see, and
 * that a refusal says what to do. Must not know what is stored in it, nor whose folder it is.
 */
import { realpath } from 'node:fs/promises';
import { messageOf, TurnError } from '../core/errors.js';
import type { Backing } from './database.js';
import { findRecord } from './find-record.js';
import { FORMAT_PLACE, refuseForeign, refuseNewer } from './format.js';
import { diedAtWork, inspect, kindOfFolder, readWhole } from './inspect.js';
import { makeFolder } from './make-folder.js';
import { openDatabase } from './opening.js';
import { forgetOpenings, openedAlone, reserve } from './owner.js';
import { type RepairReport, repairAlone, UNTOLD } from './repair.js';
import { RunFile, readLastRun } from './run-file.js';
import { Salvage } from './salvage-files.js';
import { isSwapPending } from './swap.js';
import type { Level as OpenLevel } from './tables.js';

/**
 * Reserves a folder, by its real path, for this process.
 * @throws {TurnError} TURN_STORE_LOCKED
 */
export function reserveFolder(folder: string): Backing {
  return new FolderBacking(folder, reserve(folder));
}

/**
 * The real path of a folder, made where it is missing.
 * @throws {TurnError} TURN_STORE_FAILED
 */
export async function resolveFolder(path: string): Promise<string> {
  try {
    await makeFolder(path);
    return await realpath(path);
  } catch (error) {
    throw new TurnError('TURN_STORE_FAILED', `The folder ${path} cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

class FolderBacking implements Backing {
  readonly #folder: string;
  readonly #giveBack: () => void;
  #run: RunFile | undefined;
  #openedBefore = false;

  constructor(folder: string, giveBack: () => void) {
    this.#folder = folder;
    this.#giveBack = giveBack;
  }

  get watch(): RunFile | undefined {
    return this.#run;
  }

  async open(): Promise<OpenLevel> {
    // A handle that failed: how that run ended is for this opening to find out.
    this.#run?.end(false);
    this.#run = undefined;
    const level = await openedAlone(this.#folder, () => this.#openAlone());
    this.#openedBefore = true;
    return level;
  }

  release(): void {
    this.#run?.end(true);
    this.#giveBack();
  }

  async #openAlone(): Promise<OpenLevel> {
    const folder = this.#folder;
    const createIfMissing = this.#mayCreate();
    const lastSequence = createIfMissing ? 0 : await intactSequence(folder);
    const level = await openDatabase(folder, createIfMissing);
    // Only its owner writes there.
    this.#run = new RunFile(folder, lastSequence);
    forgetOpenings(folder);
    return level;
  }

  /** LevelDB takes a folder without CURRENT for a new one and deletes what is in it. */
  #mayCreate(): boolean {
    if (isSwapPending(this.#folder)) return false;
    const kind = kindOfFolder(this.#folder);
    if (kind === 'new' && !this.#openedBefore) return true;
    if (kind === 'database') return false;
    throw new TurnError(
      'TURN_DAMAGED',
      `The folder ${this.#folder} held a database, and none of its files is left. Nothing was changed: restore a ` +
        'backup into it, or choose another folder.',
    );
  }
}

/**
 * The number of the last write, once nothing is damaged: LevelDB verifies no checksum, drops a part of a damaged log
 * without a word, and can abort the process over a damaged table.
 */
async function intactSequence(folder: string): Promise<number> {
  if (!isSwapPending(folder)) {
    const { findings, content } = await inspect(readWhole(folder), diedAtWork(folder) ? 'everything' : 'start');
    if (findings.length === 0) {
      refuseNewer(findRecord(content, FORMAT_PLACE));
      // A folder that a store has had open needs no look at its entries.
      if (readLastRun(folder) === null) refuseForeign(new Salvage(content).entries());
      return content.lastSequence;
    }
  }
  tellRepair(await repairAlone(folder));
  return readWhole(folder).lastSequence;
}

function tellRepair({ folder, findings, originals, incomplete, sessions }: RepairReport): void {
  if (originals === null) return;
  const what = findings.map(({ file, what }) => `${file} ${what}`).join('; ');
  process.emitWarning(
    `The database in ${folder} was damaged (${what}) and has been repaired on a copy. The damaged files are in ` +
      `${originals}, with a report. ${incomplete ? `A part of what was stored may be lost. ${UNTOLD} ` : 'Nothing is lost. '}` +
      `${sessions.length} sessions are damaged; recover() tells them.`,
    'DurableTurnWarning',
  );
}
