/**
 * Owns what happens to bytes that cannot be read: how they are reported and where they are kept.
 * Must not know why they are damaged. Nothing stored may stop the store or another session (I12).
 */
import { TurnError } from '../core/errors.js';
import type { Json } from '../core/json.js';
import type { DamagedSession } from '../core/ports.js';
import { damageKey } from './keys.js';
import { encodeRecord } from './records.js';
import { type Op, put } from './tables.js';

/** @returns {TurnError} TURN_DAMAGED, naming session and record. */
export function damaged(sessionId: string, record: string, how: string): TurnError {
  return new TurnError(
    'TURN_DAMAGED',
    `Session ${JSON.stringify(sessionId)}: ${record} ${how}. Its bytes are kept until the session is deleted.`,
  );
}

/** The same for a record that was looked up by its own id. */
export function damagedRecord(kind: string, key: string, how: string): TurnError {
  return new TurnError('TURN_DAMAGED', `The ${kind} record ${key} has ${how}. Its bytes are kept.`);
}

/** Notes what a repair found, until somebody was told. */
export function damageOp(damage: DamagedSession): Op {
  const key = damageKey(damage.sessionId);
  const note: Json = { ...damage, reason: damage.reason.toWellFormed() };
  return put('meta', key, encodeRecord('meta', key, 0, note, 'damage'));
}
