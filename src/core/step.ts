/**
 * Owns the one place where the turn chart moves: snapshot + event -> next snapshot, and a plan of what that asks for.
 * Must not know how a plan is carried out. With moves.ts and checkpoint.ts it holds every XState call of the product.
 */
import type { SnapshotFrom } from 'xstate';
import { OFF_MS, REASON_BYTES, type TurnEvent, type TurnInput, type TurnMachine } from '../../machines/index.js';
import { messageOf, TurnError } from './errors.js';
import { cutText } from './json.js';
import { type Action, firstMove, move } from './moves.js';
import type { Phase } from './records.js';

export type TurnSnapshot = SnapshotFrom<TurnMachine>;

/** A delayed transition of the chart that became due. Its name is made by XState from delay and state id. */
export interface TimerEvent {
  readonly type: `xstate.after.${string}`;
}

export type EffectName = 'loadSession' | 'callModel' | 'compact' | 'runCalls' | 'askPerson';
export type EditName = 'joinInput' | 'nudge' | 'expireApprovals';
export type Directive = 'none' | 'debounced' | 'forced';

export type TimerOperation =
  | { readonly kind: 'arm'; readonly id: string; readonly delayMs: number }
  | { readonly kind: 'cancel'; readonly id: string };

/** What one step of the chart asks of the driver. */
export interface Plan {
  readonly next: TurnSnapshot;
  readonly phase: Phase;
  /** The phase was entered or entered again: effects and timers of the one before are out of date. */
  readonly entered: boolean;
  readonly final: boolean;
  readonly directive: Directive;
  /** Changes of transcript and journal that belong into the commit of this step. */
  readonly edits: readonly EditName[];
  readonly effects: readonly EffectName[];
  /** In the order of the chart: a resume cancels and arms the same id. */
  readonly timers: readonly TimerOperation[];
  readonly softIdle: boolean;
}

const EFFECTS: ReadonlySet<string> = new Set<EffectName>([
  'loadSession',
  'callModel',
  'compact',
  'runCalls',
  'askPerson',
]);
const EDITS: ReadonlySet<string> = new Set<EditName>(['joinInput', 'nudge', 'expireApprovals']);

/**
 * The first step of a turn.
 * @throws {TurnError} TURN_POLICY when the machine given to the engine cannot start.
 */
export function firstStep(machine: TurnMachine, input: TurnInput): Plan {
  try {
    // A context factory that throws gives a snapshot with status `error` instead of throwing here.
    const [next, actions] = firstMove(machine, input);
    if (next.status === 'error') throw next.error;
    return planOf(null, next, actions);
  } catch (cause) {
    throw new TurnError('TURN_POLICY', `machine "${machine.id}" cannot start: ${messageOf(cause)}`, { cause });
  }
}

/**
 * One step. A guard, assign or delay of the application that fails does not throw out of here: it takes the turn
 * through the chart's unguarded `turn.faulted`. A turn that is over does not move (I8): undefined.
 */
export function step(machine: TurnMachine, snapshot: TurnSnapshot, event: TurnEvent | TimerEvent): Plan | undefined {
  if (snapshot.status !== 'active') return undefined;
  try {
    const [next, actions] = move(machine, snapshot, event as TurnEvent);
    if (next.status === 'error') throw next.error;
    return planOf(snapshot, next, actions);
  } catch (thrown) {
    if (event.type === 'turn.faulted') throw thrown;
    return step(machine, snapshot, { type: 'turn.faulted', reason: cutText(messageOf(thrown), REASON_BYTES) });
  }
}

/** The phase is the child of `running`, or the final state. */
export function phaseOf(snapshot: { readonly value: unknown }): Phase {
  const value = snapshot.value as string | { running: string | object };
  if (typeof value === 'string') return value as Phase;
  return (typeof value.running === 'string' ? value.running : Object.keys(value.running)[0]) as Phase;
}

/** The watchdog counts in these phases, and in no others (I13). */
export const isIdle = (snapshot: TurnSnapshot): boolean => snapshot.hasTag('idle');

/**
 * Whether a restore keeps the stored moments of this phase's timers. Silence is counted anew, and work that a restart
 * begins again gets its time again; what waits for a moment outside keeps it (I13).
 */
export const keepsDeadlines = (snapshot: TurnSnapshot): boolean => !isIdle(snapshot) && !snapshot.hasTag('redone');

function planOf(before: TurnSnapshot | null, next: TurnSnapshot, actions: readonly Action[]): Plan {
  let directive: Directive = 'none';
  let softIdle = false;
  const edits: EditName[] = [];
  const effects: EffectName[] = [];
  const timers: TimerOperation[] = [];
  for (const action of actions) {
    if (action.type === 'checkpointNow') directive = 'forced';
    else if (action.type === 'checkpoint') directive = directive === 'forced' ? 'forced' : 'debounced';
    else if (action.type === 'announceSoftIdle') softIdle = true;
    else if (EFFECTS.has(action.type)) effects.push(action.type as EffectName);
    else if (EDITS.has(action.type)) edits.push(action.type as EditName);
    else if (action.type === 'xstate.raise' || action.type === 'xstate.cancel') addTimer(action, timers);
  }
  const phase = phaseOf(next);
  return {
    next,
    phase,
    entered: before === null || phaseOf(before) !== phase || effects.length > 0 || armsPhase(timers, phase),
    final: next.status === 'done',
    directive,
    edits,
    effects,
    timers,
    softIdle,
  };
}

/** A phase without effects was entered again when its own time-out is armed; ids of timers end with the id of their state. */
const armsPhase = (timers: readonly TimerOperation[], phase: Phase): boolean =>
  timers.some((timer) => timer.kind === 'arm' && timer.id.endsWith(`.${phase}`));

/** An undelayed raise is already applied when XState lists it: only delayed ones are timers. */
function addTimer(action: Action, timers: TimerOperation[]): void {
  const params = action.params as { id?: string; sendId?: string; delay?: number };
  if (action.type === 'xstate.cancel') {
    timers.push({ kind: 'cancel', id: params.sendId as string });
    return;
  }
  if (!('delay' in params) || params.delay === undefined) {
    if (params.id === undefined) return;
    throw new TypeError(`the delay of "${params.id}" gives no number`);
  }
  if (!Number.isFinite(params.delay) || params.delay < 0 || params.delay > OFF_MS) {
    throw new RangeError(`the delay of "${params.id}" gives ${params.delay} ms; it must be 0 to ${OFF_MS}`);
  }
  timers.push({ kind: 'arm', id: params.id as string, delayMs: params.delay });
}
