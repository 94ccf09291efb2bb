/**
 * Owns trying again what has to be durable in the end: while the store fails, with growing pauses.
 * Must not know what is stored.
 */
import { TurnError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import { pause } from './clock.js';
import type { CutOff } from './cut-off.js';

/** Pauses between tries, growing from the first to the last. */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 15_000;

export interface Patience {
  readonly clock: Clock;
  /** What fails from now on is not tried again. */
  isOver(): boolean;
  /** Cuts a pause short. */
  readonly hurry: CutOff;
  /** Called at each failed try that is not the last. */
  failed(error: TurnError): void;
}

/** Throws what will not get better by trying again: a conflict, a closed store, a defect. */
export async function untilStored(work: () => Promise<unknown>, patience: Patience): Promise<void> {
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)) {
    try {
      await work();
      return;
    } catch (thrown) {
      const failed = thrown instanceof TurnError && thrown.code === 'TURN_STORE_FAILED';
      if (!failed || patience.isOver()) throw thrown;
      patience.failed(thrown);
      await pause(patience.clock, waitMs, patience.hurry.signal);
    }
  }
}
