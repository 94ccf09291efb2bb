// What lies under the name of a file and is none: a pipe that nobody writes to, a device without end, a link to nothing.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { bundle } from './bundle.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

let program = '';
let programFolder = '';
let world = '';
let original = '';
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('child.ts'));
  world = temporaryFolder();
  original = join(world, 'original');
  const first = await openLevelStore({ path: original });
  await first.commit(appended(undefined, 'in the table', ['x']));
  await first.close();
  const second = await openLevelStore({ path: original });
  await second.commit(appended(undefined, 'in the log', ['x']));
  await second.close();
});
afterAll(() => {
  for (const folder of [programFolder, world]) rmSync(folder, { recursive: true, force: true });
});

const MAKE = {
  'a pipe': (path: string) => void execFileSync('mkfifo', [path]),
  'a device without end': (path: string) => symlinkSync('/dev/zero', path),
  'a link to itself': (path: string) => symlinkSync(path, path),
};
const PLACES = ['CURRENT', 'LOG', 'durable-turn.run', 'repair.json', /^MANIFEST/, /\.log$/, /\.ldb$/, '999999.log'];

const nameOf = (folder: string, place: string | RegExp): string =>
  typeof place === 'string' ? place : (readdirSync(folder).find((name) => place.test(name)) as string);

describe.skipIf(process.platform === 'win32')('I12: in place of a file', () => {
  it.each(Object.entries(MAKE))('%s neither holds up the opening nor is opened by LevelDB', async (_, make) => {
    for (const place of PLACES) {
      const path = join(world, 'damaged');
      cpSync(original, path, { recursive: true });
      const name = nameOf(path, place);
      rmSync(join(path, name), { force: true });
      make(join(path, name));
      // Held up, a thread hears no time-out: only another process can end it.
      const options = { timeout: 60_000, killSignal: 'SIGKILL', stdio: 'pipe' } as const;
      const said = execFileSync(process.execPath, ['--no-warnings', program, 'open', path], options).toString().trim();
      expect(said, name).toBe('opened');
      const kept = join(path, 'damaged-1');
      const repaired = existsSync(kept);
      expect(repaired, name).toBe(!['LOG', 'repair.json'].includes(name));
      if (repaired) expect(lstatSync(join(kept, name)).isFile(), name).toBe(false);
      const store = await openLevelStore({ path });
      for (const [session, lostWith] of [
        ['in the table', '.ldb'],
        ['in the log', '.log'],
      ] as const) {
        const lost = typeof place !== 'string' && name.endsWith(lostWith);
        expect(textsOf(await store.messages(session)), `${name}: ${session}`).toEqual(lost ? [] : ['x']);
      }
      await store.close();
      rmSync(path, { recursive: true });
    }
  });
});
