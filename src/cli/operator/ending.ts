/**
 * Owns what a signal does to a command that works on a folder: it gives up in its own time, and says what it leaves.
 * Must not know what the command does. Whoever sends a second signal ends the process on the spot: no crash harms a
 * folder, but what was begun for the moment stays then.
 */
import { Refusal } from './verb.js';

/** What a shell answers for a process that a signal ended. */
export const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs work that gives up once its signal is aborted, by throwing the reason.
 * @param left What is told then: how the folder is left.
 * @throws {Refusal} ended by a signal; and whatever `work` throws.
 */
export async function endable<T>(left: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const handlers = Object.entries(SIGNALS).map(([name, code]) => {
    const end = (): void => ending.abort(new Refusal(code, `ended by ${name}: ${left}`));
    process.once(name, end);
    return () => process.off(name, end);
  });
  try {
    return await work(ending.signal);
  } finally {
    for (const off of handlers) off();
  }
}
