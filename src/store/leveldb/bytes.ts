/**
 * Owns the small encodings of LevelDB's files: varints and masked checksums (CRC-32C).
 * Must not know any file. These files are read without LevelDB, which verifies no checksum and can abort the process.
 */

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;
const MASK_DELTA = 0xa282ead8;

/** Eight tables, so that eight bytes go in one step: about 700 MB/s, where one table does a third of it. */
const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at += 1) {
    const before = tables[at - 256] as number;
    tables[at] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}

/** One more byte; starts with -1, and the checksum is the complement of what is there at the end. */
export const crcStep = (crc: number, byte: number): number => (crc >>> 8) ^ (TABLES[(crc ^ byte) & 255] as number);

/** The CRC-32C of a part of `bytes`. */
export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  // Indices are in range by construction; a check of each would halve the speed.
  const t = TABLES as unknown as { readonly [at: number]: number };
  const b = bytes as unknown as { readonly [at: number]: number };
  let crc = -1;
  let at = from;
  for (; at + SLICES <= to; at += SLICES) {
    crc ^= b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24);
    crc =
      t[1792 + (crc & 255)]! ^
      t[1536 + ((crc >>> 8) & 255)]! ^
      t[1280 + ((crc >>> 16) & 255)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + b[at + 4]!]! ^
      t[512 + b[at + 5]!]! ^
      t[256 + b[at + 6]!]! ^
      t[b[at + 7]!]!;
  }
  for (; at < to; at += 1) crc = crcStep(crc, b[at]!);
  return (crc ^ -1) >>> 0;
}

/** LevelDB stores checksums rotated, because a checksum over bytes that hold checksums is weak. */
export const masked = (crc: number): number => (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;

/** Reads what LevelDB encoded, front to back; null where the bytes end too early or make no sense. */
export class Reader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get done(): boolean {
    return this.at >= this.#bytes.length;
  }

  /** Numbers above 2^53 are none of LevelDB's making: no file has that many bytes or writes. */
  varint(): number | null {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) return null;
      this.at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return Number.isSafeInteger(value) ? value : null;
    }
    return null;
  }

  bytes(length: number): Buffer | null {
    if (this.at + length > this.#bytes.length) return null;
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  prefixed(): Buffer | null {
    const length = this.varint();
    return length === null ? null : this.bytes(length);
  }

  /** Goes behind what `prefixed` would give. */
  skipPrefixed(): boolean {
    const length = this.varint();
    if (length === null || this.at + length > this.#bytes.length) return false;
    this.at += length;
    return true;
  }
}

/** A number of eight bytes, little endian; null above 2^53. */
export function fixed64(bytes: Buffer, at: number): number | null {
  const value = bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
  return Number.isSafeInteger(value) ? value : null;
}
