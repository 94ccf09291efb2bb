// The file that says how the last run went: exact after a kill, never newer than the database. Where it is missing nothing
// is claimed; where it is damaged, the end of the log may be damaged as well.
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readFolder } from '../../src/store/folder-content.js';
import { diedAtWork, verifyFolder } from '../../src/store/inspect.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { RUN_FILE, RunFile, readLastRun } from '../../src/store/run-file.js';
import { appended, rewritten, textsOf } from './fixtures.js';
import { temporaryFolder } from './world.js';

let path = '';
beforeEach(() => {
  path = temporaryFolder();
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const file = () => join(path, RUN_FILE);

describe('the file of a run', () => {
  it('says what was acknowledged and what LevelDB is doing, at any moment', () => {
    const run = new RunFile(path, 7);
    expect(readLastRun(path)).toEqual({ stage: 'open', acknowledged: 7 });
    run.wrote(3);
    expect(readLastRun(path)).toEqual({ stage: 'open', acknowledged: 10 });
    run.readBegins();
    run.readBegins();
    run.readEnds();
    expect(readLastRun(path)?.stage).toBe('reading');
    run.readEnds();
    expect(readLastRun(path)?.stage).toBe('open');
    run.end(true);
    expect(readLastRun(path)).toEqual({ stage: 'closed', acknowledged: 10 });
  });

  it('remembers to the end that LevelDB met something that it cannot read', () => {
    const run = new RunFile(path, 7);
    run.readBegins();
    run.unreadable();
    run.readEnds();
    run.end(true);
    expect(diedAtWork(path)).toBe(true);
  });

  it('is not written to once it has ended, when its number may belong to another file', () => {
    for (const closed of [true, false]) {
      const run = new RunFile(path, 7);
      run.readBegins();
      run.end(closed);
      const log = join(path, '000005.log');
      writeFileSync(log, 'x'.repeat(100));
      // The system gives the lowest number that is free: that of the run, or those of both.
      const others = [openSync(log, 'r+'), openSync(log, 'r+')];
      run.readEnds();
      run.readBegins();
      run.unreadable();
      run.wrote(3);
      run.end(true);
      expect(readFileSync(log, 'latin1')).toBe('x'.repeat(100));
      for (const other of others) closeSync(other);
    }
  });

  it('claims nothing where it is missing, or as a crash leaves it that came before its first write', () => {
    expect(readLastRun(path)).toBeNull();
    new RunFile(path, 123_456).end(true);
    const { length } = readFileSync(file());
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(length)]) {
      writeFileSync(file(), bytes);
      expect(readLastRun(path)).toBeNull();
    }
  });

  it('may have said anything where it is cut, longer, zeros of another length, or has another bit anywhere but in the stage', () => {
    new RunFile(path, 123_456).end(true);
    const intact = readFileSync(file());
    const damaged = { stage: 'reading', acknowledged: Number.POSITIVE_INFINITY };
    // Behind the title, which ends its line.
    const stageAt = (intact.indexOf('\n') + 1) * 8;
    for (let bit = 0; bit < intact.length * 8; bit += 1) {
      const bytes = Buffer.from(intact);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(file(), bytes);
      if (bit >= stageAt && bit < stageAt + 64) expect(readLastRun(path)?.acknowledged, `bit ${bit}`).toBe(123_456);
      else expect(readLastRun(path), `bit ${bit}`).toEqual(damaged);
      // A stage that is none: all tables are looked at.
      if (bit === stageAt + 7) expect(diedAtWork(path)).toBe(true);
    }
    const others = [
      intact.subarray(0, 20),
      Buffer.concat([intact, Buffer.from('x')]),
      Buffer.alloc(20),
      Buffer.alloc(43),
    ];
    for (const bytes of others) {
      writeFileSync(file(), bytes);
      expect(readLastRun(path)).toEqual(damaged);
    }
  });

  it('tells of a database of which every file is gone, also where it is damaged itself', async () => {
    writeFileSync(file(), 'x'.repeat(42));
    await expect(openLevelStore({ path })).rejects.toMatchObject({
      code: 'TURN_DAMAGED',
      message: expect.stringContaining('held a database, and none of its files is left'),
    });
  });

  it('that cannot be written stops nothing: what is in its place is kept beside the database', async () => {
    const store = await openLevelStore({ path });
    await store.commit(appended(await store.head('s'), 's', ['a']));
    await store.close();
    rmSync(file());
    mkdirSync(file());
    for (let i = 0; i < 2; i += 1) {
      const again = await openLevelStore({ path });
      await again.commit(appended(await again.head('s'), 's', ['a']));
      await again.close();
    }
    expect(statSync(join(path, 'damaged-1', RUN_FILE)).isDirectory()).toBe(true);
    expect(readLastRun(path)).toEqual({ stage: 'closed', acknowledged: readFolder(path).lastSequence });
  });
});

describe('a store whose file of the last run is damaged, and nothing else', () => {
  it('opens with everything, and leaves turns in progress to a person', async () => {
    const store = await openLevelStore({ path });
    await store.commit(appended(undefined, 's', ['a', 'b']));
    await store.close();
    truncateSync(file(), 20);
    const told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const again = await openLevelStore({ path });
    expect(`${told.mock.calls[0]?.[0]}`).toMatch(/durable-turn\.run is damaged.*A part of what was stored may be lost/);
    told.mockRestore();
    expect(textsOf(await again.messages('s'))).toEqual(['a', 'b']);
    expect(await again.damagedSessions('agent')).toMatchObject([{ sessionId: 's' }]);
    await again.close();
    // With a new one: there is nothing to repair any more.
    expect((await verifyFolder(path)).findings).toEqual([]);
  });
});

describe.skipIf(process.platform === 'win32')('a link under the name of the file', () => {
  it('is not followed: what it leads to is neither believed nor changed', async () => {
    const elsewhere = temporaryFolder();
    try {
      new RunFile(elsewhere, 1_000_000).end(true);
      const target = join(elsewhere, RUN_FILE);
      const before = readFileSync(target);
      const store = await openLevelStore({ path });
      await store.commit(appended(undefined, 's', ['a']));
      await store.close();
      rmSync(file());
      symlinkSync(target, file());
      expect(readLastRun(path)?.acknowledged).toBe(Number.POSITIVE_INFINITY);
      await (await openLevelStore({ path })).close();
      expect(readFileSync(target)).toEqual(before);
      expect(lstatSync(file()).isFile()).toBe(true);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });
});

describe('a store', () => {
  it('acknowledges exactly the writes that are in its database, over any commits and reopenings', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(3), { maxLength: 6 }), { maxLength: 4 }), async (runs) => {
        rmSync(path, { recursive: true, force: true });
        for (const run of runs) {
          const store = await openLevelStore({ path });
          for (const what of run) {
            const head = await store.head(`s${what}`);
            if (what === 3) await store.remove('s0');
            else if (what === 2) await store.commit(rewritten(head, 's2', ['x', 'y']));
            else await store.commit(appended(head, `s${what}`, ['a', 'b']));
          }
          await store.close();
          expect(readLastRun(path)).toEqual({ stage: 'closed', acknowledged: readFolder(path).lastSequence });
        }
      }),
      { numRuns: 15 },
    );
  });

  it('finds a log that lacks what was acknowledged, and says so', async () => {
    const store = await openLevelStore({ path });
    for (let n = 0; n < 20; n += 1) await store.commit(appended(undefined, `s${n}`, [`text ${n}`]));
    await store.close();
    const log = readdirSync(path).find((name) => name.endsWith('.log')) as string;
    // Between two batches, where LevelDB sees nothing wrong: the last commits never happened.
    const bytes = readFileSync(join(path, log));
    truncateSync(join(path, log), Math.floor(bytes.length / 2));
    const [warning, again] = await Promise.all([
      new Promise<Error>((resolve) => process.once('warning', resolve)),
      openLevelStore({ path }),
    ]);
    expect(warning.message).toMatch(
      /acknowledged writes are missing at its end.*A part of what was stored may be lost/,
    );
    // All were in progress: none can be trusted to be where it was.
    const told = await again.damagedSessions('agent');
    expect(told.length).toBeGreaterThan(5);
    expect(told[0]?.reason).toContain('may have gone back to an older state');
    expect(told.map(({ sessionId }) => sessionId)).toEqual(
      (await again.markers('agent')).map((m) => m.sessionId).sort(),
    );
    for (const { sessionId } of told) await again.damageTold(sessionId);
    expect(await again.damagedSessions('agent')).toEqual([]);
    await again.close();
  });
});
