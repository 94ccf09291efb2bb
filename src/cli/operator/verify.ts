/**
 * Owns `durable-turn verify`: whether a folder is what was written to it. Must not know how that is found out.
 */
import { checkRecords, type Disagreement } from '../../store/check.js';
import { type FolderReport, verifyFolder } from '../../store/inspect.js';
import { holdFolder } from '../../store/view.js';
import { endable } from './ending.js';
import type { Output } from './output.js';
import { FAILED, type Verb } from './verb.js';
import { viewing } from './viewing.js';
import { plural, size } from './words.js';

export const verify: Verb = {
  name: 'verify',
  summary: 'checks every file and every record; exit code 1 where something is damaged',
  takes: ['<folder>'],
  explains:
    'Verifies the checksums of all files, then each record, each session as a whole, and that markers agree with\n' +
    'sessions. Changes nothing. Damaged files: see repair. Without damage to files, a service goes on without what is\n' +
    'damaged: recover() abandons its turns, deleteSession() forgets a session.',
  async run({ folder }, output) {
    const report = await endable('nothing was changed', (signal) => files(folder, output, signal));
    const records: Disagreement[] = [];
    // What LevelDB wrote has to be whole before LevelDB may read it: it can abort the process otherwise.
    if (report.findings.length === 0) {
      await viewing(folder, async ({ tables }) => {
        const progress = (checked: number) => output.progress(() => `${plural(checked, 'record')} checked`);
        for await (const found of checkRecords(tables, progress)) records.push(found);
        return 0;
      });
    }
    const sound = report.findings.length + records.length === 0;
    await output.tell({ folder: report.folder, sound, bytes: report.bytes, files: report.findings, records }, () => [
      ...report.findings.map(({ file, what }) => `${file}: ${what}`),
      ...records.map(({ sessionId, what }) => `${sessionId === null ? '' : `session ${sessionId}: `}${what}`),
      sound ? `${report.folder} is sound (${size(report.bytes)} verified)` : nextStep(report, records),
    ]);
    return sound ? 0 : FAILED;
  },
};

/** Nobody may write meanwhile: files that come and go look like damage. */
async function files(path: string, output: Output, signal: AbortSignal): Promise<FolderReport> {
  const held = await holdFolder(path);
  try {
    return await verifyFolder(held.folder, (bytes) => {
      signal.throwIfAborted();
      output.progress(() => `${size(bytes)} verified`);
    });
  } finally {
    await held.release();
  }
}

const nextStep = ({ folder, findings }: FolderReport, records: readonly Disagreement[]): string =>
  findings.length > 0
    ? `${folder} is damaged: ${plural(findings.length, 'finding')}; durable-turn repair ${folder} repairs it on a copy`
    : `the files of ${folder} are whole, and ${plural(records.length, 'record or session', 'records or sessions')} in it damaged: ` +
      'the service goes on without them; deleteSession() forgets one';
