/**
 * Owns getting out of a folder of LevelDB every write that is whole, in the order of keys, without LevelDB.
 * Must not know records. What was deleted stays deleted, and the newest write of a key counts, wherever it lies.
 */
import { join } from 'node:path';
import type { FolderContent } from './folder-content.js';
import { searchBlocks } from './leveldb/block-search.js';
import { compareWrites, type Handle, TableFile } from './leveldb/table-file.js';
import type { Write } from './leveldb/write-batch.js';

/** Keys of which something may be missing, both ends included; null: any key. */
export type LostKeys = { readonly from: Buffer; readonly to: Buffer } | null;

type Table = FolderContent['tables'][number];

/** Writes of one source, in order, the next one in `write`. */
interface Cursor {
  write: Write;
  readonly rest: Iterator<Write>;
}

export class Salvage {
  /** Grows while the entries are read. */
  readonly lost: LostKeys[] = [];
  /** The number of the last write that was read. */
  lastSequence = 0;
  readonly #content: FolderContent;

  constructor(content: FolderContent) {
    this.#content = content;
  }

  /** The newest write of each key, deleted keys left out. */
  *entries(): Generator<Write & { readonly value: Buffer }> {
    const heap = new Heap();
    try {
      for (const source of this.#sources()) heap.add(source);
      let last: Buffer | null = null;
      for (let write = heap.take(); write !== null; write = heap.take()) {
        this.lastSequence = Math.max(this.lastSequence, write.sequence);
        if (last?.equals(write.key)) continue;
        last = write.key;
        if (write.value !== null) yield write as Write & { readonly value: Buffer };
      }
    } finally {
      // Whoever has seen enough leaves tables open.
      heap.close();
    }
  }

  *#sources(): Generator<Iterator<Write>> {
    yield [...this.#content.writes].sort(compareWrites).values();
    for (const table of this.#content.tables) yield this.#table(table);
  }

  *#table(table: Table): Generator<Write> {
    const keys = 'number' in table ? { from: table.smallest, to: table.largest } : null;
    let file: TableFile;
    try {
      file = new TableFile(join(this.#content.folder, table.file));
    } catch {
      this.lost.push(keys);
      return;
    }
    try {
      const index = file.index('number' in table ? Math.min(table.size, file.size) : file.size);
      if (index === null) yield* this.#searched(file, keys);
      else yield* this.#indexed(file, index, keys);
    } catch {
      // The file system cannot read it.
      this.lost.push(keys);
    } finally {
      file.close();
    }
  }

  *#indexed(file: TableFile, index: readonly (Handle & { readonly last: Buffer })[], keys: LostKeys): Generator<Write> {
    let from = keys?.from ?? Buffer.alloc(0);
    for (const block of index) {
      const writes = file.writes(block);
      if (writes === null) this.lost.push({ from, to: block.last });
      else yield* writes;
      from = block.last;
    }
  }

  /** Without an index: block behind block, up to the first that is damaged. */
  *#searched(file: TableFile, keys: LostKeys): Generator<Write> {
    const { blocks, complete } = searchBlocks(file);
    let last: Write | null = null;
    for (const block of blocks) {
      // The last one can be the filter, which has no entries.
      const writes = file.writes(block);
      if (writes === null || (last !== null && compareWrites(last, writes[0] ?? last) > 0)) continue;
      yield* writes;
      last = writes.at(-1) ?? last;
    }
    if (!complete) this.lost.push(keys === null ? null : { from: last?.key ?? keys.from, to: keys.to });
  }
}

/** The sources, the one with the lowest write first. */
class Heap {
  readonly #cursors: Cursor[] = [];

  add(rest: Iterator<Write>): void {
    const first = rest.next();
    if (first.done === true) return;
    this.#cursors.push({ write: first.value, rest });
    for (let at = this.#cursors.length - 1; at > 0 && this.#swapIfLower(at, (at - 1) >> 1); at = (at - 1) >> 1);
  }

  take(): Write | null {
    const top = this.#cursors[0];
    if (top === undefined) return null;
    const { write } = top;
    const next = top.rest.next();
    if (next.done !== true) {
      top.write = next.value;
    } else {
      const last = this.#cursors.pop() as Cursor;
      if (last !== top) this.#cursors[0] = last;
    }
    this.#sink();
    return write;
  }

  close(): void {
    for (const { rest } of this.#cursors) rest.return?.();
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = this.#isLower(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfLower(child, at)) return;
      at = child;
    }
  }

  #isLower(a: number, b: number): boolean {
    const [one, other] = [this.#cursors[a], this.#cursors[b]];
    return one !== undefined && other !== undefined && compareWrites(one.write, other.write) < 0;
  }

  #swapIfLower(a: number, b: number): boolean {
    if (!this.#isLower(a, b)) return false;
    const [one, other] = [this.#cursors[a] as Cursor, this.#cursors[b] as Cursor];
    this.#cursors[a] = other;
    this.#cursors[b] = one;
    return true;
  }
}
