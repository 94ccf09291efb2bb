// The invariants that two neighbouring images of a disk have to keep, whatever happened between them: checked after
// every batch of every process. Nothing here asks the store or the engine.
import type { Head } from '../../../src/index.js';
import type { View } from './view.js';

type Complain = (fault: string) => void;

/** What a session's inputs are, wherever they lie. */
function inputsOf(view: View, sessionId: string): { readonly joined: string[]; readonly waiting: string[] } {
  const list = [...(view.archive.get(sessionId) ?? []), ...(view.messages.get(sessionId) ?? [])];
  return {
    // What was imported was never accepted as input: it belongs to no turn.
    joined: list.filter(({ meta }) => meta.origin === 'input' && meta.turnId !== '').map(({ meta }) => meta.id),
    waiting: (view.inbox.get(sessionId) ?? []).map(({ messageId }) => messageId),
  };
}

/** Input of a turn that was cancelled before it began goes with that turn, whose end is on disk. */
export function wentUnbegun(view: View, sessionId: string, messageId: string): boolean {
  const turnId = view.seen.get(`${sessionId}!${messageId}`) ?? '';
  const list = [...(view.archive.get(sessionId) ?? []), ...(view.messages.get(sessionId) ?? [])];
  const began = view.heads.get(sessionId)?.turnId === turnId || list.some(({ meta }) => meta.turnId === turnId);
  return view.outcomes.get(turnId)?.status === 'cancelled' && !began;
}

function checkHead(view: View, sessionId: string, head: Head, complain: Complain): void {
  const due = head.inProgress || head.outcomesDue.length > 0;
  if (due !== view.markers.has(sessionId)) complain(`I2: ${sessionId} ${due ? 'lacks its' : 'has a'} marker`);
  const list = view.messages.get(sessionId) ?? [];
  if (list.length !== head.count) complain(`I3: ${sessionId} has ${list.length} messages, its head says ${head.count}`);
  if (new Set(list.map(({ meta }) => meta.id)).size !== list.length)
    complain(`I3: ${sessionId} has a message id twice`);
  const { joined, waiting } = inputsOf(view, sessionId);
  const all = [...joined, ...waiting];
  if (new Set(all).size !== all.length) complain(`I11: ${sessionId} has an input twice: ${all.join(' ')}`);
  for (const id of joined) if (!view.seen.has(`${sessionId}!${id}`)) complain(`I11: ${id} joined and is not seen`);
  if (head.inProgress && !view.checkpoints.has(sessionId)) complain(`I15: ${sessionId} runs without a checkpoint`);
  checkJournal(view, head, complain);
}

function checkJournal(view: View, head: Head, complain: Complain): void {
  if (head.turnId === null) return;
  let dispatched = 0;
  let settled = 0;
  for (const call of view.calls.values()) {
    if (call.turnId !== head.turnId) continue;
    if (call.dispatch > 0) dispatched += 1;
    if (call.state === 'succeeded' || call.state === 'failed') settled += 1;
  }
  if (dispatched !== head.dispatched || settled !== head.settled) {
    complain(`I3: the journal has ${dispatched}/${settled} calls, its head says ${head.dispatched}/${head.settled}`);
  }
}

/** How one session may differ between two neighbouring images. */
function checkStep(before: View, after: View, from: Head, to: Head, complain: Complain): void {
  const { sessionId } = from;
  if (to.revision !== from.revision && to.revision !== from.revision + 1) {
    complain(`I7: ${sessionId} went from revision ${from.revision} to ${to.revision}`);
  }
  if (from.turnId === to.turnId && from.ended !== null && from.ended.kind !== 'abandoned') {
    if (to.inProgress || to.ended?.kind !== from.ended.kind) complain(`I8: ${from.turnId} had ended and moved`);
  }
  const known = inputsOf(before, sessionId);
  const now = inputsOf(after, sessionId);
  const all = new Set([...now.joined, ...now.waiting]);
  for (const id of [...known.joined, ...known.waiting]) {
    if (!all.has(id) && !wentUnbegun(after, sessionId, id)) complain(`I11: input ${id} is gone`);
  }
  checkDeadlines(before, after, from, to, complain);
}

/** I13: the moment at which a wait ends stays where it was, as long as the wait is the same. */
function checkDeadlines(before: View, after: View, from: Head, to: Head, complain: Complain): void {
  if (from.turnId !== to.turnId || from.phase !== to.phase || from.phase === null) return;
  if (!['retryingLLM', 'awaitingApproval'].includes(from.phase)) return;
  const old = before.checkpoints.get(from.sessionId);
  const now = after.checkpoints.get(from.sessionId);
  if (old === undefined || now === undefined) return;
  if (JSON.stringify(contextOf(old)) !== JSON.stringify(contextOf(now))) return;
  for (const [timer, at] of Object.entries(old.deadlines)) {
    const moved = now.deadlines[timer];
    if (moved !== undefined && moved !== at) complain(`I13: ${timer} of ${from.sessionId} moved by ${moved - at} ms`);
  }
}

const contextOf = ({ snapshot }: { readonly snapshot: unknown }): unknown => {
  // A resume assigns the limits of the recovered turn, and nothing else.
  const { limits: _limits, ...context } = (snapshot as { context: Record<string, unknown> }).context;
  return context;
};

/** `removable`: sessions that somebody may delete, and inputs that somebody may take back. */
export function checkImages(before: View, after: View, removable: boolean, complain: Complain): void {
  for (const record of after.damaged) complain(`I14: ${record} cannot be read`);
  for (const key of after.leaked) complain(`I3: message ${key} belongs to nothing`);
  for (const marker of after.markers.keys()) if (!after.heads.has(marker)) complain(`I2: ${marker} has only a marker`);
  for (const [sessionId, head] of after.heads) checkHead(after, sessionId, head, complain);
  for (const [sessionId, head] of before.heads) {
    const now = after.heads.get(sessionId);
    if (now === undefined && !removable) complain(`I11: session ${sessionId} is gone`);
    else if (now !== undefined && !removable) checkStep(before, after, head, now, complain);
  }
}
