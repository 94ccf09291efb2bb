/**
 * Owns how a batch is handed to a database, the one in a folder and the one in memory alike.
 * Must not know what is in it.
 */
import type { Level } from './tables.js';

/** The part of abstract-level that takes a batch in pieces. */
interface Pieces {
  batch(): {
    put(key: string, value: Buffer): unknown;
    del(key: string): unknown;
    write(options: { readonly sync: boolean }): Promise<void>;
  };
}

type Piece =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: string };

/**
 * A database takes a batch as an array or piece by piece. Of an array each operation is copied twice and asked for its
 * fields by name, which costs as much as the write. Nothing is written before the last piece: it is as atomic.
 */
export function pieceByPiece(level: Pieces): Level {
  const begin = level.batch.bind(level);
  const batch = async (ops: readonly Piece[], options: { readonly sync: boolean }): Promise<void> => {
    const pieces = begin();
    for (const op of ops) {
      if (op.type === 'put') pieces.put(op.key, op.value);
      else pieces.del(op.key);
    }
    await pieces.write(options);
  };
  return Object.assign(level as unknown as Level, { batch });
}
