/**
 * Owns the bytes of one record: version, the revision that wrote it, a checksum over key and value, JSON.
 * Must not know what the values mean or where they are stored.
 *
 * LevelDB does not verify its checksums on read. Without one of ours a flipped bit gave a valid value under a wrong
 * key, or surfaced an older version of a record; hence the key, the kind and the revision are part of it.
 *
 *   0      version of this layout
 *   1..6   revision, big endian
 *   7..10  CRC-32 of "kind!key", bytes 0..6 and the payload
 *   11..   payload: JSON, UTF-8; in a part and in what names parts: bytes (see parts.ts)
 */
import { crc32 } from 'node:zlib';
import { RECORD_BYTES } from '../../machines/index.js';
import { TurnError } from '../core/errors.js';
import { checkJson, type Json } from '../core/json.js';
import type { Kind, SublevelName } from './keys.js';

export const VERSION = 1;
/** The version of a record that names parts instead of holding the value. */
export const REFERENCE = 2;
const REVISION_AT = 1;
const REVISION_BYTES = 6;
const CHECKSUM_AT = REVISION_AT + REVISION_BYTES;
export const PAYLOAD_AT = CHECKSUM_AT + 4;

/** `an unknown version` also means: written by a newer release. */
export type Damage = 'too short' | 'an unknown version' | 'a wrong checksum' | 'no JSON' | 'a missing or damaged part';

export type Decoded =
  | { readonly ok: true; readonly revision: number; readonly value: Json }
  | { readonly ok: false; readonly damage: Damage };

/**
 * @param path What the value is called in an error.
 * @throws {TurnError} TURN_INVALID_VALUE for what is not JSON, TURN_TOO_LARGE for more than RECORD_BYTES.
 */
export function encodeRecord(kind: Kind, key: string, revision: number, value: unknown, path: string): Buffer {
  checkJson(value, path);
  const text = stringify(value, path);
  const bytes = Buffer.byteLength(text) + PAYLOAD_AT;
  if (bytes > RECORD_BYTES) throw tooLarge(path, `${bytes} bytes`);
  const record = Buffer.allocUnsafe(bytes);
  record.write(text, PAYLOAD_AT);
  return sealed(kind, key, VERSION, revision, record);
}

/** Never throws, whatever the bytes are, and never makes anything but plain JSON values. */
export function decodeRecord(kind: Kind, key: string, record: Buffer): Decoded {
  if (record.length <= PAYLOAD_AT) return { ok: false, damage: 'too short' };
  // The database gives back the whole value where it has it.
  if (isReference(record)) return { ok: false, damage: 'a missing or damaged part' };
  if (record[0] !== VERSION) return { ok: false, damage: 'an unknown version' };
  if (record.readUInt32BE(CHECKSUM_AT) !== checksum(kind, key, record))
    return { ok: false, damage: 'a wrong checksum' };
  try {
    const value = JSON.parse(record.toString('utf8', PAYLOAD_AT)) as Json;
    return { ok: true, revision: revisionOf(record), value };
  } catch {
    return { ok: false, damage: 'no JSON' };
  }
}

export const isReference = (record: Buffer): boolean => record[0] === REFERENCE;

/** A record whose payload is bytes. */
export function seal(place: SublevelName, key: string, version: number, revision: number, payload: Buffer): Buffer {
  const record = Buffer.allocUnsafe(PAYLOAD_AT + payload.length);
  payload.copy(record, PAYLOAD_AT);
  return sealed(place, key, version, revision, record);
}

/**
 * Writes what stands in front of the payload. First the bytes 0..6 right before the payload, so that the checksum over
 * both is one call: each costs as much again as the bytes of a small record.
 */
function sealed(place: SublevelName, key: string, version: number, revision: number, record: Buffer): Buffer {
  const front = PAYLOAD_AT - CHECKSUM_AT;
  record[front] = version;
  record.writeUIntBE(revision, front + REVISION_AT, REVISION_BYTES);
  const sum = crc32(record.subarray(front), crc32(`${place}!${key}`));
  record[0] = version;
  record.writeUIntBE(revision, REVISION_AT, REVISION_BYTES);
  record.writeUInt32BE(sum, CHECKSUM_AT);
  return record;
}

/** Its payload; null where it is damaged. */
export function payloadOf(place: SublevelName, key: string, record: Buffer): Buffer | null {
  if (record.length <= PAYLOAD_AT || record.readUInt32BE(CHECKSUM_AT) !== checksum(place, key, record)) return null;
  return record.subarray(PAYLOAD_AT);
}

/** The revision that wrote a record that was decoded. */
export const revisionOf = (record: Buffer): number => record.readUIntBE(REVISION_AT, REVISION_BYTES);

/** The checksum inside a record that was just encoded: stands for key and content. */
export const checksumOf = (record: Buffer): number => record.readUInt32BE(CHECKSUM_AT);

function checksum(kind: SublevelName, key: string, record: Buffer): number {
  const place = crc32(`${kind}!${key}`);
  return crc32(record.subarray(PAYLOAD_AT), crc32(record.subarray(0, CHECKSUM_AT), place));
}

function stringify(value: Json, path: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    // After checkJson only one thing is left: the text is longer than a string can be.
    throw tooLarge(path, 'longer than a string can be', cause);
  }
}

function tooLarge(path: string, size: string, cause?: unknown): TurnError {
  return new TurnError(
    'TURN_TOO_LARGE',
    `${path} is ${size}; one record may have ${RECORD_BYTES} bytes. Store large content outside and refer to it.`,
    cause === undefined ? undefined : { cause },
  );
}
