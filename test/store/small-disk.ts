// A disk of a few megabytes that can be filled to its last byte: a tmpfs. Only root may mount one.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './world.js';

export class SmallDisk {
  readonly path = temporaryFolder();
  readonly #ballast = join(this.path, 'ballast');

  /** @throws Where this process may not mount. */
  constructor(megabytes: number) {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.path], { stdio: 'pipe' });
    } catch (error) {
      rmSync(this.path, { recursive: true, force: true });
      throw error;
    }
    mkdirSync(this.#ballast);
  }

  /** Takes what is free, but for so many bytes. Pages that a file has begun stay its own. */
  fill(leaving = 0): void {
    const file = openSync(join(this.#ballast, 'all'), 'a');
    const block = Buffer.alloc(4096);
    try {
      for (;;) if (writeSync(file, block) < block.length) throw new Error('the disk is full');
    } catch {
      closeSync(file);
    }
    if (leaving === 0) return;
    // A file gives back whole pages at its end.
    execFileSync('truncate', ['-s', `-${leaving}`, join(this.#ballast, 'all')]);
  }

  free(): void {
    rmSync(this.#ballast, { recursive: true });
    mkdirSync(this.#ballast);
  }

  remove(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Why there can be none here; null where there can. */
export function whyNoSmallDisk(): string | null {
  try {
    new SmallDisk(1).remove();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
