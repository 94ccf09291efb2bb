/**
 * Owns the form of LevelDB's tables: sorted entries in checksummed blocks, an index of the blocks, a footer.
 * Must not know which tables are in use. Nothing that is read here is trusted before its checksum was verified.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { entriesBetween, entriesOf, type RawEntry } from './block-entries.js';
import { crc32c, masked, Reader } from './bytes.js';
import { openFile } from './regular-file.js';
import { unsnappy } from './snappy.js';
import type { Write } from './write-batch.js';

const FOOTER = 48;
/** Blocks have 4 KB, and lie one behind the other: read one by one, the calls would cost more than the checksums. */
const READ_BYTES = 1 << 18;
const TRAILER = 5;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');
/** Behind the key: the number of the write and what it did. */
const MARK = 8;

export interface Handle {
  readonly offset: number;
  readonly size: number;
}

export interface IndexedBlock extends Handle {
  /** Not below any key of the block. */
  readonly last: Buffer;
}

/** A part of the keys, `to` excluded. */
export interface Span {
  readonly from: Buffer;
  readonly to: Buffer;
}

export class TableFile {
  readonly size: number;
  readonly #file: number;

  /** @throws What the file system throws, and for what is no file. */
  constructor(path: string) {
    this.#file = openFile(path);
    this.size = fstatSync(this.#file).size;
  }

  close(): void {
    closeSync(this.#file);
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - offset)));
    const got = bytes.length === 0 ? 0 : readSync(this.#file, bytes, 0, bytes.length, offset);
    return bytes.subarray(0, got);
  }

  /** @returns null for a block that is not as it was written. */
  block(handle: Handle): Buffer | null {
    if (handle.offset + handle.size + TRAILER > this.size) return null;
    const bytes = this.read(handle.offset, handle.size + TRAILER);
    return bytes.length === handle.size + TRAILER ? verified(bytes) : null;
  }

  /**
   * The first block that is not as it was written. Its checksum covers what is stored, so nothing is unpacked.
   * @param blocks In the order of the file.
   */
  damaged(blocks: readonly Handle[]): Handle | null {
    for (let nth = 0; nth < blocks.length; ) {
      const { offset } = blocks[nth] as Handle;
      const bytes = this.read(offset, Math.max(READ_BYTES, endOf(blocks[nth] as Handle) - offset));
      const first = nth;
      for (; nth < blocks.length; nth += 1) {
        const block = blocks[nth] as Handle;
        const [from, to] = [block.offset - offset, endOf(block) - offset];
        // Not in what was read: the next reading begins there. One that even begins a reading is not in the file.
        if (from < 0 || to > bytes.length) {
          if (nth === first) return block;
          break;
        }
        if (!isWhole(bytes, from, to)) return block;
      }
    }
    return null;
  }

  /**
   * The blocks in order, from footer and index.
   * @param size What the manifest says: bytes behind that are not the table's.
   * @returns null where footer or index is damaged.
   */
  index(size: number): readonly IndexedBlock[] | null {
    const index = this.#indexBlock(size);
    return index === null ? null : indexedBlocks(entriesOf(index));
  }

  /**
   * Of the same, those that can hold keys of spans, which the table has to reach into.
   * @param spans In the order of keys.
   */
  within(size: number, spans: readonly Span[]): readonly IndexedBlock[] | null {
    const index = this.#indexBlock(size);
    const found = new Map<number, IndexedBlock>();
    for (const span of spans) {
      const blocks = index === null ? null : blocksWithin(index, span);
      if (blocks === null) return null;
      // One block may hold the end of a span and the beginning of the next.
      for (const block of blocks) found.set(block.offset, block);
    }
    return [...found.values()];
  }

  #indexBlock(size: number): Buffer | null {
    const footer = size < FOOTER ? Buffer.alloc(0) : this.read(size - FOOTER, FOOTER);
    if (footer.length < FOOTER || !footer.subarray(FOOTER - MAGIC.length).equals(MAGIC)) return null;
    const reader = new Reader(footer);
    const meta = handleFrom(reader);
    const index = handleFrom(reader);
    if (meta === null || index === null) return null;
    // Also what nobody reads but LevelDB: the filter's place is in it.
    const [metaBlock, indexBlock] = [this.block(meta), this.block(index)];
    return metaBlock === null ? null : indexBlock;
  }

  /** Where its filters are; LevelDB believes them when they say that a key is not there. */
  filters(size: number): readonly Handle[] {
    const reader = new Reader(this.read(size - FOOTER, FOOTER));
    const meta = handleFrom(reader);
    const block = meta === null ? null : this.block(meta);
    const entries = block === null ? null : entriesOf(block);
    return (entries ?? []).flatMap(({ value }) => handleFrom(new Reader(value)) ?? []);
  }

  /** The writes of a block, sorted; null where it is damaged. */
  writes(handle: Handle): readonly Write[] | null {
    const block = this.block(handle);
    const entries = block === null ? null : entriesOf(block);
    return entries === null ? null : writesOf(entries);
  }
}

function handleFrom(reader: Reader): Handle | null {
  const offset = reader.varint();
  const size = reader.varint();
  return offset === null || size === null ? null : { offset, size };
}

function blocksWithin(index: Buffer, { from, to }: Span): readonly IndexedBlock[] | null {
  const compare = (key: Buffer, bound: Buffer): number =>
    key.compare(bound, 0, bound.length, 0, Math.max(0, key.length - MARK));
  const entries = entriesBetween(
    index,
    (key) => compare(key, from) < 0,
    (key) => compare(key, to) >= 0,
  );
  return indexedBlocks(entries)?.filter(({ last }) => last.compare(from) >= 0) ?? null;
}

function indexedBlocks(entries: readonly RawEntry[] | null): readonly IndexedBlock[] | null {
  if (entries === null) return null;
  const blocks: IndexedBlock[] = [];
  for (const { key, value } of entries) {
    const handle = handleFrom(new Reader(value));
    if (handle === null || key.length < MARK) return null;
    blocks.push({ ...handle, last: key.subarray(0, -MARK) });
  }
  return blocks;
}

const endOf = ({ offset, size }: Handle): number => offset + size + TRAILER;

/** A block with its trailer: the kind of compression and the checksum over both. */
const isWhole = (bytes: Buffer, from: number, to: number): boolean =>
  masked(crc32c(bytes, from, to - TRAILER + 1)) === bytes.readUInt32LE(to - TRAILER + 1);

function verified(bytes: Buffer): Buffer | null {
  const end = bytes.length - TRAILER;
  if (!isWhole(bytes, 0, bytes.length)) return null;
  const kind = bytes[end];
  if (kind === 0) return bytes.subarray(0, end);
  return kind === 1 ? unsnappy(bytes.subarray(0, end)) : null;
}

function writesOf(entries: readonly RawEntry[]): readonly Write[] | null {
  const writes: Write[] = [];
  for (const { key, value } of entries) {
    const write = writeOf(key, value);
    if (write === null) return null;
    const before = writes.at(-1);
    if (before !== undefined && compareWrites(before, write) >= 0) return null;
    writes.push(write);
  }
  return writes;
}

function writeOf(key: Buffer, value: Buffer): Write | null {
  if (key.length < MARK) return null;
  // The lowest of the eight bytes says what was done, the seven above are the number.
  const mark = key.length - MARK;
  const type = key[mark];
  const sequence = key.readUIntLE(mark + 1, 6) + (key[mark + 7] as number) * 2 ** 48;
  if (!Number.isSafeInteger(sequence) || (type !== 0 && type !== 1)) return null;
  return { key: key.subarray(0, mark), sequence, value: type === 1 ? value : null };
}

/** LevelDB's order: by key, the newest write of a key first. */
export const compareWrites = (a: Write, b: Write): number => a.key.compare(b.key) || b.sequence - a.sequence;
