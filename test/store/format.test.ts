// Folders of earlier formats: what was stored by an old release reads the same for ever.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { contentsOf } from './fixtures/contents.js';
import { copyOfFixture, expectedOf } from './fixtures/folders.js';
import { temporaryFolder } from './world.js';

let scratch = '';
beforeEach(() => {
  scratch = temporaryFolder();
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

describe.each(['format-1'])('the fixture of %s', (name) => {
  it('I14: reads as it was written, at the first opening and at the next', async () => {
    const path = join(scratch, 'db');
    copyOfFixture(path, name);
    for (let opening = 0; opening < 2; opening += 1) {
      const store = await openLevelStore({ path });
      expect(await contentsOf(store)).toEqual(expectedOf(name));
      await store.close();
    }
  });
});
