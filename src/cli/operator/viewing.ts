/**
 * Owns that commands which only look leave the folder as it is, and nothing behind, however they end.
 * Must not know what they look for.
 */
import { type View, viewFolder } from '../../store/view.js';
import { SIGNALS } from './ending.js';
import type { ExitCode } from './verb.js';

/** @throws {TurnError} what `viewFolder` throws. */
export async function viewing(folder: string, look: (view: View) => Promise<ExitCode>): Promise<ExitCode> {
  const ending = new AbortController();
  const opening = viewFolder(folder, ending.signal);
  // Before the first byte is copied: that can take long, and what was copied must not stay.
  const handlers = Object.entries(SIGNALS).map(([signal, code]) => {
    const end = (): void => {
      ending.abort();
      void opening
        .then((view) => view.close())
        .catch(() => {})
        .finally(() => process.exit(code));
    };
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  try {
    const view = await opening;
    try {
      return await look(view);
    } finally {
      await view.close();
    }
  } catch (error) {
    // The process is ending; that it ends is nothing to be told as a failure.
    if (ending.signal.aborted) return await new Promise<never>(() => {});
    throw error;
  } finally {
    for (const off of handlers) off();
  }
}
