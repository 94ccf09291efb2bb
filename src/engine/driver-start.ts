/**
 * Owns what a driver is given at its start, and what it tells the engine.
 * Must not know how it drives.
 */
import { HardIdleTimeout } from '../core/errors.js';
import type { TurnRest } from '../core/events.js';
import type { Lease } from '../core/ports.js';
import type { Head, Phase } from '../core/records.js';
import type { Plan } from '../core/step.js';
import type { Announcer } from './announcer.js';
import type { HeadWriter } from './head-writer.js';
import type { Settings } from './options.js';
import type { LateOutcome } from './tool-work.js';
import type { TurnRecords } from './turn-records.js';
import type { Foreign } from './turn-scope.js';

/** Where a driver stopped. `lost`: somebody else owns the session, or the turn cannot go on in this process. */
export type DriverEnd = TurnRest | { readonly status: 'lost' };

export interface DriverHost {
  readonly announcer: Announcer;
  /** The driver is done: its turn ended, parked, was handed over or lost. */
  rested(driver: TurnName & { readonly lease: Lease; readonly head: Head }, end: DriverEnd): void;
  /** Somebody said, from an authenticated request, that they are there. */
  isPresent(sessionId: string): boolean;
  readonly late: LateOutcome;
}

export interface TurnName {
  readonly sessionId: string;
  readonly turnId: string;
}

export interface DriverStart {
  readonly settings: Settings;
  readonly host: DriverHost;
  readonly writer: HeadWriter;
  readonly records: TurnRecords;
  readonly lease: Lease;
  readonly attended: boolean;
  /** The recovery attempt; 0 in the first run. */
  readonly attempt: number;
  /** It was cut off, not parked: the model is told. */
  readonly interrupted: boolean;
  /** Built by recovery before the turn is resumed; a first run builds it in `setup`. */
  readonly foreign?: Foreign;
}

/** Why what a phase had started is aborted. */
export const endOf = ({ next, phase }: Plan): Error =>
  next.context.cause?.kind === 'hardIdle' ? new HardIdleTimeout('The model was silent for too long.') : wentOnTo(phase);

/** One for each phase: their stacks would all say the same, and taking one at every step costs more than the step. */
const reasons = new Map<Phase, Error>();

function wentOnTo(phase: Phase): Error {
  const known = reasons.get(phase);
  if (known !== undefined) return known;
  const reason = new Error(`The turn went on to ${phase}.`);
  // V8 keeps what the frames of a stack refer to until it is a text: the first turn of the process, with all it knows.
  reason.stack = String(reason);
  reasons.set(phase, reason);
  return reason;
}
