/**
 * Owns that commands which only look leave the folder as it is, and nothing behind, however they end.
 * Must not know what they look for.
 */
import { type View, viewFolder } from '../../store/view.js';
import type { ExitCode } from './verb.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** @throws {TurnError} what `viewFolder` throws. */
export async function viewing(folder: string, look: (view: View) => Promise<ExitCode>): Promise<ExitCode> {
  const view = await viewFolder(folder);
  const handlers = Object.entries(SIGNALS).map(([signal, code]) => {
    const end = (): void => void view.close().finally(() => process.exit(code));
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  try {
    return await look(view);
  } finally {
    for (const off of handlers) off();
    await view.close();
  }
}
