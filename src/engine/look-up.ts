/**
 * Owns what a service can look at on disk without touching it: one session, and the turns that wait to be taken up.
 * Must not know how either comes about.
 */
import { checkId, sessionOfTurn, turnOfCall } from '../core/ids.js';
import type { ToolOutput } from '../core/messages.js';
import { withShown } from '../core/outputs.js';
import type { TurnStore } from '../core/ports.js';
import type { Phase } from '../core/records.js';
import { readable } from './readable.js';
import type { Roster } from './roster.js';
import type { InterruptedTurn, Session } from './turn-engine.js';

export async function sessionOf(roster: Roster, sessionId: string): Promise<Session | undefined> {
  checkId(sessionId, 'sessionId');
  const head = await roster.head(sessionId);
  if (head === undefined) return undefined;
  const { sessionUsage: usage, inProgress, turnId, phase } = head;
  const { store } = roster;
  return {
    id: sessionId,
    usage,
    inProgress,
    turnId,
    phase,
    messages: () => store.messages(sessionId),
    archive: () => store.archive(sessionId),
    output: (callId) => outputOfCall(store, sessionId, callId),
  };
}

async function outputOfCall(store: TurnStore, sessionId: string, callId: string): Promise<ToolOutput | undefined> {
  const turn = turnOfCall(callId);
  if (turn === undefined || sessionOfTurn(turn) !== sessionId) return undefined;
  const call = await store.call(callId);
  if (call === undefined || call.output !== null) return call?.output ?? undefined;
  // Stored once, with its message: in the list, or among what compactions took out of it.
  const messages = [...(await store.archive(sessionId)), ...(await store.messages(sessionId))];
  return withShown([call], messages)[0]?.output ?? undefined;
}

export async function interruptedTurns(roster: Roster): Promise<readonly InterruptedTurn[]> {
  const found: InterruptedTurn[] = [];
  for (const { sessionId } of await roster.store.markers(roster.settings.agent)) {
    const head = await readable(() => roster.head(sessionId));
    if (head === undefined || !head.inProgress || roster.driverOf(sessionId) !== undefined) continue;
    const { turnId, phase, attempts, lastProgressAt, waiting } = head;
    found.push({
      sessionId,
      turnId: turnId as string,
      phase: phase as Phase,
      attempts,
      lastProgressAt,
      waiting: waiting === null ? null : { until: waiting.until },
    });
  }
  return found;
}
