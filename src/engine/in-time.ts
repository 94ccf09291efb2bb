/**
 * Owns the bound on code of the application that the engine waits for. Must not know what the code does.
 */
import { TurnError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import { CutOff } from './cut-off.js';

export interface Bounds {
  readonly clock: Clock;
  /** null: as long as it likes. */
  readonly ms: number | null;
  /** Aborts when the process waits no longer. */
  readonly gone: CutOff;
}

/** Throws what the work throws, and when the time is over or the process goes; `work` learns it by the signal. */
export function inTime<T>(
  { clock, ms, gone }: Bounds,
  what: string,
  work: (ending: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const ending = new CutOff();
    const giveUp = (error: Error): void => {
      end();
      ending.abort(() => error);
      reject(error);
    };
    const leave = (): void =>
      giveUp(new TurnError('TURN_ENGINE_CLOSING', `the process is closing: ${what} was given up`));
    const disarm =
      ms === null ? undefined : clock.after(ms, () => giveUp(new Error(`${what} took longer than ${ms} ms`)));
    const ignore = gone.onAbort(leave);
    const end = (): void => {
      disarm?.();
      ignore();
    };
    if (gone.isAborted) leave();
    work(ending).finally(end).then(resolve, reject);
  });
}
