/**
 * Owns verifying the tables of a folder: every checksum that LevelDB wrote and does not look at again.
 * Must not know records beyond the kinds a start-up scans.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf } from '../core/errors.js';
import type { Finding, FolderContent, Table } from './folder-content.js';
import { type Kind, placesOf } from './keys.js';
import { type Span, TableFile } from './leveldb/table-file.js';

/** Up to here all tables are verified at every opening. Above, what a start-up scans is: its cost has to end somewhere. */
const VERIFY_BYTES = 8 << 20;

/** What is scanned before anybody asks for a session: damage there could hide an interrupted turn or waiting input. */
const SCANNED: readonly Kind[] = ['garbage', 'inbox', 'marker', 'meta', 'review'];

const SPANS: readonly Span[] = SCANNED.map((kind) => {
  const { gte, lt } = placesOf(kind, {});
  return { from: Buffer.from(gte), to: Buffer.from(lt) };
});

/** How much is verified: everything, or what a start-up cannot do without. */
export type Extent = 'everything' | 'start';

export interface TableReport {
  readonly findings: readonly Finding[];
  readonly bytes: number;
}

/** Lets others run between two tables. `progress` gets the bytes that are verified so far. */
export async function checkTables(
  { folder, tables }: FolderContent,
  extent: Extent,
  progress: (bytes: number) => void = () => {},
): Promise<TableReport> {
  const findings: Finding[] = [];
  const known = tables.filter((table): table is Table => 'number' in table);
  const all = extent === 'everything' || known.reduce((sum, { size }) => sum + size, 0) <= VERIFY_BYTES;
  let bytes = 0;
  for (const table of known) {
    const spans = all ? null : SPANS.filter((span) => overlaps(table.smallest, table.largest, span));
    const report = checkTable(join(folder, table.file), table, spans);
    if (report.what !== null) findings.push({ file: table.file, what: report.what });
    bytes += report.bytes;
    if (report.bytes > 0) await breathe();
    progress(bytes);
  }
  return { findings, bytes };
}

/** @param spans The parts to verify; null for the whole table. */
function checkTable(path: string, table: Table, spans: readonly Span[] | null) {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return { what: 'is missing', bytes: 0 };
    if (!stat.isFile()) return { what: 'is no file', bytes: 0 };
    // LevelDB takes the size from the manifest; bytes behind it do no harm.
    if (stat.size < table.size) return { what: `has ${stat.size} bytes instead of ${table.size}`, bytes: 0 };
    return spans?.length === 0 ? { what: null, bytes: 0 } : checkBlocks(path, table, spans);
  } catch (error) {
    return { what: `cannot be read (${messageOf(error)})`, bytes: 0 };
  }
}

function checkBlocks(path: string, table: Table, spans: readonly Span[] | null) {
  const file = new TableFile(path);
  try {
    return checkOpen(file, table, spans);
  } finally {
    file.close();
  }
}

function checkOpen(file: TableFile, table: Table, spans: readonly Span[] | null) {
  const blocks = spans === null ? file.index(table.size) : file.within(table.size, spans);
  if (blocks === null) return { what: 'has a damaged index', bytes: 0 };
  const filters = file.filters(table.size);
  const bytes = [...filters, ...blocks].reduce((sum, { size }) => sum + size, 0);
  const filter = file.damaged(filters);
  if (filter !== null) return { what: `has a damaged filter at byte ${filter.offset}`, bytes };
  const block = file.damaged(blocks);
  return { what: block === null ? null : `has a damaged block at byte ${block.offset}`, bytes };
}

const overlaps = (first: Buffer, last: Buffer, { from, to }: Span): boolean =>
  first.compare(to) < 0 && last.compare(from) >= 0;
