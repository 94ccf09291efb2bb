/**
 * Owns making a folder with those above it. Must not know what for.
 *
 * Node's own way, `recursive`, never comes back from a place in which nothing can be made, as `/proc` is.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * @returns The folders that were made, the outermost first; none where it was there.
 * @throws What the file system throws.
 */
export async function makeFolder(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isDirectory() === true) return [];
  const parent = dirname(path);
  const above = found === undefined && parent !== path ? await makeFolder(parent) : [];
  try {
    await mkdir(path);
  } catch (error) {
    // Somebody else was quicker.
    const made = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory();
    if (made) return above;
    throw error;
  }
  return [...above, path];
}
