/**
 * Owns `durable-turn list`: a line for each session. Must not know more of it than its head.
 */
import { lastMoment } from '../../engine/housekeeping.js';
import { allHeads, NO_SESSION } from './heads.js';
import { FAILED, type Verb } from './verb.js';
import { viewing } from './viewing.js';
import { moment, plural, row, STATE_WIDTH, stateOf } from './words.js';

const WIDTHS = [24, 24, 12, STATE_WIDTH];

export const list: Verb = {
  name: 'list',
  summary: 'all sessions, a line each',
  takes: ['<folder>'],
  options: [{ name: 'agent', type: 'string', value: 'name', what: 'only the sessions of this agent' }],
  explains: 'Lists sessions with their last activity, messages, state and agent; changes nothing.',
  run: ({ folder, options }, output) =>
    viewing(folder, async ({ tables }) => {
      let damaged = 0;
      const missing = (heads: number) => {
        damaged = heads;
      };
      for await (const head of allHeads(tables, output, missing)) {
        if (options.agent !== undefined && head.agent !== options.agent) continue;
        const { sessionId, agent, turnId, phase, inProgress, count, archived, waitingInput, outcomesDue, ended } = head;
        const lastAt = lastMoment(head);
        const state = stateOf(head);
        const told = { sessionId, agent, state, turnId, phase, inProgress, ended, messages: count, archived };
        await output.tell({ ...told, waitingInput, outcomesDue, lastAt }, () =>
          row(WIDTHS, [sessionId, lastAt === 0 ? '-' : moment(lastAt), plural(count, 'message'), state, agent]),
        );
      }
      output.end(options.agent === undefined ? NO_SESSION : `${NO_SESSION} of agent ${JSON.stringify(options.agent)}`);
      return damaged === 0 ? 0 : FAILED;
    }),
};
