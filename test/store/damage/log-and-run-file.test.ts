// The log and the file that says what the log has to hold, damaged together: nothing that is left tells that a turn went
// back, but that there is a file of the last run and nobody can read it.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyFolder } from '../../../src/store/inspect.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { RUN_FILE } from '../../../src/store/run-file.js';
import { temporaryFolder } from '../world.js';
import { type Hang, Receiver, serve } from './service.js';

let world = '';
/** Killed behind a call without `reconcile` that was sent; the state before it is in a table. */
let killed = '';
let sent: ReadonlySet<string> = new Set();

beforeAll(async () => {
  world = temporaryFolder();
  const receiver = new Receiver();
  const first = await killedAt('model', join(world, 'first'), receiver);
  // An opening makes a table of the log.
  killed = await killedAt('send', first, receiver);
  sent = new Set(receiver.sent);
  expect(sent.size).toBe(2);
});
afterAll(() => rmSync(world, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

/** Runs the service until the turn of `s` hangs there. @returns What its process leaves behind then. */
async function killedAt(at: Hang, path: string, receiver: Receiver): Promise<string> {
  const store = await openLevelStore({ path });
  let hangs = false;
  const { engine } = serve(store, receiver, (sessionId, where) => {
    if (sessionId !== 's' || where !== at) return false;
    hangs = true;
    return true;
  });
  if ((await engine.recover()).resumed.length === 0) {
    for (const sessionId of ['idle', 's']) {
      const { turn } = await engine.sendMessage({
        sessionId,
        messageId: 'm',
        input: `${sessionId} x`,
        attended: false,
      });
      if (sessionId === 'idle') await turn.outcome;
    }
  }
  while (!hangs) await sleep(1);
  const left = join(world, `killed at ${at}`);
  // To copy LOCK would give the lock of this process away.
  cpSync(path, left, { recursive: true, filter: (name) => basename(name) !== 'LOCK' });
  await store.close();
  return left;
}

const garbage = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 7919 + 13) & 255));

const RUN_FILES: Readonly<Record<string, (file: string) => void>> = {
  'is garbage of its length': (file) => writeFileSync(file, garbage(42)),
  'is garbage of another length': (file) => writeFileSync(file, garbage(500)),
  'is cut': (file) => truncateSync(file, 41),
  'has other bytes at its end': (file) =>
    writeFileSync(file, Buffer.concat([readFileSync(file).subarray(0, 32), garbage(10)])),
  'is a directory': (file) => {
    rmSync(file);
    mkdirSync(file);
  },
};
const LOGS: Readonly<Record<string, (file: string) => void>> = {
  'is empty': (file) => truncateSync(file),
  'is garbage': (file) => writeFileSync(file, garbage(5000)),
};

let images = 0;
/** A copy of what was killed. */
function image(): { readonly path: string; readonly run: string; readonly log: string } {
  images += 1;
  const path = join(world, `image-${images}`);
  cpSync(killed, path, { recursive: true });
  const log = readdirSync(path).find((name) => name.endsWith('.log')) as string;
  return { path, run: join(path, RUN_FILE), log: join(path, log) };
}

/** Starts the service: the turn went back, and is left to a person. The call that was sent is not sent again. */
async function expectTold(path: string): Promise<void> {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const receiver = new Receiver();
  for (const key of sent) receiver.sent.add(key);
  const store = await openLevelStore({ path });
  expect(warned.mock.calls.join()).toMatch(/durable-turn\.run is damaged.*A part of what was stored may be lost/);
  const { engine } = serve(store, receiver, () => false);
  const { resumed, abandoned, damaged } = await engine.recover();
  expect(resumed).toEqual([]);
  expect(abandoned).toMatchObject([{ turnId: expect.stringMatching(/^s\./), gate: 'checkpoint' }]);
  expect(damaged).toEqual([
    { sessionId: 's', reason: expect.stringContaining('may have gone back to an older state') },
  ]);
  // Another session goes on.
  const { turn } = await engine.sendMessage({ sessionId: 'idle', messageId: 'n', input: 'idle y', attended: false });
  expect(await turn.outcome).toMatchObject({ status: 'completed' });
  expect(receiver.doubled).toEqual([]);
  await engine.close();
  await store.close();
  expect((await verifyFolder(path)).findings).toEqual([]);
}

describe('I5: where the log and the file of the last run are damaged together, nothing is sent again', () => {
  for (const [ofLog, damageLog] of Object.entries(LOGS)) {
    it.each(Object.entries(RUN_FILES))(`the log ${ofLog}, and the file of the last run %s`, async (_, damageRun) => {
      const { path, run, log } = image();
      damageLog(log);
      damageRun(run);
      expect((await verifyFolder(path)).findings).toContainEqual({
        file: RUN_FILE,
        what: expect.stringContaining('any acknowledged write may be missing at the end of the log'),
      });
      await expectTold(path);
    });
  }

  it('each has the bytes of the other', async () => {
    const { path, run, log } = image();
    const [ofRun, ofLog] = [readFileSync(run), readFileSync(log)];
    writeFileSync(run, ofLog);
    writeFileSync(log, ofRun);
    await expectTold(path);
  });
});
