/**
 * Owns asking LevelDB for a database, and what its refusal means for whoever asked.
 * Must not know whose folder it is, nor whether it is damaged.
 */
import { Level } from 'level';
import { messageOf, TurnError } from '../core/errors.js';
import { lockedError } from './owner.js';
import { pieceByPiece } from './pieces.js';
import type { Level as OpenLevel } from './tables.js';

/**
 * Opens what is in a folder, whosever it is and whatever it is worth.
 * @param shown What the folder is called in errors, where it stands for another one.
 * @throws {TurnError} TURN_STORE_LOCKED, TURN_DAMAGED, TURN_STORE_FAILED
 */
export async function openDatabase(folder: string, createIfMissing: boolean, shown = folder): Promise<OpenLevel> {
  const level = levelIn(folder, createIfMissing);
  try {
    await level.open();
  } catch (error) {
    throw openingError(shown, error, folder);
  }
  return level;
}

/** Not open yet. Whoever opens it writes to it as a store does. */
export const levelIn = (folder: string, createIfMissing: boolean): OpenLevel =>
  pieceByPiece(new Level<string, Buffer>(folder, { createIfMissing, valueEncoding: 'buffer' }));

/** @param opened Where LevelDB looked: its words name files there. */
function openingError(folder: string, error: unknown, opened: string): TurnError {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  if (cause?.code === 'LEVEL_LOCKED') return lockedError(folder, 'another process has it open', error);
  const reason = messageOf(cause ?? error).replaceAll(opened, folder);
  const damaged = cause?.code === 'LEVEL_CORRUPTION' || /corruption|no such file|does not exist/i.test(reason);
  return new TurnError(
    damaged ? 'TURN_DAMAGED' : 'TURN_STORE_FAILED',
    `The database in ${folder} does not open: ${reason}. Nothing was changed. Check space and rights of the folder; ` +
      `\`npx durable-turn verify ${folder}\` tells what is damaged, \`npx durable-turn repair ${folder}\` repairs it on a copy.`,
    { cause: error },
  );
}
