/**
 * Owns `durable-turn stats`: what takes how much room. Must not know what the records say.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { KINDS, PART, sessionOfKey } from '../../store/keys.js';
import { readable } from '../../store/salvage.js';
import { Refusal, type Verb, WRONG_ARGUMENTS } from './verb.js';
import { viewing } from './viewing.js';
import { plural, row, size } from './words.js';

const LARGEST = 10;

export const stats: Verb = {
  name: 'stats',
  summary: 'sizes by kind of record, and the largest sessions',
  takes: ['<folder>'],
  options: [{ name: 'top', type: 'string', value: 'n', what: `how many of the largest sessions (${LARGEST})` }],
  explains:
    'Counts records and their bytes before compression, by kind and by session, and the parts in which records over\n' +
    '256 KB are stored; changes nothing.',
  run: ({ folder, options }, output) => {
    const top = topFrom(options.top ?? String(LARGEST));
    return viewing(folder, async (view) => {
      const kinds: Record<string, { records: number; bytes: number }> = {};
      const sessions = new Map<string, number>();
      for (const kind of KINDS) {
        const sum = { records: 0, bytes: 0 };
        kinds[kind] = sum;
        for await (const [key, value] of readable(view.tables, kind)) {
          const bytes = key.length + value.length;
          sum.records += 1;
          sum.bytes += bytes;
          output.progress(() => `${plural(sum.records, `${kind} record`)} so far`);
          const sessionId = sessionOfKey(kind, key);
          if (sessionId !== undefined) sessions.set(sessionId, (sessions.get(sessionId) ?? 0) + bytes);
        }
      }
      const parts = { parts: 0, bytes: 0 };
      for await (const [key, value] of readable(view.tables, PART)) {
        parts.parts += 1;
        parts.bytes += key.length + value.length;
        output.progress(() => `${plural(parts.parts, 'part')} so far`);
      }
      const largest = [...sessions].sort((a, b) => b[1] - a[1]).slice(0, top);
      const disk = await sizeOnDisk(view.folder);
      await output.tell(
        {
          folder: view.folder,
          disk,
          sessions: sessions.size,
          kinds,
          parts,
          largest: largest.map(([sessionId, bytes]) => ({ sessionId, bytes })),
        },
        () => [
          `${view.folder}: ${plural(disk.files, 'file')}, ${size(disk.bytes)} on disk, ${plural(sessions.size, 'session')}`,
          ...(disk.keptByRepairs > 0
            ? [`of that ${size(disk.keptByRepairs)} of damaged files that repairs have kept`]
            : []),
          '',
          ...Object.entries(kinds).map(([kind, sum]) =>
            row([12, 16], [kind, plural(sum.records, 'record'), size(sum.bytes)]),
          ),
          row([12, 16], ['part', plural(parts.parts, 'part'), `${size(parts.bytes)}, of the records above`]),
          ...(largest.length === 0 ? [] : ['', 'Largest sessions']),
          ...largest.map(([sessionId, bytes]) => row([12], [size(bytes), sessionId])),
        ],
      );
      return 0;
    });
  },
};

function topFrom(text: unknown): number {
  const top = /^\d+$/.test(`${text}`) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(top)) return top;
  throw new Refusal(WRONG_ARGUMENTS, `--top must be a whole number, not "${text}"`);
}

/** Originals that repairs have kept lie in folders of the folder. */
async function sizeOnDisk(folder: string): Promise<{ files: number; bytes: number; keptByRepairs: number }> {
  const sum = { files: 0, bytes: 0, keptByRepairs: 0 };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    sum.files += 1;
    sum.bytes += found.size;
    if (KEPT.test(relative(folder, entry.parentPath))) sum.keptByRepairs += found.size;
  }
  return sum;
}

const KEPT = /^damaged-\d+$/;
