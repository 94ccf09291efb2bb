// A program for tests that need another process: opens a store and says what happened, or commits until it is killed.
import { workerData } from 'node:worker_threads';
import type { Head } from '../../src/core/records.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { appended, checkpointOf, rewritten } from './fixtures.js';

const [mode, path = '', from = '0', count = '0'] = process.argv.slice(2);

/** In a thread: opens when all the others do, says what happened, and keeps it open until all have tried. */
async function contend(): Promise<void> {
  const [ready, tried] = [new Int32Array(workerData.gate, 0, 1), new Int32Array(workerData.gate, 4, 1)];
  Atomics.add(ready, 0, 1);
  while (Atomics.load(ready, 0) < workerData.threads);
  const opened = await openLevelStore({ path }).catch((error: { code?: string; message: string }) => error);
  process.stdout.write(`${'code' in opened ? opened.code : 'opened'}\n`);
  Atomics.add(tried, 0, 1);
  // The test lets go with one more.
  while (Atomics.load(tried, 0) <= workerData.threads) await new Promise((resolve) => setTimeout(resolve, 5));
  if ('close' in opened) await opened.close();
}

async function open(): Promise<void> {
  try {
    const store = await openLevelStore({ path });
    await store.close();
    process.stdout.write('opened\n');
  } catch (error) {
    const { code, cause } = error as { code?: string; cause?: { cause?: { code?: string } } };
    process.stdout.write(`${code} ${cause?.cause?.code ?? ''}\n`);
  }
}

/** Commits in sessions side by side; each acknowledged one is a line: session, revision, messages, epoch. */
async function write(): Promise<void> {
  const store = await openLevelStore({ path });
  const one = async (sessionId: string): Promise<void> => {
    let head: Head | undefined = await store.head(sessionId);
    for (let i = 0; i < Number(count); i += 1) {
      const n = head?.revision ?? 0;
      const text = `${sessionId} ${n} ${'x'.repeat(2000)}`;
      const commit =
        n % 7 === 6
          ? rewritten(
              head,
              sessionId,
              Array.from({ length: n % 2 === 0 ? 3 : 600 }, (_, k) => `${text}${k}`),
            )
          : appended(head, sessionId, [text]);
      await retried(() => store.commit({ ...commit, checkpoint: checkpointOf(commit.head) }));
      head = commit.head;
      process.stdout.write(`${sessionId} ${head.revision} ${head.count} ${head.epoch} .\n`);
    }
  };
  await Promise.all(Array.from({ length: 4 }, (_, i) => one(`s${Number(from) + i}`)));
  await store.close();
  process.stdout.write('end\n');
}

let failures = 0;

/** A write error is worth another try, until the disk has made clear that it will not get better. */
async function retried(commit: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await commit();
      return;
    } catch (error) {
      failures += 1;
      process.stderr.write(`failed ${(error as Error).message}\n`);
      if ((error as { code?: string }).code !== 'TURN_STORE_FAILED' || failures > 200) throw error;
    }
  }
}

/** Says how far it is, so that it can be killed there. */
async function backup(): Promise<void> {
  const store = await openLevelStore({ path });
  await store.commit(
    rewritten(
      undefined,
      's',
      Array.from({ length: 3_000 }, (_, i) => `${i}`),
    ),
  );
  process.stdout.write('written\n');
  // Waits for the kill: nobody can know when it comes.
  await store.backup?.(from, ({ records }) => {
    process.stdout.write(`${records}\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120_000);
  });
}

const MODES = { backup, open, contend, write };
await MODES[mode as keyof typeof MODES]();
