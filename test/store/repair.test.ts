// The repair of a folder: on a copy, under the lock, through any crash, and never in place of what was there.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Commit } from '../../src/core/ports.js';
import { readFolder } from '../../src/store/folder-content.js';
import { lockFolder } from '../../src/store/guard.js';
import { verifyFolder } from '../../src/store/inspect.js';
import * as keys from '../../src/store/keys.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { encodeRecord } from '../../src/store/records.js';
import { repairFolder, UNTOLD } from '../../src/store/repair.js';
import { readLastRun } from '../../src/store/run-file.js';
import { swapIn } from '../../src/store/swap.js';
import { del, type Level as Handle, type Op, put, Tables } from '../../src/store/tables.js';
import { bundle } from './bundle.js';
import { appended, callOf, checkpointOf, commitAfter, inputOf, outcomeOf, textsOf, turnOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

let program = '';
let programFolder = '';
/** Removed after each test, with the folder of the database and the copies of it that a test makes beside it. */
let world = '';
let path = '';
beforeAll(async () => {
  ({ folder: programFolder, program } = await bundle('child.ts'));
});
afterAll(() => rmSync(programFolder, { recursive: true, force: true }));
beforeEach(() => {
  world = temporaryFolder();
  path = join(world, 'database');
});
afterEach(() => rmSync(world, { recursive: true, force: true }));

const openElsewhere = (): string => execFileSync(process.execPath, [program, 'open', path]).toString().trim();

async function filled(): Promise<void> {
  const store = await openLevelStore({ path });
  for (const id of ['a', 'b', 'c']) await store.commit(appended(undefined, id, [`of ${id}`, 'more']));
  await store.close();
}

const idle = (commit: Commit): Commit => ({ ...commit, head: { ...commit.head, inProgress: false } });

/** Changes records behind the back of the store, then damages CURRENT, so that a repair takes place. */
async function damaged(ops: readonly Op[]): Promise<void> {
  const level = new Level<string, Buffer>(path) as unknown as Handle;
  await level.open();
  const tables = new Tables(level);
  await tables.write(ops);
  await level.close();
  writeFileSync(join(path, 'CURRENT'), 'junk');
}

const bytesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(folder, name), 'base64')]),
  );

describe('a folder without damage', () => {
  it('is verified and repaired without changing a byte of it', async () => {
    await filled();
    const before = bytesIn(path);
    expect(await verifyFolder(path)).toMatchObject({ findings: [] });
    expect(await repairFolder(path)).toMatchObject({ findings: [], originals: null, sessions: [] });
    expect(bytesIn(path)).toEqual(before);
    expect(readdirSync(path).filter((name) => /guard|repair|damaged/.test(name))).toEqual([]);
  });

  it('that has no database, or is none, is not found', async () => {
    for (const folder of [path, join(path, 'none')]) {
      await expect(verifyFolder(folder)).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
      await expect(repairFolder(folder)).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    }
    expect(existsSync(join(path, 'none'))).toBe(false);
  });
});

describe('the lock of a folder', () => {
  it('keeps other processes out while it is held, and lets them in afterwards', async () => {
    await filled();
    const lock = await lockFolder(path, true);
    expect(openElsewhere()).toBe('TURN_STORE_LOCKED LEVEL_LOCKED');
    await lock.release();
    expect(existsSync(lock.scratch)).toBe(false);
    expect(openElsewhere()).toBe('opened');
  });

  it('leaves no folder behind where giving it back fails', async () => {
    await filled();
    const lock = await lockFolder(path, true);
    const close = vi.spyOn(Level.prototype, 'close').mockRejectedValueOnce(new Error('not now'));
    await expect(lock.release()).rejects.toThrow('not now');
    expect(existsSync(lock.scratch)).toBe(false);
    close.mockRestore();
    await lock.release();
    expect(openElsewhere()).toBe('opened');
  });

  it('is not to be had while a store has the folder open, so nothing is repaired under it', async () => {
    const store = await openLevelStore({ path });
    await expect(repairFolder(path)).rejects.toMatchObject({ code: 'TURN_STORE_LOCKED' });
    await store.commit(appended(undefined, 's', ['x']));
    await store.close();
  });
});

describe('a repair', () => {
  it('keeps all damaged files as they were, with a report, and every record', async () => {
    await filled();
    await damaged([]);
    const before = bytesIn(path);
    const { findings } = await verifyFolder(path);
    expect(findings).toEqual([{ file: 'CURRENT', what: 'names no manifest' }]);
    const report = await repairFolder(path);
    expect(report).toMatchObject({ findings, originals: join(path, 'damaged-1'), incomplete: false, sessions: [] });
    const { LOCK, ...originals } = before;
    expect(bytesIn(join(path, 'damaged-1'))).toMatchObject(originals);
    expect(JSON.parse(readFileSync(join(path, 'damaged-1', 'report.json'), 'utf8'))).toMatchObject({ findings });
    // A log that is cut before anybody has opened it is damage already.
    expect(readLastRun(path)).toEqual({ stage: 'closed', acknowledged: readFolder(path).lastSequence });
    const store = await openLevelStore({ path });
    expect(textsOf(await store.messages('b'))).toEqual(['of b', 'more']);
    await store.close();
  });

  it('that a crash cut off before its first move begins again, and a second repair keeps its files beside the first', async () => {
    await filled();
    await damaged([]);
    mkdirSync(join(path, 'repaired.tmp'));
    writeFileSync(join(path, 'repaired.tmp', '000003.log'), 'half done');
    expect(await repairFolder(path)).toMatchObject({ originals: join(path, 'damaged-1') });
    writeFileSync(join(path, 'CURRENT'), 'junk again');
    expect(await repairFolder(path)).toMatchObject({ originals: join(path, 'damaged-2') });
    expect(readFileSync(join(path, 'damaged-2', 'CURRENT'), 'utf8')).toBe('junk again');
    expect(() => swapIn(join(path, 'none'), {})).toThrow();
  });

  it('I2: makes markers agree with heads, and sets sessions without a readable head aside', async () => {
    const store = await openLevelStore({ path });
    const running = commitAfter(undefined, 'running');
    await store.commit({ ...running, checkpoint: checkpointOf(running.head) });
    await store.commit(commitAfter(undefined, 'done', { inProgress: false }));
    await store.commit(commitAfter(undefined, 'wrong turn'));
    for (const id of ['junk', 'lost']) {
      const commit = commitAfter(undefined, id, { waitingInput: 1 });
      await store.commit({ ...commit, inbox: { put: [inputOf(id, 0)], remove: [] } });
    }
    await store.close();
    const marker = (id: string, turnId: string) => {
      const key = keys.markerKey(id);
      return put(
        'marker',
        key,
        encodeRecord('marker', key, 1, { sessionId: id, agent: 'agent', turnId, savedAt: 1 }, ''),
      );
    };
    await damaged([
      del('marker', keys.markerKey('running')),
      marker('done', turnOf('done')),
      marker('wrong turn', 'another'),
      marker('nobody', 'of nobody'),
      put('head', keys.headKey('junk'), Buffer.from('junk')),
      del('head', keys.headKey('lost')),
    ]);
    const { sessions } = await repairFolder(path);
    expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(['junk', 'lost', 'nobody']);
    const again = await openLevelStore({ path });
    const markers = await again.markers('agent');
    expect(markers.map(({ sessionId, turnId }) => [sessionId, turnId]).sort()).toEqual([
      ['running', turnOf('running')],
      ['wrong turn', turnOf('wrong turn')],
    ]);
    expect(await again.waitingInput('agent')).toEqual([]);
    expect(await again.damagedSessions('agent')).toHaveLength(3);
    expect((await again.load('running'))?.checkpoint).toEqual(checkpointOf(running.head));
    await again.close();
  });

  it('I5: sets a checkpoint aside that is older than the one its head names', async () => {
    const store = await openLevelStore({ path });
    const first = commitAfter(undefined, 's', { checkpointAt: 1 });
    await store.commit({ ...first, checkpoint: checkpointOf(first.head) });
    const second = commitAfter(first.head, 's', { checkpointAt: 2 });
    await store.commit({ ...second, checkpoint: checkpointOf(second.head) });
    await store.close();
    const key = keys.turnKey('s');
    await damaged([put('turn', key, encodeRecord('turn', key, 1, checkpointOf(first.head), ''))]);
    const { sessions } = await repairFolder(path);
    expect(sessions).toMatchObject([{ sessionId: 's', reason: expect.stringContaining('newest checkpoint') }]);
    const again = await openLevelStore({ path });
    expect(await again.load('s')).toMatchObject({ checkpoint: null, head: { inProgress: true } });
    await again.close();
  });

  it('tells a session without a turn in progress that lost its newest head, and its newest records did not go with it', async () => {
    const store = await openLevelStore({ path });
    const old = idle(appended(undefined, 's', ['first']));
    await store.commit(old);
    await store.commit(appended(old.head, 's', ['second']));
    await store.close();
    const key = keys.headKey('s');
    await damaged([put('head', key, encodeRecord('head', key, 1, { head: old.head, commit: '' }, ''))]);
    const { sessions } = await repairFolder(path);
    expect(sessions).toMatchObject([{ sessionId: 's', reason: expect.stringContaining('newer than the head') }]);
  });

  it.each(['call', 'outcome', 'seen'] as const)(
    'names a session that went back to the end of an earlier turn, where a record of its last turn is left: %s',
    async (kind) => {
      const store = await openLevelStore({ path });
      const old = idle(appended(undefined, 's', ['first']));
      await store.commit(old);
      const [sessionId, turnId] = ['s', turnOf('s', 2)];
      const last = idle(commitAfter(old.head, 's', { turnId, dispatched: 1, settled: 1 }));
      await store.commit({
        ...last,
        calls: { put: [callOf(turnId, 0, { state: 'succeeded' })], remove: [] },
        outcomes: [outcomeOf(turnId)],
        seen: [{ messageId: 'm', turnId }] as never,
      });
      await store.close();
      const key = keys.headKey(sessionId);
      const left = {
        call: keys.callKey(callOf(turnId, 0).callId),
        outcome: keys.outcomeKey(turnId),
        seen: keys.seenKey('s', 'm'),
      };
      const others = (['call', 'outcome', 'seen'] as const).filter((other) => other !== kind);
      const gone = others.map((other) => del(other, left[other]));
      const goneBack = put('head', key, encodeRecord('head', key, 1, { head: old.head, commit: '' }, ''));
      await damaged([goneBack, ...gone]);
      const { sessions } = await repairFolder(path);
      expect(sessions).toMatchObject([{ sessionId, reason: expect.stringMatching(`${kind} .* newer than the head`) }]);
    },
  );

  it('says of what it cannot name that it may be: the end of the log was lost, with a whole commit of an idle session', async () => {
    const store = await openLevelStore({ path });
    const old = idle(appended(undefined, 's', ['first']));
    await store.commit(old);
    await store.commit(appended(old.head, 's', ['second']));
    await store.close();
    const log = join(path, readdirSync(path).find((name) => name.endsWith('.log')) as string);
    truncateSync(log, readFileSync(log).length - 5);
    const told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const again = await openLevelStore({ path });
    expect(told.mock.calls.map(([text]) => `${text}`)).toEqual([expect.stringContaining(`may be lost. ${UNTOLD}`)]);
    told.mockRestore();
    expect(textsOf(await again.messages('s'))).toEqual(['first']);
    expect(await again.damagedSessions('agent')).toEqual([]);
    await again.close();
    const { incomplete, sessions } = JSON.parse(readFileSync(join(path, 'damaged-1', 'report.json'), 'utf8'));
    expect({ incomplete, sessions }).toEqual({ incomplete: true, sessions: [] });
  });

  it('leaves a session that was being removed to its removal', async () => {
    const store = await openLevelStore({ path });
    await store.commit(appended(undefined, 'gone', ['x']));
    await store.commit(appended(undefined, 's', ['x']));
    await store.close();
    const key = keys.removalKey('gone');
    await damaged([
      put('garbage', key, encodeRecord('garbage', key, 0, {}, '')),
      del('head', keys.headKey('gone')),
      del('marker', keys.markerKey('gone')),
    ]);
    expect((await repairFolder(path)).sessions).toEqual([]);
  });
});
