// The exchange of files at the end of a repair, cut off at any move: with its plan it is finished, and where the plan is
// damaged what lies there decides. Nothing is lost in any state, and nothing is moved on a guess.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { repairFolder } from '../../src/store/repair.js';
import { appended, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

let world = '';
/** A damaged database, and the same repaired, with a session more by which it is known. */
let original = '';
let repaired = '';
let path = '';
let originals: readonly string[] = [];
let products: readonly string[] = [];

async function store(folder: string, ids: readonly string[]): Promise<void> {
  const opened = await openLevelStore({ path: folder });
  for (const id of ids) await opened.commit(appended(undefined, id, [`of ${id}`, 'more']));
  await opened.close();
}

beforeAll(async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  world = temporaryFolder();
  [original, repaired] = [join(world, 'original'), join(world, 'repaired')];
  // Each opening makes a table of the log before.
  await store(original, ['a']);
  await store(original, ['b', 'c']);
  cpSync(original, repaired, { recursive: true });
  await store(repaired, ['d']);
  writeFileSync(join(original, 'CURRENT'), 'junk');
  const names = readdirSync(original).filter((name) => name !== 'LOCK');
  originals = [...names.filter((name) => !name.endsWith('.run')), 'durable-turn.run'];
  products = readdirSync(repaired).filter((name) => !/^LO(CK|G)/.test(name));
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(world, { recursive: true, force: true });
});
beforeEach(() => {
  path = join(world, 'database');
});

const plan = (): string => {
  const sum = crc32(JSON.stringify(['damaged-1', originals]));
  return JSON.stringify({ kept: 'damaged-1', originals, sum });
};

/** As a process leaves it that died after so many moves. */
function halfDone(moves: number, planned: string): void {
  rmSync(path, { recursive: true, force: true });
  cpSync(original, path, { recursive: true });
  cpSync(repaired, join(path, 'repaired.tmp'), { recursive: true });
  mkdirSync(join(path, 'damaged-1'));
  writeFileSync(join(path, 'damaged-1', 'report.json'), '{}');
  writeFileSync(join(path, 'repair.json'), planned);
  const move = (name: string, from: string, to: string) => renameSync(join(path, from, name), join(path, to, name));
  for (const name of originals.slice(0, moves)) move(name, '.', 'damaged-1');
  for (const name of products.slice(0, Math.max(0, moves - originals.length))) move(name, 'repaired.tmp', '.');
}

/** Every file, those in folders of the folder too. */
const bytesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => [
        join(parentPath, name).slice(folder.length),
        readFileSync(join(parentPath, name), 'base64'),
      ]),
  );

async function sessionsIn(folder: string): Promise<string[]> {
  const opened = await openLevelStore({ path: folder });
  const found: string[] = [];
  for await (const { sessionId } of opened.sessions('agent')) {
    expect(textsOf(await opened.messages(sessionId))).toEqual([`of ${sessionId}`, 'more']);
    found.push(sessionId);
  }
  await opened.close();
  return found;
}

/** The exchange is over: the repaired database is there, all originals are kept, and nothing of it is left. */
async function expectFinished(label: string): Promise<void> {
  expect(await sessionsIn(path), label).toEqual(['a', 'b', 'c', 'd']);
  expect(
    readdirSync(path).filter((name) => /^repair/.test(name)),
    label,
  ).toEqual([]);
  const { '/LOCK': _, ...all } = bytesIn(original);
  expect(bytesIn(join(path, 'damaged-1')), label).toEqual({ ...all, '/report.json': expect.any(String) });
}

const BAD_PLANS = {
  'is empty': '',
  'is cut': '{"kept":"damaged-1",',
  'names a folder elsewhere': '{"kept":"../elsewhere","originals":[],"sum":0}',
  'names a file elsewhere': '{"kept":"damaged-1","originals":["../CURRENT"],"sum":0}',
  'names no files': '{"kept":"damaged-1"}',
  'is nothing': 'null',
};

describe('an exchange that a crash cut off', () => {
  const eachMove = async (planned: () => string): Promise<void> => {
    for (let moves = 0; moves <= originals.length + products.length; moves += 1) {
      halfDone(moves, planned());
      await expectFinished(`after ${moves} moves`);
    }
  };

  it('at any move of a file is finished by the next opening', () => eachMove(plan));

  it('is finished as well where its plan is damaged, and all that lies there is whole', () => eachMove(() => 'junk'));

  it.each(Object.entries(BAD_PLANS))('moves nothing out of the folder where its plan %s', async (_, text) => {
    halfDone(2, text);
    await expectFinished(text);
    expect(existsSync(join(world, 'elsewhere'))).toBe(false);
  });

  it('does not believe a plan in which one bit is another', async () => {
    const whole = plan();
    const at = whole.indexOf('000');
    halfDone(0, `${whole.slice(0, at)}001${whole.slice(at + 3)}`);
    await expectFinished('another name');
  });
});

describe('an exchange of which the plan is damaged and the repaired database as well', () => {
  /** Its last commits are gone, and LevelDB would see nothing wrong. */
  const spoil = (): void => {
    const log = products.find((name) => name.endsWith('.log')) as string;
    const inPlace = !existsSync(join(path, 'repaired.tmp', log));
    writeFileSync(inPlace ? join(path, log) : join(path, 'repaired.tmp', log), '');
  };

  it('begins again where nothing has moved: with a repaired database that is damaged, or without one', async () => {
    for (const lose of [spoil, () => rmSync(join(path, 'repaired.tmp'), { recursive: true })]) {
      halfDone(0, 'junk');
      lose();
      expect(await sessionsIn(path)).toEqual(['a', 'b', 'c']);
      expect(readFileSync(join(path, 'damaged-2', 'CURRENT'), 'utf8')).toBe('junk');
      expect(readdirSync(path).filter((name) => /^repair/.test(name))).toEqual([]);
    }
  });

  it('is refused where some have moved, with nothing changed; what the error says to do brings every record back', async () => {
    for (let moves = 1; moves < originals.length + products.length; moves += 1) {
      halfDone(moves, 'junk');
      spoil();
      const before = bytesIn(path);
      for (const enter of [() => openLevelStore({ path }), () => repairFolder(path)]) {
        await expect(enter()).rejects.toMatchObject({
          code: 'TURN_DAMAGED',
          message: expect.stringMatching(
            /half repaired.*Nothing was changed.*what is in damaged-1: opened, that is repaired/,
          ),
        });
      }
      expect(bytesIn(path), `after ${moves} moves`).toEqual(before);
      const saved = join(world, 'saved');
      rmSync(saved, { recursive: true, force: true });
      mkdirSync(saved);
      for (const folder of [path, join(path, 'damaged-1')]) {
        const names = readdirSync(folder).filter((name) => originals.includes(name) || products.includes(name));
        for (const name of names) cpSync(join(folder, name), join(saved, name));
      }
      expect(await sessionsIn(saved), `after ${moves} moves`).toEqual(expect.arrayContaining(['a', 'b', 'c']));
    }
  });
});

describe('a file that is no plan', () => {
  it('beside a whole database is taken away, and nothing else is done', async () => {
    rmSync(path, { recursive: true, force: true });
    for (const earlier of [false, true]) {
      rmSync(path, { recursive: true, force: true });
      cpSync(original, path, { recursive: true });
      // Repaired once, or never damaged.
      if (earlier) await store(path, []);
      else rmSync(path, { recursive: true });
      await store(path, ['x']);
      writeFileSync(join(path, 'repair.json'), 'junk');
      const kept = readdirSync(path).filter((name) => name.startsWith('damaged'));
      expect(await sessionsIn(path)).toContain('x');
      expect(readdirSync(path).filter((name) => /^(repair|damaged)/.test(name))).toEqual(kept);
    }
  });
});
