/**
 * Owns `durable-turn compact`. Must not know how LevelDB does it.
 */
import { compactFolder } from '../../store/compact.js';
import { endable } from './ending.js';
import type { Verb } from './verb.js';
import { size } from './words.js';

export const compact: Verb = {
  name: 'compact',
  summary: 'gives back the room that deleted records still take',
  takes: ['<folder>'],
  explains: 'Rewrites the tables of the database without what was deleted. What is stored stays the same.',
  async run({ folder }, output) {
    const left = 'what is stored is as it was, and some of the room may be free already';
    const compacted = await endable(left, (signal) =>
      compactFolder(folder, (kind) => output.progress(() => `compacting ${kind} records`), signal),
    );
    await output.tell(compacted, () => `${size(compacted.before)} before, ${size(compacted.after)} now`);
    return 0;
  },
};
