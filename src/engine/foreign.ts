/**
 * Owns the building of what the application gives for one attempt: dependencies and tools.
 * Must not know turns in progress; both engine start and recovery ask here.
 */
import { SETUP_MS } from '../../machines/index.js';
import { checkTools } from '../core/tool-check.js';
import type { ToolSet } from '../core/tools.js';
import type { CutOff } from './cut-off.js';
import type { Bounds } from './in-time.js';
import type { Settings, TurnInfo } from './options.js';
import type { Foreign } from './turn-scope.js';

/** Throws what the application throws. The caller bounds the time by its signal. */
export async function buildForeign(settings: Settings, turn: TurnInfo, signal: AbortSignal): Promise<Foreign> {
  const deps: unknown = await settings.dependencies?.(turn, signal);
  const given: unknown = typeof settings.tools === 'function' ? await settings.tools(turn, deps) : settings.tools;
  const tools: unknown = given ?? {};
  checkTools(tools);
  return { deps, tools: tools as ToolSet };
}

/** The bound of `setup`, for everything that is asked of the application before a turn goes on. */
export const setupBounds = ({ settings, gone }: { readonly settings: Settings; readonly gone: CutOff }): Bounds => ({
  clock: settings.clock,
  ms: SETUP_MS,
  gone,
});
