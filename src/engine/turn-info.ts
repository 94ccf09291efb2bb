/**
 * Owns what callbacks learn about a turn, from its head and the moment. Must not know who calls back.
 */
import type { Head } from '../core/records.js';
import type { Settings, TurnInfo } from './options.js';

/** Presence and attempt belong to the moment; everything else is the head's. */
export function turnInfo(
  settings: Settings,
  head: Pick<Head, 'sessionId' | 'turnId' | 'context' | 'usage' | 'modelCalls' | 'startedAt'>,
  moment: Pick<TurnInfo, 'attended' | 'recovered' | 'attempt'>,
): TurnInfo {
  const { sessionId, context, usage, modelCalls } = head;
  const startedAt = head.startedAt ?? settings.clock.now();
  return {
    agent: settings.agent,
    sessionId,
    turnId: head.turnId ?? '',
    context,
    usage,
    modelCalls,
    startedAt,
    ...moment,
  };
}
