/**
 * Owns `durable-turn repair`: what the operator is told about a repair. Must not know how it is done.
 */
import { type RepairReport, repairFolder, UNTOLD } from '../../store/repair.js';
import { endable } from './ending.js';
import { LOST, type Verb } from './verb.js';
import { plural, size } from './words.js';

export const repair: Verb = {
  name: 'repair',
  summary: 'repairs a damaged folder on a copy, keeps the originals beside it, and reports',
  takes: ['<folder>'],
  explains:
    'Copies everything that can still be read into a new database, makes its records agree, and puts it in the place of\n' +
    'the damaged one, whose files stay in a folder beside it. Where nothing is damaged nothing is done. One that was cut\n' +
    'off goes on at the next try. The sessions it names are told by recover() of the service as well.\n' +
    'Exit code 0 where nothing was damaged or nothing is lost; 4 where the folder is usable again, and a person should\n' +
    'read what is lost before the service goes on; 1 where it failed, and the folder is as it was.',
  async run({ folder }, output) {
    const left = 'it has changed nothing, and the next repair, or opening, begins again';
    const report = await endable(left, (signal) =>
      repairFolder(folder, (bytes) => output.progress(() => `${size(bytes)} read`), signal),
    );
    await output.tell(report, () =>
      report.originals === null
        ? `${report.folder} is not damaged; nothing was done`
        : [
            ...report.findings.map(({ file, what }) => `${file}: ${what}`),
            `${report.folder} is repaired: ${plural(report.records, 'record')} kept. The damaged files are in "${report.originals}".`,
            lossOf(report),
            ...report.sessions.map(({ reason }) => reason),
          ],
    );
    return report.incomplete || report.sessions.length > 0 ? LOST : 0;
  },
};

function lossOf({ incomplete, sessions }: RepairReport): string {
  if (incomplete) return `A part of what was stored may be lost. ${UNTOLD}`;
  return sessions.length === 0 ? 'Nothing is lost.' : `Damaged: ${plural(sessions.length, 'session')}.`;
}
