// Real processes that die and real writes that fail: what was acknowledged is there afterwards.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLevelStore } from '../../src/store/level-store.js';
import { bundle } from './bundle.js';
import { temporaryFolder } from './world.js';

interface Acknowledged {
  readonly revision: number;
  readonly count: number;
  readonly epoch: number;
}

let program = '';
let folder = '';
beforeAll(async () => {
  ({ folder, program } = await bundle('child.ts'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program and kills it after a number of acknowledged commits; 0 lets it end by itself. */
async function commits(
  command: string,
  args: string[],
  killAfter: number,
): Promise<{ last: Map<string, Acknowledged>; errors: number; ended: boolean }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const last = new Map<string, Acknowledged>();
  let [lines, errors, ended] = [0, 0, false];
  createInterface(child.stderr).on('line', (line) => {
    if (line.startsWith('failed')) errors += 1;
  });
  for await (const line of createInterface(child.stdout)) {
    const [sessionId, revision, count, epoch, whole] = line.split(' ');
    // A line may be cut by the kill; a whole one ends with a dot.
    if (line === 'end') ended = true;
    else if (whole === '.') {
      last.set(sessionId as string, { revision: Number(revision), count: Number(count), epoch: Number(epoch) });
    }
    lines += 1;
    if (lines === killAfter) child.kill('SIGKILL');
  }
  return { last, errors, ended };
}

/** Every list is whole, and at least as new as what was acknowledged. */
async function expectAcknowledged(path: string, last: ReadonlyMap<string, Acknowledged>): Promise<void> {
  const store = await openLevelStore({ path });
  for (const [sessionId, told] of last) {
    const records = await store.load(sessionId);
    expect(records?.head.revision, sessionId).toBeGreaterThanOrEqual(told.revision);
    if (records?.head.revision === told.revision) {
      expect(records.head).toMatchObject(told);
      expect(records.messages).toHaveLength(told.count);
    }
    expect(records?.checkpoint).toMatchObject({ revision: records?.head.revision });
  }
  const marked = (await store.markers('agent')).map(({ sessionId }) => sessionId);
  expect(marked).toEqual(expect.arrayContaining([...last.keys()]));
  await store.close();
}

describe('a process that commits in a loop', () => {
  it('I3: killed five times at any moment, has lost nothing that it acknowledged', async () => {
    const path = temporaryFolder();
    const last = new Map<string, Acknowledged>();
    for (const killAfter of [1, 23, 60, 7, 111]) {
      const killed = await commits(process.execPath, [program, 'write', path, '0', '100000'], killAfter);
      expect(killed.ended).toBe(false);
      for (const [sessionId, told] of killed.last) last.set(sessionId, told);
      await expectAcknowledged(path, last);
    }
    expect(last.size).toBe(4);
    rmSync(path, { recursive: true, force: true });
  });

  it.runIf(process.platform === 'linux')(
    'whose log cannot grow over a limit sees writes fail, goes on and loses nothing that it acknowledged',
    async () => {
      const path = temporaryFolder();
      // The limit is on one file: the log meets it, a new log after the reopening is small again.
      const limited = `ulimit -f 3000; exec ${process.execPath} ${program} write ${path} 0 60`;
      const { last, errors, ended } = await commits('bash', ['-c', limited], 0);
      expect(errors).toBeGreaterThan(0);
      expect(ended).toBe(true);
      for (const told of last.values()) expect(told.revision).toBe(60);
      await expectAcknowledged(path, last);
      rmSync(path, { recursive: true, force: true });
    },
    120_000,
  );
});
