/**
 * Owns the building of what the application gives for one attempt: dependencies and tools.
 * Must not know turns in progress; both engine start and recovery ask here.
 */
import { SETUP_MS } from '../../machines/index.js';
import type { ToolSet } from '../core/tools.js';
import { checkTools, type Settings, type TurnInfo } from './options.js';
import type { Foreign } from './turn-scope.js';

/** Throws what the application throws. The caller bounds the time by its signal. */
export async function buildForeign(settings: Settings, turn: TurnInfo, signal: AbortSignal): Promise<Foreign> {
  const deps: unknown = await settings.dependencies?.(turn, signal);
  const given: unknown = typeof settings.tools === 'function' ? await settings.tools(turn, deps) : settings.tools;
  const tools: unknown = given ?? {};
  checkTools(tools);
  return { deps, tools: tools as ToolSet };
}

/** The same within the time `setup` has. @throws {Error} also when the time is over. */
export async function buildForeignInTime(settings: Settings, turn: TurnInfo): Promise<Foreign> {
  const controller = new AbortController();
  let disarm = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    disarm = settings.clock.after(SETUP_MS, () => {
      const error = new Error(`dependencies and tools took longer than ${SETUP_MS} ms`);
      controller.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([buildForeign(settings, turn, controller.signal), late]);
  } finally {
    disarm();
  }
}
