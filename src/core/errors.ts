/**
 * Owns the errors of the product and their stable codes.
 * Must not know who throws them. Ends that are part of life are outcomes, not errors; misuse is a TypeError.
 */
import type { ModelErrorKind } from '../../machines/index.js';
import { shown } from './shown.js';

/** Codes do not change between majors, messages may. */
export type TurnErrorCode =
  | 'TURN_BUSY'
  | 'TURN_CALL_NOT_IN_DOUBT'
  | 'TURN_CONFLICT'
  | 'TURN_DAMAGED'
  | 'TURN_ENGINE_CLOSING'
  | 'TURN_INBOX_FULL'
  | 'TURN_INVALID_VALUE'
  | 'TURN_NOT_FOUND'
  | 'TURN_NOT_RESUMABLE'
  | 'TURN_OUTCOMES_DUE'
  | 'TURN_POLICY'
  | 'TURN_STORE_CLOSED'
  | 'TURN_STORE_FAILED'
  | 'TURN_STORE_FORMAT'
  | 'TURN_STORE_LOCKED'
  | 'TURN_TOO_LARGE';

/** Worth another try without changing anything: the cause may pass by itself. */
const RETRYABLE: ReadonlySet<TurnErrorCode> = new Set([
  'TURN_BUSY',
  'TURN_ENGINE_CLOSING',
  'TURN_INBOX_FULL',
  'TURN_OUTCOMES_DUE',
  'TURN_STORE_FAILED',
  'TURN_STORE_LOCKED',
]);

export class TurnError extends Error {
  override readonly name = 'TurnError';
  readonly code: TurnErrorCode;
  readonly retryable: boolean;

  constructor(code: TurnErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = RETRYABLE.has(code);
  }
}

const KINDS: Readonly<Record<ModelErrorKind, true>> = {
  rateLimited: true,
  overloaded: true,
  network: true,
  contextLength: true,
  rejected: true,
  auth: true,
  other: true,
};

export const MODEL_ERROR_KINDS = Object.keys(KINDS) as readonly ModelErrorKind[];

export const isModelErrorKind = (kind: unknown): kind is ModelErrorKind =>
  typeof kind === 'string' && Object.hasOwn(KINDS, kind);

/** Thrown by a model port: the call failed, and this is the kind. Anything else it throws counts as `other`. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  /** How long the provider asks to wait, in ms. */
  readonly retryAfterMs: number | undefined;

  /** @throws {TypeError} for an unknown kind: it would count as `other`, and nothing would be tried again. */
  constructor(kind: ModelErrorKind, message: string, options?: { retryAfterMs?: number; cause?: unknown }) {
    if (!isModelErrorKind(kind)) {
      // With the message: whoever reads how the turn ended needs to know what the provider said as well.
      const must = `kind must be one of ${MODEL_ERROR_KINDS.join(', ')}, not ${shown(kind)}`;
      throw new TypeError(`${must} (of the ModelError ${shown(message)}).`, { cause: options?.cause });
    }
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** Thrown by a tool: it sent something and nobody knows whether it landed. The call is in doubt at once. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** Thrown by a tool: nothing happened. The next identical call gets the next idempotency key. */
export class DefinitiveFailure extends Error {
  override readonly name = 'DefinitiveFailure';
}

/** The cause of an aborted model call: the provider was silent for longer than `idleHardMs`. */
export class HardIdleTimeout extends Error {
  override readonly name = 'HardIdleTimeout';
}

/** What can be said about anything that was thrown, `null`, strings and objects that resist included. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (typeof thrown === 'string') return thrown;
    if (thrown instanceof Error) return asText(thrown.message === '' ? thrown.name : thrown.message);
    return `a value that is not an Error was thrown (${asText(thrown)})`;
  } catch {
    return 'a value that is not an Error was thrown, and it cannot be read';
  }
}

/** Lists are only named: to join an array takes as long as it says it is long, and an empty one may say 4e9. */
function asText(value: unknown): string {
  return Array.isArray(value) || ArrayBuffer.isView(value) ? Object.prototype.toString.call(value) : String(value);
}
