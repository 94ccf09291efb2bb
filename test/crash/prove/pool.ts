// Shares the pieces of a run among workers and gives on what they say.
import { Worker } from 'node:worker_threads';
import type { Tally, Unit } from './units.js';

interface Said {
  readonly tally?: Tally;
  readonly thrown?: string;
}

/** Most of what a schedule makes is garbage at its end: with a small young generation the collector does half the work. */
const YOUNG_MB = 96;

export async function runUnits(
  units: readonly Unit[],
  workers: number,
  done: (unit: Unit, tally: Tally) => void,
): Promise<void> {
  const waiting = [...units];
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('worker.js', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    try {
      for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) {
        const said = await ask(worker, unit);
        if (said.tally === undefined) throw new Error(`${JSON.stringify(unit)}: ${said.thrown}`);
        done(unit, said.tally);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(workers, units.length)) }, work));
}

function ask(worker: Worker, unit: Unit): Promise<Said> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      worker.off('message', answered);
      worker.off('error', failed);
    };
    const answered = (said: Said): void => {
      end();
      resolve(said);
    };
    const failed = (error: unknown): void => {
      end();
      reject(error);
    };
    worker.on('message', answered);
    worker.on('error', failed);
    worker.postMessage(unit);
  });
}
