// Checkpoints as a store gives them back: good ones of every phase, and the same with something changed.
import { type TurnMachine, turnMachine } from '../../machines/index.js';
import { decodeCheckpoint, encodeCheckpoint, type Migrate } from '../../src/core/checkpoint.js';
import { checkJson, type Json } from '../../src/core/json.js';
import type { Checkpoint } from '../../src/core/records.js';
import type { TurnSnapshot } from '../../src/core/step.js';
import { inPhase } from '../machines/turn-runs.js';

export const CHECKPOINT_FACTS = {
  turnId: 't1',
  revision: 3,
  savedAt: 99,
  deadlines: { 'xstate.after.backOff.retryingLLM': 500 },
};

export function stored(snapshot: TurnSnapshot, machine: TurnMachine = turnMachine): Checkpoint {
  const checkpoint = encodeCheckpoint(machine, snapshot, CHECKPOINT_FACTS);
  checkJson(checkpoint, 'checkpoint');
  return JSON.parse(JSON.stringify(checkpoint));
}

/** Loose on purpose: spoiled checkpoints are wrong, and TypeScript would not let them be written. */
export type Loose = { -readonly [name in keyof Checkpoint]: any };

export function spoiled(change: (checkpoint: Loose) => void, phase = 'executingTools'): Checkpoint {
  const checkpoint = stored(inPhase(phase).snapshot);
  change(checkpoint);
  return checkpoint;
}

/** Why a checkpoint is refused, or `ok`. */
export function reasonOf(checkpoint: unknown, migrate?: Migrate): string {
  const decoded = decodeCheckpoint(turnMachine, checkpoint as Json, migrate);
  return decoded.ok ? 'ok' : decoded.reason;
}
