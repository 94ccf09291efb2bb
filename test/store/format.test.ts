// Folders of earlier formats: what was stored by an old release reads the same for ever.
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { contentsOf } from './fixtures/contents.js';
import { temporaryFolder } from './world.js';

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url));
let scratch = '';
beforeEach(() => {
  scratch = temporaryFolder();
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

describe.each(['format-1'])('the fixture of %s', (name) => {
  const expected = JSON.parse(readFileSync(join(fixtures, name, 'expected.json'), 'utf8'));

  it('I14: reads as it was written, at the first opening and at the next', async () => {
    const path = join(scratch, 'db');
    cpSync(join(fixtures, name, 'db'), path, { recursive: true });
    for (let opening = 0; opening < 2; opening += 1) {
      const store = await openLevelStore({ path });
      expect(await contentsOf(store)).toEqual(expected);
      await store.close();
    }
  });
});
