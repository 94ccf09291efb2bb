/**
 * Owns `durable-turn repair`: what the operator is told about a repair. Must not know how it is done.
 */
import { repairFolder, UNTOLD } from '../../store/repair.js';
import { endable } from './ending.js';
import type { Verb } from './verb.js';
import { plural, size } from './words.js';

export const repair: Verb = {
  name: 'repair',
  summary: 'repairs a damaged folder on a copy, keeps the originals beside it, and reports',
  takes: ['<folder>'],
  explains:
    'Copies everything that can still be read into a new database, makes its records agree, and puts it in the place of\n' +
    'the damaged one, whose files stay in a folder beside it. Where nothing is damaged nothing is done. One that was cut\n' +
    'off goes on at the next try. The sessions it names are told by recover() of the service as well.',
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
            report.incomplete ? `A part of what was stored is lost. ${UNTOLD}` : 'Nothing is lost.',
            ...report.sessions.map(({ reason }) => reason),
          ],
    );
    return 0;
  },
};
