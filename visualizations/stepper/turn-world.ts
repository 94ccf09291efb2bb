/**
 * Owns the simulated turn: what is in memory, what is on disk, and how each move of a reader changes both. It carries
 * out what core/step plans, as the driver does, on a clock that only moves when it is told to.
 * Must not know the page. Every function is pure: a world is the fold of its moves.
 */
import { ATTENDED_LIMITS, CHECKPOINT_DEBOUNCE_MS, type TurnEvent, UNATTENDED_LIMITS } from '../../machines/index.js';
import { decodeCheckpoint } from '../../src/core/checkpoint.js';
import { firstStep, keepsDeadlines, type Plan, step, type TimerEvent, type TurnSnapshot } from '../../src/core/step.js';
import { watchEdges } from '../../src/testing/taken-edges.js';
import { type Call, commit, type Disk, storedChanged, type Timer } from './disk.js';
import { type How, type Recovery, recover } from './gates.js';
import { type Answers, answering, turn } from './guards.js';

export interface Entry {
  readonly at: number;
  readonly what: string;
  readonly edges: readonly string[];
  readonly phase: string;
  readonly effects: readonly string[];
  readonly edits: readonly string[];
  /** What became of the directives of the step. */
  readonly checkpoint: 'written' | 'postponed' | null;
  readonly directive: Plan['directive'];
  readonly note: string;
}

export interface Live {
  readonly snapshot: TurnSnapshot;
  readonly phase: string;
  readonly final: boolean;
  readonly timers: readonly Timer[];
  /** Effects of the phase, started when it was entered. */
  readonly running: readonly string[];
  /** A debounced checkpoint was passed over, and the next boundary takes it along. */
  readonly dirty: boolean;
  readonly progress: boolean;
}

export interface TurnWorld {
  readonly now: number;
  /** `null` after a crash. */
  readonly live: Live | null;
  readonly calls: readonly Call[];
  readonly disk: Disk | null;
  readonly writtenAt: number;
  readonly recovery: Recovery | null;
  readonly guards: Answers;
  readonly how: Pick<How, 'switchedOff' | 'reconcile'>;
  readonly entries: readonly Entry[];
}

const watch = watchEdges(turn);
const limitsOf = (start: string) => (start === 'attended' ? ATTENDED_LIMITS : UNATTENDED_LIMITS);

export const TURN_STARTS: readonly string[] = ['unattended', 'attended'];

export function startTurn(start: string): TurnWorld {
  const input = { turnId: 'turn', limits: limitsOf(start) };
  const plan = firstStep(turn, input);
  const empty: TurnWorld = {
    now: 0,
    live: null,
    calls: [],
    disk: null,
    writtenAt: Number.NEGATIVE_INFINITY,
    recovery: null,
    guards: {},
    how: { switchedOff: false, reconcile: false },
    entries: [],
  };
  return carryOut(empty, plan, { what: `start, ${start}`, edges: [], progress: true });
}

interface Cause {
  readonly what: string;
  readonly edges: readonly string[];
  readonly progress: boolean;
  /** On a resume: the stored moments that the phase's timers keep. */
  readonly kept?: Readonly<Record<string, number>>;
  readonly note?: string;
}

function timersAfter(before: readonly Timer[], plan: Plan, now: number, kept: Cause['kept']): Timer[] {
  let timers = [...before];
  for (const operation of plan.timers) {
    timers = timers.filter(({ id }) => id !== operation.id);
    if (operation.kind === 'arm') {
      timers.push({ id: operation.id, dueAt: kept?.[operation.id] ?? now + operation.delayMs });
    }
  }
  return plan.final ? [] : timers.sort((a, b) => a.dueAt - b.dueAt);
}

function carryOut(world: TurnWorld, plan: Plan, cause: Cause): TurnWorld {
  const { now } = world;
  const timers = timersAfter(world.live?.timers ?? [], plan, now, cause.kept);
  const asked = plan.directive !== 'none';
  const early = now - world.writtenAt < CHECKPOINT_DEBOUNCE_MS;
  // Where the outcome of a stored call has to be written anyway, the checkpoint goes along.
  const due = plan.directive === 'forced' || (asked && (!early || storedChanged(world.disk, world.calls)));
  const progress = cause.progress || (world.live?.progress ?? false);
  const live: Live = {
    snapshot: plan.next,
    phase: plan.phase,
    final: plan.final,
    timers,
    running: plan.final ? [] : plan.entered ? plan.effects : (world.live?.running ?? []),
    dirty: !due && (asked || (world.live?.dirty ?? false)),
    progress: due ? false : progress,
  };
  const handedOver = cause.what === 'turn.handedOver';
  const disk = due ? commit(world.disk, { ...live, now, calls: world.calls, handedOver, progress }) : world.disk;
  const entry: Entry = {
    at: now,
    what: cause.what,
    edges: cause.edges,
    phase: plan.phase,
    effects: plan.effects,
    edits: plan.edits,
    checkpoint: due ? 'written' : asked ? 'postponed' : null,
    directive: plan.directive,
    note: cause.note ?? (plan.softIdle ? 'announces that the model is silent' : ''),
  };
  return { ...world, live, disk, writtenAt: due ? now : world.writtenAt, entries: [...world.entries, entry] };
}

/** What a checkpoint of this very moment would hold. */
export function checkpointNow(world: TurnWorld): Disk['checkpoint'] | null {
  const { live, now, calls } = world;
  return live === null ? null : commit(world.disk, { ...live, now, calls, handedOver: false }).checkpoint;
}

/** What an event says about the calls of the turn; the engine reads it from its journal. */
function callsAfter(calls: readonly Call[], event: TurnEvent | TimerEvent): readonly Call[] {
  const settle = () => calls.map((call): Call => ({ ...call, state: 'settled' }));
  switch (event.type) {
    case 'model.answered':
      return [
        ...calls,
        ...(event as Extract<TurnEvent, { type: 'model.answered' }>).calls.map(
          ({ effect, needsDecision }, k): Call => ({
            name: `call ${calls.length + k + 1}`,
            effect,
            state: needsDecision ? 'prepared' : 'dispatched',
          }),
        ),
      ];
    case 'approvals.decided':
      return calls.map((call): Call => (call.state === 'prepared' ? { ...call, state: 'dispatched' } : call));
    case 'calls.settled':
    case 'calls.reviewed':
    case 'turn.cancelled':
    case 'turn.faulted':
      return settle();
    default:
      // Calls nobody allowed in time are refused.
      if (!event.type.startsWith('xstate.after.approvalDeadline')) return calls;
      return calls.map((call): Call => (call.state === 'prepared' ? { ...call, state: 'settled' } : call));
  }
}

const PROGRESS = new Set(['model.answered', 'calls.settled', 'calls.reviewed']);

export function send(world: TurnWorld, event: TurnEvent | TimerEvent, what: string = event.type): TurnWorld {
  const { live } = world;
  if (live === null || live.final) return world;
  return answering(world.guards, () => {
    const { edges } = watch.take(live.snapshot, event);
    const plan = step(turn, live.snapshot, event);
    if (plan === undefined || edges.length === 0) return world;
    const changed = { ...world, calls: callsAfter(world.calls, event) };
    return carryOut(changed, plan, { what, edges, progress: PROGRESS.has(event.type) });
  });
}

/** Whether an event does anything in the phase the turn is in. */
export function matters(world: TurnWorld, event: TurnEvent): boolean {
  const { live } = world;
  if (live === null || live.final) return false;
  return answering(world.guards, () => watch.take(live.snapshot, event).edges.length > 0);
}

/** Lets time pass; what becomes due on the way happens at its moment, in its order. */
export function pass(world: TurnWorld, ms: number): TurnWorld {
  const until = world.now + ms;
  let at = world;
  for (;;) {
    const [next] = at.live?.timers ?? [];
    if (next === undefined || next.dueAt > until || at.live?.final === true) return { ...at, now: until };
    const live = { ...(at.live as Live), timers: (at.live as Live).timers.slice(1) };
    const moved = { ...at, now: Math.max(at.now, next.dueAt), live };
    at = send(moved, { type: next.id as TimerEvent['type'] }, `time-out ${next.id.split('.')[2] ?? next.id}`);
  }
}

export function passToNext(world: TurnWorld): TurnWorld {
  const [next] = world.live?.timers ?? [];
  return next === undefined ? world : pass(world, Math.max(0, next.dueAt - world.now));
}

export function crash(world: TurnWorld): TurnWorld {
  if (world.live === null) return world;
  const lost = world.live.dirty ? 'A postponed checkpoint is lost with it.' : '';
  const entry: Entry = {
    ...noted(world, 'crash', lost),
    phase: 'not running',
  };
  return { ...world, live: null, calls: world.disk?.calls ?? [], recovery: null, entries: [...world.entries, entry] };
}

function noted(world: TurnWorld, what: string, note: string): Entry {
  return {
    at: world.now,
    what,
    edges: [],
    phase: world.live?.phase ?? 'not running',
    effects: [],
    edits: [],
    checkpoint: null,
    directive: 'none',
    note,
  };
}

/** Starts the process again: the gates are asked, and a turn that passes them goes on where its checkpoint was. */
export function restore(world: TurnWorld, byPerson: boolean): TurnWorld {
  const { disk } = world;
  const what = byPerson ? 'resume by a person' : 'recover()';
  if (world.live !== null || disk === null) return world;
  if (!disk.inProgress && !disk.outcomeDue && !byPerson) {
    return { ...world, recovery: null, entries: [...world.entries, noted(world, what, 'no marker: nothing to do')] };
  }
  return answering(world.guards, () => {
    // What was abandoned stays on disk, and a person may still take it up; an end is an end.
    const abandoned = disk.ended?.startsWith('abandoned') === true;
    const found = byPerson && abandoned ? { ...disk, inProgress: true, ended: null } : disk;
    const recovery = recover(found, world.now, { byPerson, ...world.how });
    const note = `${recovery.verdict} at the gate ${recovery.gate}: ${recovery.reason}`;
    const asked = { ...world, disk: recovery.disk, recovery };
    const goesOn = recovery.verdict === 'resumed' || recovery.verdict === 'reviewRequired';
    const decoded = goesOn ? decodeCheckpoint(turn, JSON.parse(JSON.stringify(disk.checkpoint))) : undefined;
    if (decoded?.ok !== true) return { ...asked, entries: [...world.entries, noted(world, what, note)] };
    return resume(asked, decoded, what, note);
  });
}

function resume(
  world: TurnWorld,
  { snapshot, deadlines }: { snapshot: TurnSnapshot; deadlines: Readonly<Record<string, number>> },
  what: string,
  note: string,
): TurnWorld {
  const event = { type: 'turn.resumed', limits: UNATTENDED_LIMITS } as const;
  const plan = step(turn, snapshot, event);
  if (plan === undefined) return world;
  const { edges } = watch.take(snapshot, event);
  const kept = keepsDeadlines(snapshot) ? deadlines : {};
  const resumed = carryOut(world, plan, { what, edges, progress: false, kept, note });
  const parked = world.recovery?.verdict === 'reviewRequired' ? send(resumed, { type: 'calls.inDoubt' }) : resumed;
  // A moment that passed while nobody ran is due at once.
  return pass(parked, 0);
}
