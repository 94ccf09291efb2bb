/**
 * Owns reading what lies in a folder under the name of a file: only what is one. A pipe or a device under such a name
 * would hold up the whole process, for ever: opening it waits for somebody to write, reading it has no end.
 * Must not know what the file is for.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** With it the opening of a pipe waits for nobody; Windows has no pipes in folders, nor the flag. */
const NOT_WAITING = constants.O_NONBLOCK ?? 0;
/** For a file that is written: what a link leads to is somebody else's. Windows has no such flag. */
export const NOT_FOLLOWING = constants.O_NOFOLLOW ?? 0;

/**
 * @param flags As of `open`, beside the one that waits for nobody.
 * @returns Its number, for the caller to close.
 * @throws What the file system throws, and for what is no file.
 */
export function openFile(path: string, flags: number = constants.O_RDONLY): number {
  const file = openSync(path, flags | NOT_WAITING);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error('is no file');
}

/** @throws What the file system throws, and for what is no file. */
export function readFile(path: string, flags?: number): Buffer {
  const file = openFile(path, flags);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}
