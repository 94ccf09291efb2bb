/**
 * Owns `durable-turn interrupted`: the turns that the next `recover()` will look at. Must not know its gates.
 */
import { scanMarkers } from '../../store/scans.js';
import { readHead } from '../../store/sessions.js';
import { FAILED, type Verb } from './verb.js';
import { viewing } from './viewing.js';
import { moment, plural, row, STATE_WIDTH, stateOf } from './words.js';

const WIDTHS = [32, STATE_WIDTH, 24];

export const interrupted: Verb = {
  name: 'interrupted',
  summary: 'turns in progress: interrupted, handed over, or waiting for a person',
  takes: ['<folder>'],
  explains: 'Lists the turns in progress, as recover() will find them at the next start; changes nothing.',
  run: ({ folder }, output) =>
    viewing(folder, async ({ tables }) => {
      const { markers, damaged } = await scanMarkers(tables);
      let unreadable = 0;
      for (const sessionId of [...markers.map((marker) => marker.sessionId), ...damaged]) {
        const head = await readHead(tables, sessionId).catch(() => null);
        if (head === null) unreadable += 1;
        if (head === null || head?.inProgress !== true) continue;
        const { agent, turnId, phase, attempts, recoveries, handedOver, waiting, lastProgressAt } = head;
        const told = { sessionId, agent, turnId, phase, attempts, recoveries, handedOver, waiting, lastProgressAt };
        await output.tell(told, () => {
          const tries = plural(attempts, 'attempt');
          return row(WIDTHS, [turnId ?? '', stateOf(head), moment(lastProgressAt), handedOver ? 'handed over' : tries]);
        });
      }
      if (unreadable > 0) output.warn(`the heads of ${unreadable} more cannot be read; see durable-turn verify`);
      output.end('no turn is in progress');
      return unreadable === 0 ? 0 : FAILED;
    }),
};
