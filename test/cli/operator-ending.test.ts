// A signal in the middle of a command that works on a folder: the folder is usable, and the command says how it left it.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { operate } from '../../src/cli/operator/command.js';
import { compactFolder } from '../../src/store/compact.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { repairFolder } from '../../src/store/repair.js';
import { copyOfFixture, expectedOf, printOf } from '../store/fixtures/folders.js';
import { appended, textsOf } from '../store/fixtures.js';

const main = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist', 'src', 'cli', 'main.js');

let scratch = '';
let folder = '';
let temporary = '';
const SESSIONS = 150;
const textOf = (n: number): string => `${n} `.repeat(40_000);

/** So much that its repair takes a while, and one byte of it that is another. */
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-ending-'));
  [folder, temporary] = [join(scratch, 'turns'), join(scratch, 'tmp')];
  mkdirSync(temporary);
  const store = await openLevelStore({ path: folder });
  for (let n = 0; n < SESSIONS; n += 1) await store.commit(appended(undefined, `s${n}`, [textOf(n)]));
  await store.close();
  writeFileSync(join(folder, 'CURRENT'), 'junk');
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

function started(...args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  return { child, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, out, errors }))) };
}

describe('a repair in its middle', () => {
  const filesOnly = (print: unknown): unknown => (print as { name: string }[]).filter(({ name }) => name !== 'LOCK');

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'ended by %s leaves the folder as it was, says so, and leaves nothing elsewhere',
    async (signal, code) => {
      const before = filesOnly(printOf(folder));
      const { child, ended } = started('repair', folder);
      while (!existsSync(join(folder, 'repaired.tmp'))) await sleep(1);
      child.kill(signal);
      expect(await ended).toEqual({
        code,
        out: '',
        errors: `durable-turn repair: ended by ${signal}: it has changed nothing, and the next repair, or opening, begins again\n`,
      });
      expect(filesOnly(printOf(folder))).toEqual(before);
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  it('ended by SIGKILL leaves a folder that the next repair, or a service, takes up', async () => {
    const { child, ended } = started('repair', folder);
    while (!existsSync(join(folder, 'repaired.tmp'))) await sleep(1);
    child.kill('SIGKILL');
    await ended;
    expect(readdirSync(folder)).toContain('repaired.tmp');
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const store = await openLevelStore({ path: folder });
    vi.restoreAllMocks();
    for (const n of [0, SESSIONS - 1]) expect(textsOf(await store.messages(`s${n}`))).toEqual([textOf(n)]);
    expect(await store.damagedSessions('agent')).toEqual([]);
    await store.close();
    expect(readdirSync(folder).filter((name) => /^(repair|opening)/.test(name))).toEqual([]);
    rmSync(temporary, { recursive: true });
    mkdirSync(temporary);
  });
});

describe('a command that is told to give up', () => {
  /** A signal that is aborted when it is asked for the nth time. */
  function abortedAt(nth: number, reason: Error): AbortSignal {
    let asked = 0;
    const throwIfAborted = (): void => {
      asked += 1;
      if (asked >= nth) throw reason;
    };
    return { reason, throwIfAborted } as unknown as AbortSignal;
  }

  const works = {
    compact: (path: string, signal: AbortSignal) => compactFolder(path, () => {}, signal),
    repair: (path: string, signal: AbortSignal) => repairFolder(path, () => {}, signal),
  };
  it.each(Object.entries(works))(
    '%s: does so between any two steps, and the folder can be used',
    async (name, work) => {
      const path = join(scratch, name);
      const reason = new Error('given up');
      copyOfFixture(path);
      if (name === 'repair') writeFileSync(join(path, 'CURRENT'), 'junk');
      let steps = 0;
      for (let thrown: unknown = reason; thrown !== undefined; steps += 1) {
        thrown = await work(path, abortedAt(steps + 1, reason)).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect([undefined, reason]).toContain(thrown);
        expect(readdirSync(path).filter((left) => /^(repair|opening)/.test(left))).toEqual([]);
      }
      expect(steps).toBeGreaterThan(10);
      const store = await openLevelStore({ path });
      expect((await store.markers('fixture')).length).toBe(expectedOf().markers.length);
      await store.close();
    },
  );

  it('takes its handlers away at its end, however it ends', async () => {
    const count = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name));
    const before = count();
    const silent = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, 'write').mockImplementation(() => true),
    );
    for (const [verb, ...more] of [['verify'], ['repair'], ['compact'], ['abandon', 'a.b', '--reason', 'r']]) {
      expect(await operate(verb as string, [join(scratch, 'nowhere'), ...more])).toBe(1);
    }
    for (const spy of silent) spy.mockRestore();
    expect(count()).toEqual(before);
  });
});
