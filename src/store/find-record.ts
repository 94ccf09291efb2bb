/**
 * Owns finding one record in the files of a folder, as LevelDB would but without it: to open a folder, LevelDB writes.
 * Must not know what the record means.
 */
import { join } from 'node:path';
import type { FolderContent, Table } from './folder-content.js';
import { TableFile } from './leveldb/table-file.js';
import type { Write } from './leveldb/write-batch.js';

/**
 * The newest value under a key of the whole database. Reads a block of each table that can have it.
 * @returns null where there is none, or none that can be read.
 */
export function findRecord(content: FolderContent, key: string): Buffer | null {
  const place = Buffer.from(key);
  let newest: Write | null = null;
  for (const writes of sourcesOf(content, place)) {
    for (const write of writes) {
      if (write.key.equals(place) && write.sequence > (newest?.sequence ?? -1)) newest = write;
    }
  }
  return newest?.value ?? null;
}

function* sourcesOf(content: FolderContent, place: Buffer): Generator<readonly Write[]> {
  yield content.writesTo(place);
  for (const table of content.tables) {
    if ('number' in table && table.smallest.compare(place) <= 0 && table.largest.compare(place) >= 0) {
      yield blockAt(join(content.folder, table.file), table, place);
    }
  }
}

/** The block in which the key is, if it is in the table: the newest write of a key comes first. */
function blockAt(path: string, table: Table, place: Buffer): readonly Write[] {
  const file = new TableFile(path);
  try {
    const block = file.index(table.size)?.find(({ last }) => last.compare(place) >= 0);
    return (block === undefined ? null : file.writes(block)) ?? [];
  } finally {
    file.close();
  }
}
