/**
 * Owns `durable-turn export`: sessions as JSON lines, in the form of the engine's `exportSession`.
 * Must not know that form.
 */
import { messageOf } from '../../core/errors.js';
import type { Head } from '../../core/records.js';
import { exportedLines } from '../../engine/housekeeping.js';
import { readArchive, readMessages } from '../../store/reads.js';
import { readHead } from '../../store/sessions.js';
import type { Tables } from '../../store/tables.js';
import { allHeads, NO_SESSION } from './heads.js';
import type { Output } from './output.js';
import { FAILED, Refusal, type Verb } from './verb.js';
import { viewing } from './viewing.js';

export const exportVerb: Verb = {
  name: 'export',
  summary: 'messages of one session, or of all, as JSON lines',
  takes: ['<folder>', '[session]'],
  explains:
    'Writes a session, or all of them one after another, as JSON lines: what it is, archived messages, messages.\n' +
    'Turns in progress and journals are not in it. A session that cannot be read is named on stderr; changes nothing.',
  run: ({ folder, names: [sessionId] }, output) =>
    viewing(folder, async ({ tables }) => {
      if (sessionId !== undefined) {
        const head = await readHead(tables, sessionId);
        if (head === undefined) throw new Refusal(FAILED, `there is no session ${JSON.stringify(sessionId)}`);
        await write(tables, head, output);
        return 0;
      }
      let failed = 0;
      const missing = (heads: number) => {
        failed += heads;
      };
      for await (const head of allHeads(tables, output, missing)) {
        await write(tables, head, output).catch((error: unknown) => {
          failed += 1;
          output.warn(messageOf(error));
        });
      }
      output.end(NO_SESSION);
      return failed === 0 ? 0 : FAILED;
    }),
};

/** Read whole before its first line is written: half a session is none. */
async function write(tables: Tables, head: Head, output: Output): Promise<void> {
  const { sessionId } = head;
  const [archive, messages] = [await readArchive(tables, sessionId), await readMessages(tables, sessionId)];
  for (const line of exportedLines(head, archive, messages)) await output.text(line);
}
