/**
 * Owns how a large value is stored: cut into parts, with a small record in its place that names how many there are and
 * how long they are together. Must not know a database, nor what the value means.
 *
 * LevelDB's bindings copy a value in one go, which stalls the event loop, and each compaction moves it whole.
 *
 * The record in place of the value has the layout of any other with a version of its own; its payload is the number of
 * parts and the bytes of the value. A part has it too: checksum over key and content, a piece of the value as payload.
 */
import { type Kind, PART, partKey } from './keys.js';
import { isReference, PAYLOAD_AT, payloadOf, REFERENCE, revisionOf, seal, VERSION } from './records.js';

/** Bytes of the value in one part; what is not longer is stored as it is. */
export const PART_BYTES = 256 * 1024;

export const isLarge = (value: Buffer): boolean => value.length > PART_BYTES;

/** How many writes it takes to store a value. */
export const writesOf = (value: Buffer): number => (isLarge(value) ? 1 + Math.ceil(value.length / PART_BYTES) : 1);

const REFERENCE_PAYLOAD = 8;

export interface Cut {
  /** Takes the place of the value. */
  readonly reference: Buffer;
  readonly parts: readonly (readonly [key: string, bytes: Buffer])[];
}

export function cut(kind: Kind, key: string, value: Buffer): Cut {
  const keyOf = partKey(kind, key);
  const revision = revisionOf(value);
  const parts: [string, Buffer][] = [];
  for (let from = 0; from < value.length; from += PART_BYTES) {
    const name = keyOf(parts.length);
    parts.push([name, seal(PART, name, VERSION, revision, value.subarray(from, from + PART_BYTES))]);
  }
  const payload = Buffer.allocUnsafe(REFERENCE_PAYLOAD);
  payload.writeUInt32BE(parts.length, 0);
  payload.writeUInt32BE(value.length, 4);
  return { reference: seal(kind, key, REFERENCE, revision, payload), parts };
}

/** The keys of the parts that a stored record names; null where it names none, or is damaged. */
export function partsNamed(kind: Kind, key: string, stored: Buffer): readonly string[] | null {
  if (!isReference(stored) || stored.length !== PAYLOAD_AT + REFERENCE_PAYLOAD) return null;
  const payload = payloadOf(kind, key, stored);
  if (payload === null) return null;
  const [count, bytes] = [payload.readUInt32BE(0), payload.readUInt32BE(4)];
  if (count !== Math.ceil(bytes / PART_BYTES)) return null;
  const keyOf = partKey(kind, key);
  return Array.from({ length: count }, (_, nth) => keyOf(nth));
}

/**
 * The value again. Where a part is missing or not the one that was written with the record, what is there comes back
 * behind the record that names it: bytes that are kept, and that nobody takes for the value.
 */
export function join(stored: Buffer, names: readonly string[], found: readonly (Buffer | undefined)[]): Buffer {
  const pieces = found.map((bytes, nth) => (bytes === undefined ? null : payloadOf(PART, names[nth] as string, bytes)));
  const value = Buffer.concat(pieces.filter((piece) => piece !== null));
  const bytes = stored.readUInt32BE(PAYLOAD_AT + 4);
  const whole = pieces.every((piece) => piece !== null) && value.length === bytes;
  return whole ? value : Buffer.concat([stored, ...found.filter((one) => one !== undefined)]);
}
