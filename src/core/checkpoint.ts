/**
 * Owns the envelope of a checkpoint: what is written of a snapshot, and the strict way back.
 * Must not know where it is stored. A checkpoint that cannot be read is a value with a reason, never a throw:
 * recovery abandons its turn with an event and goes on.
 */
import type { Cause, Limits, TurnContext, TurnMachine } from '../../machines/index.js';
import { messageOf } from './errors.js';
import { asJson, equalJson, type Json } from './json.js';
import type { Checkpoint, Phase } from './records.js';
import { shown } from './shown.js';
import { phaseOf, type TurnSnapshot } from './step.js';

export const CHECKPOINT_FORMAT = 1;

export type Decoded =
  | { readonly ok: true; readonly snapshot: TurnSnapshot; readonly deadlines: Checkpoint['deadlines'] }
  | { readonly ok: false; readonly reason: string };

/**
 * Brings a checkpoint of another machine version into the form of this one, or gives undefined where it cannot.
 * Called before anything else looks at the snapshot.
 */
export type Migrate = (
  checkpoint: Checkpoint,
  to: { machineId: string; machineVersion: string },
) => Checkpoint | undefined;

const versionOf = (machine: TurnMachine): string => machine.version ?? '';

export function encodeCheckpoint(
  machine: TurnMachine,
  snapshot: TurnSnapshot,
  facts: Pick<Checkpoint, 'turnId' | 'revision' | 'savedAt' | 'deadlines'>,
): Checkpoint {
  // Plain data: the chart has no children and its context is JSON. XState lists an output and an error it has not.
  const { output: _output, error: _error, ...persisted } = machine.getPersistedSnapshot(snapshot);
  return {
    format: CHECKPOINT_FORMAT,
    machineId: machine.id,
    machineVersion: versionOf(machine),
    ...facts,
    snapshot: asJson(persisted, 'snapshot'),
  };
}

export function decodeCheckpoint(machine: TurnMachine, stored: Json | null, migrate?: Migrate): Decoded {
  try {
    return decode(machine, stored, migrate);
  } catch (thrown) {
    return { ok: false, reason: `the checkpoint cannot be restored: ${messageOf(thrown)}` };
  }
}

function decode(machine: TurnMachine, stored: Json | null, migrate: Migrate | undefined): Decoded {
  const no = (reason: string): Decoded => ({ ok: false, reason });
  if (!isRecord(stored)) return no('there is no checkpoint');
  if (stored.format !== CHECKPOINT_FORMAT) return no(`checkpoint format ${shown(stored.format)} is unknown`);
  let checkpoint = stored as unknown as Checkpoint;
  if (checkpoint.machineId !== machine.id || checkpoint.machineVersion !== versionOf(machine)) {
    const from = `${checkpoint.machineId}@${checkpoint.machineVersion}`;
    const migrated = migrate?.(checkpoint, { machineId: machine.id, machineVersion: versionOf(machine) });
    if (migrated === undefined) return no(`made by machine ${from}, this is ${machine.id}@${versionOf(machine)}`);
    checkpoint = migrated;
  }
  const { snapshot, deadlines } = checkpoint;
  if (!isRecord(snapshot) || snapshot.status !== 'active') return no('the snapshot is not active');
  if (!isRecord(snapshot.children) || Object.keys(snapshot.children).length > 0) return no('the snapshot has children');
  const fault = contextFault(snapshot.context);
  if (fault !== undefined) return no(`the context is not valid: ${fault}`);
  if (!isRecord(deadlines) || !Object.values(deadlines).every(Number.isFinite))
    return no('the deadlines are not valid');
  const restored = machine.restoreSnapshot(snapshot as never, NO_SCOPE) as TurnSnapshot;
  // XState accepts some unknown states silently and starts in the initial one (see the test for the forms).
  if (!isRest(snapshot.value) || !equalJson(restored.value, snapshot.value)) {
    return no('the snapshot names no state a turn of this machine can rest in');
  }
  return { ok: true, snapshot: restored, deadlines };
}

/** Where a turn can rest; other phases are passed within one step, or are its end. */
const RESTING: ReadonlySet<string> = new Set<Phase>([
  'setup',
  'awaitingLLM',
  'retryingLLM',
  'compacting',
  'awaitingApproval',
  'executingTools',
  'awaitingReview',
  'forceStop',
]);

const isRest = (value: unknown): value is { running: string | object } =>
  isRecord(value) && isOnePath(value) && isOnePath(value.running) && RESTING.has(phaseOf({ value }));

/** The chart has no parallel states: two at once are the union of two checkpoints, and XState would restore it. */
function isOnePath(value: unknown): boolean {
  if (typeof value === 'string') return true;
  if (!isRecord(value)) return false;
  const inner = Object.values(value);
  return inner.length === 1 && isOnePath(inner[0]);
}

/** XState wants an actor scope to restore children with; this chart has none. */
const NO_SCOPE = undefined as never;

const isRecord = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Check = (value: unknown) => boolean;
const text: Check = (value) => typeof value === 'string';
const count: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const flag: Check = (value) => typeof value === 'boolean';
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const LIMITS: { readonly [name in keyof Limits]: Check } = {
  idleSoftMs: count,
  idleHardMs: count,
  turnMs: count,
  maxModelCalls: count,
  maxIterations: count,
  maxTokens: count,
  retryElapsedMs: count,
  approvalMs: count,
  toolMs: count,
  parallelCalls: count,
  outputBytes: count,
};

const CAUSES: { readonly [kind in Cause['kind']]: { readonly [name: string]: Check } } = {
  hardIdle: {},
  modelError: { error: text, reason: text, retryAfterMs: orNull(Number.isFinite) },
  modelFault: { fault: text },
  stop: {},
  compactionRefused: { reason: text },
  setup: { reason: text },
  policy: { reason: text },
};

function isCause(value: unknown): boolean {
  if (!isRecord(value) || typeof value.kind !== 'string' || !Object.hasOwn(CAUSES, value.kind)) return false;
  return faultOf(value, { kind: text, ...CAUSES[value.kind as Cause['kind']] }) === undefined;
}

const CONTEXT: { readonly [name in keyof TurnContext]: Check } = {
  turnId: text,
  limits: (value) => faultOf(value, LIMITS) === undefined,
  cause: orNull(isCause),
  modelFailures: count,
  failingSince: orNull(Number.isFinite),
  failedAt: orNull(Number.isFinite),
  iterations: count,
  nudges: (value) => Array.isArray(value) && value.every(count),
  stopAsked: orNull(text),
  stopping: orNull(text),
  compactedForLength: flag,
  pendingInput: count,
};

const contextFault = (value: unknown): string | undefined => faultOf(value, CONTEXT);

/** The first field that is not as it should be; unknown fields are faults too, they come from another version. */
function faultOf(value: unknown, checks: { readonly [name: string]: Check }): string | undefined {
  if (!isRecord(value)) return 'it is no object';
  for (const [name, check] of Object.entries(checks)) if (!check(value[name])) return `"${name}"`;
  return Object.keys(value).find((name) => !Object.hasOwn(checks, name));
}
