/**
 * Owns `durable-turn reviews`: calls that a person has to settle. Must not know how they are settled.
 */
import type { ReviewRecord } from '../../core/records.js';
import { decodeRecord } from '../../store/records.js';
import { readable } from '../../store/salvage.js';
import { FAILED, type Verb } from './verb.js';
import { viewing } from './viewing.js';
import { cut, moment } from './words.js';

export const reviews: Verb = {
  name: 'reviews',
  summary: 'calls in doubt that wait for a person',
  takes: ['<folder>'],
  explains:
    'Lists the tool calls that only a person can settle, with settleCall() of the running service; changes nothing.',
  run: ({ folder }, output) =>
    viewing(folder, async ({ tables }) => {
      let unreadable = 0;
      const missing = () => {
        unreadable += 1;
      };
      for await (const [key, bytes] of readable(tables, 'review', {}, missing)) {
        const record = decodeRecord('review', key, bytes);
        if (!record.ok) {
          missing();
          continue;
        }
        const { agent, sessionId, review } = record.value as unknown as Stored;
        const { callId, toolName, dispatchedAt, doubt, idempotencyKey, notes } = review;
        await output.tell({ sessionId, agent, ...review }, () => [
          `${callId}  ${toolName}  dispatched ${moment(dispatchedAt)}, in doubt: ${doubt}`,
          `    key    ${idempotencyKey}`,
          `    input  ${cut(JSON.stringify(review.editedInput ?? review.input))}`,
          ...notes.map((note) => `    note   ${cut(JSON.stringify(note))}`),
        ]);
      }
      if (unreadable > 0) output.warn(`${unreadable} more cannot be read; see durable-turn verify`);
      output.end('no call waits for a person');
      return unreadable === 0 ? 0 : FAILED;
    }),
};

interface Stored {
  readonly agent: string;
  readonly sessionId: string;
  readonly review: ReviewRecord;
}
