/**
 * Owns how ids are built and taken apart: a turn id contains its session id, a call id its turn id, so that no
 * look-up needs another index. Must not know where ids come from.
 */
import { ID_BYTES } from '../../machines/index.js';

/**
 * Checks an id that the application chose.
 * @throws {TypeError} names the field, the rule and what to do.
 */
export function checkId(value: unknown, field: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${field} must be a non-empty string.`);
  if (!value.isWellFormed()) throw new TypeError(`${field} has a lone surrogate; ids with one collide once stored.`);
  // One UTF-16 unit is at most three bytes: short ids need no encoding to be known as short.
  if (value.length * 3 > ID_BYTES && new TextEncoder().encode(value).length > ID_BYTES) {
    throw new TypeError(
      `${field} is longer than ${ID_BYTES} bytes (UTF-8); store the long value in the context instead.`,
    );
  }
}

/** Readable, without dots and without anything a key uses as a separator. */
export function encodeId(id: string): string {
  if (UNCHANGED.test(id)) return id;
  if (ONLY_DOTS.test(id)) return id.replaceAll('.', '%2E');
  return encodeURIComponent(id).replace(/[.!'()*~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Most ids that others chose: their encoding is what they are. */
const UNCHANGED = /^[A-Za-z0-9_-]*$/;
/** Ids of turns and calls. */
const ONLY_DOTS = /^[A-Za-z0-9_.-]*$/;

export const turnIdOf = (sessionId: string, unique: string): string => `${encodeId(sessionId)}.${unique}`;

/** undefined where the text is no turn id of ours. */
export function sessionOfTurn(turnId: string): string | undefined {
  const [session, unique, ...rest] = turnId.split('.');
  if (session === undefined || unique === undefined || session === '' || unique === '' || rest.length > 0) return;
  try {
    const sessionId = decodeURIComponent(session);
    return encodeId(sessionId) === session && encodeId(unique) === unique ? sessionId : undefined;
  } catch {
    return undefined;
  }
}

/** `response` counts the answers of the turn, `index` the calls of the answer: provider ids repeat, these do not. */
export const callIdOf = (turnId: string, response: number, index: number): string =>
  `${turnId}.${String(response).padStart(5, '0')}.${String(index).padStart(4, '0')}`;

/** undefined where the text is no call id of ours. */
export function turnOfCall(callId: string): string | undefined {
  const match = /^([^.]+\.[^.]+)\.(\d{5,})\.(\d{4,})$/.exec(callId);
  if (match === null) return undefined;
  const turnId = match[1] as string;
  const isOurs = callIdOf(turnId, Number(match[2]), Number(match[3])) === callId;
  return isOurs && sessionOfTurn(turnId) !== undefined ? turnId : undefined;
}
