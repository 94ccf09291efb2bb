// A repair whose exchange of files fails half way, in a process that lives on: nothing of it may be cleaned up then.
import fs, { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { repairFolder } from '../../src/store/repair.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

/** Removed after each test, with the folder of the database and the copies of it that a test makes beside it. */
let world = '';
let path = '';
const { renameSync, fsyncSync } = fs;
const restoreDisk = (): void => {
  Object.assign(fs, { renameSync, fsyncSync });
  syncBuiltinESMExports();
};
beforeEach(() => {
  world = temporaryFolder();
  path = join(world, 'database');
});
afterEach(() => {
  restoreDisk();
  rmSync(world, { recursive: true, force: true });
});

/** From its `nth` call on, this function of the file system fails; the result says whether it came to that. */
function failFrom(name: 'renameSync' | 'fsyncSync', nth: number): () => boolean {
  const works = { renameSync, fsyncSync }[name] as (...given: unknown[]) => unknown;
  let calls = 0;
  const fails = (...given: unknown[]): unknown => {
    calls += 1;
    if (calls >= nth) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    return works(...given);
  };
  Object.assign(fs, { [name]: fails });
  syncBuiltinESMExports();
  return () => calls >= nth;
}

describe('a repair whose exchange of files fails', () => {
  for (const name of ['renameSync', 'fsyncSync'] as const) {
    it(`at any ${name} loses nothing: the next opening goes on, or begins again`, async () => {
      const store = await openLevelStore({ path });
      for (const id of ['a', 'b']) await store.commit(appended(undefined, id, [`of ${id}`]));
      await store.close();
      writeFileSync(join(path, 'CURRENT'), 'junk');
      const damaged = `${path}-damaged`;
      cpSync(path, damaged, { recursive: true });
      const outcomes = new Set<string>();
      for (let nth = 1; ; nth += 1) {
        rmSync(path, { recursive: true, force: true });
        cpSync(damaged, path, { recursive: true });
        const failed = failFrom(name, nth);
        const error = await repairFolder(path).then(
          () => undefined,
          (thrown: unknown) => thrown as Error & { code: string },
        );
        restoreDisk();
        if (!failed()) break;
        expect(error?.code, `${name} ${nth}`).toBe('TURN_STORE_FAILED');
        const half = existsSync(join(path, 'repair.json'));
        outcomes.add(half ? 'half' : 'unchanged');
        expect(error?.message).toMatch(half ? /next opening goes on/ : /Nothing was changed/);
        if (!half) expect(readdirSync(path).filter((left) => /^damaged-|^repaired/.test(left))).toEqual([]);
        const again = await openLevelStore({ path });
        expect(textsOf(await again.messages('b')), `${name} ${nth}`).toEqual(['of b']);
        await again.close();
        expect(readdirSync(path).filter((left) => /^repair/.test(left))).toEqual([]);
      }
      expect([...outcomes].sort()).toEqual(['half', 'unchanged']);
    });
  }
});
