// Traps of LevelDB about keys, each with what it does to a plain adapter, then what the store does. What every key of the
// store has to be is in ../keys.test.ts.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../../src/store/level-store.js';
import { appended, textsOf } from '../fixtures.js';
import { NaiveStore } from '../naive/naive-store.js';
import { temporaryFolder } from '../world.js';

let scratch = '';
let naive: NaiveStore;
let path = '';
beforeEach(() => {
  scratch = temporaryFolder();
  path = join(scratch, 'database');
  naive = new NaiveStore(join(scratch, 'plain'));
});
afterEach(async () => {
  await naive.close();
  rmSync(scratch, { recursive: true, force: true });
});

const numbered = (count: number): string[] => Array.from({ length: count }, (_, nth) => `${nth}`);

/** What the store reads of sessions that were stored with these lists. */
async function stored(lists: Readonly<Record<string, readonly string[]>>): Promise<Record<string, string[]>> {
  const store = await openLevelStore({ path });
  for (const [id, texts] of Object.entries(lists)) await store.commit(appended(undefined, id, texts));
  const found: Record<string, string[]> = {};
  for (const id of Object.keys(lists)) found[id] = textsOf(await store.messages(id));
  await store.close();
  return found;
}

describe('keys are bytes in order', () => {
  it('a session whose id begins like another one and goes on with the separator is read into it; in the store it is not', async () => {
    await naive.append('a', ['of a']);
    await naive.append('a/1', ['of another']);
    expect(await naive.messages('a')).toEqual(['of a', 'of another']);
    const lists = { a: ['of a'], 'a/1': ['of another'], 'a!1': ['of a third'], 'a%2F1': ['of a fourth'] };
    expect(await stored(lists)).toEqual(lists);
  });

  it('bare numbers put the eleventh message before the third; the store keeps the order', async () => {
    await naive.append('s', numbered(12));
    expect(await naive.messages('s')).toEqual(['0', '1', '10', '11', ...numbered(10).slice(2)]);
    expect(await stored({ s: numbered(120) })).toEqual({ s: numbered(120) });
  });

  it('ids with lone surrogates become the same bytes, and one session the other; the store refuses them', async () => {
    await naive.append('s\ud800', ['of the first']);
    await naive.append('s\udfff', ['of the second']);
    expect(await naive.messages('s\ud800')).toEqual(['of the first', 'of the second']);
    const store = await openLevelStore({ path });
    const commit = appended(undefined, 's', ['x']);
    for (const sessionId of ['s\ud800', 's\udfff']) {
      await expect(store.commit({ ...commit, head: { ...commit.head, sessionId } })).rejects.toThrow(TypeError);
      await expect(store.messages(sessionId)).rejects.toThrow(TypeError);
    }
    await store.close();
  });
});

describe('a sublevel is a prefix', () => {
  it('what is written to the root can appear inside of it; the store writes nothing there, and no id reaches into a kind', async () => {
    await naive.append('s', ['mine']);
    await naive.level.put('!message!s/5', 'nobody wrote this to the list');
    expect(await naive.messages('s')).toHaveLength(2);

    const lists = { '!head!s': ['x'], '!message!s': ['y'], s: ['mine'] };
    expect(await stored(lists)).toEqual(lists);
    const level = new Level<string, unknown>(path);
    const kinds = (await level.keys().all()).map((key) => /^![a-z]+!/.exec(key)?.[0]);
    await level.close();
    expect([...new Set(kinds)].sort()).toEqual(['!head!', '!marker!', '!message!', '!meta!']);
  });
});
