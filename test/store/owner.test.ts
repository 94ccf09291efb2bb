// An opening that takes long stays the only one, and one whose thread was ended stands in nobody's way.
import { spawn } from 'node:child_process';
import fs, {
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { diedOpening, forgetOpenings, openedAlone } from '../../src/store/owner.js';
import { temporaryFolder } from './world.js';

const locked = { code: 'TURN_STORE_LOCKED' };
const LONG_AGO = new Date(0);
let path = '';
beforeEach(() => {
  path = temporaryFolder();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(path, { recursive: true, force: true });
});

const opening = (): string => {
  const [name = ''] = readdirSync(path).filter((name) => name.startsWith('opening-'));
  return join(path, name);
};

/** As a thread that is in the middle of an opening leaves the file, or was when it ended. */
async function leftBy(said: string): Promise<void> {
  let file = '';
  await openedAlone(path, async () => {
    file = opening();
  });
  writeFileSync(file, said);
  utimesSync(file, LONG_AGO, LONG_AGO);
}

/** How a thread of its own calls itself in the file. */
async function endedThread(): Promise<string> {
  const code =
    "const { parentPort } = require('node:worker_threads'); const { readlinkSync, readFileSync } = require('node:fs');" +
    "const stat = readFileSync('/proc/thread-self/stat', 'utf8');" +
    "parentPort.postMessage(readlinkSync('/proc/thread-self').split('/').pop() + '-' + stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);";
  const worker = new Worker(code, { eval: true });
  let said = '';
  worker.on('message', (name) => {
    said = name;
  });
  await new Promise((resolve) => worker.on('exit', resolve));
  return said;
}

describe('an opening of a folder', () => {
  it('is touched as long as it runs, and leaves neither file nor timer', async () => {
    vi.useFakeTimers();
    await openedAlone(path, async () => {
      utimesSync(opening(), LONG_AGO, LONG_AGO);
      vi.advanceTimersByTime(20_000);
      expect(statSync(opening()).mtimeMs).toBeGreaterThan(LONG_AGO.getTime() + 60_000);
      rmSync(opening());
      vi.advanceTimersByTime(20_000);
    });
    expect(vi.getTimerCount()).toBe(0);
    await expect(openedAlone(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(vi.getTimerCount()).toBe(0);
    expect(readdirSync(path)).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'is not taken from a thread that lives, however long it was busy, and from one that ended at once',
    async () => {
      await openedAlone(path, async () => {
        utimesSync(opening(), LONG_AGO, LONG_AGO);
        await expect(openedAlone(path, async () => {})).rejects.toMatchObject(locked);
      });
      const ended = await endedThread();
      expect(ended).toMatch(/^\d+-\d+$/);
      await leftBy(ended);
      const now = new Date();
      utimesSync(opening(), now, now);
      await openedAlone(path, async () => {
        expect(readFileSync(opening(), 'utf8')).toMatch(/^\d+-\d+$/);
        expect(readFileSync(opening(), 'utf8')).not.toBe(ended);
      });
      expect(readdirSync(path)).toEqual([]);
    },
  );

  it('that ended is taken over by one of two threads that see it at the same moment, and by none from that one', async () => {
    const { statSync: stat } = fs;
    /** Runs another thread's whole attempt between the last look at the file and what comes of it. */
    const whenJudged = (attempt: () => void): void => {
      let looks = 0;
      const looksAt = (...given: unknown[]): unknown => {
        const found = (stat as (...given: unknown[]) => unknown)(...given);
        if (`${given[0]}`.startsWith(join(path, 'opening-'))) looks += 1;
        if (looks !== 1) return found;
        looks += 1;
        attempt();
        return found;
      };
      Object.assign(fs, { statSync: looksAt });
      syncBuiltinESMExports();
    };
    try {
      await leftBy('');
      let end = (): void => {};
      const opened = new Promise<void>((resolve) => {
        end = resolve;
      });
      let other: Promise<string> = Promise.resolve('');
      whenJudged(() => {
        other = openedAlone(path, async () => opened.then(() => 'opened'));
      });
      await expect(openedAlone(path, async () => 'opened too')).rejects.toMatchObject(locked);
      await expect(openedAlone(path, async () => 'opened too')).rejects.toMatchObject(locked);
      end();
      expect(await other).toBe('opened');
      expect(readdirSync(path)).toEqual([]);
    } finally {
      Object.assign(fs, { statSync: stat });
      syncBuiltinESMExports();
    }
  });

  it.runIf(process.platform === 'linux')(
    'is not taken for one of an earlier process whose number was the same and whose start only begins alike',
    async () => {
      let own = '';
      await openedAlone(path, async () => {
        own = basename(opening());
      });
      writeFileSync(join(path, `${own}0`), '');
      expect(diedOpening(path)).toBe(true);
      forgetOpenings(path);
      expect(readdirSync(path)).toEqual([]);
      for (const name of [own, `${own}.1.2`]) writeFileSync(join(path, name), '');
      expect(diedOpening(path)).toBe(false);
    },
  );

  it.runIf(process.platform === 'linux')(
    'of a process that ended counts as ended, also before its parent knows',
    async () => {
      // The shell becomes a program that asks for no child.
      const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
      try {
        const pid = `${await new Promise((resolve) => parent.stdout.once('data', resolve))}`.trim();
        const fields = (): readonly string[] =>
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
        writeFileSync(join(path, `opening-${pid}-${fields()[19]}`), '');
        while (fields()[0] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10));
        expect(diedOpening(path)).toBe(true);
        forgetOpenings(path);
        expect(readdirSync(path)).toEqual([]);
      } finally {
        parent.kill('SIGKILL');
      }
    },
  );

  it.skipIf(process.platform === 'win32')(
    'is no link: one under its name is taken away, and leads nowhere',
    async () => {
      let file = '';
      await openedAlone(path, async () => {
        file = opening();
      });
      symlinkSync(file, file);
      expect(await openedAlone(path, async () => lstatSync(file).isFile())).toBe(true);
      expect(readdirSync(path)).toEqual([]);
    },
  );

  it('that names no thread counts for a minute after it was touched', async () => {
    await leftBy('');
    const now = new Date();
    utimesSync(opening(), now, now);
    await expect(openedAlone(path, async () => {})).rejects.toMatchObject(locked);
    utimesSync(opening(), LONG_AGO, LONG_AGO);
    expect(await openedAlone(path, async () => 'opened')).toBe('opened');
  });
});
