/**
 * Owns reading heads one after another, for commands that look at all sessions. Must not know what is told of them.
 */
import type { Head } from '../../core/records.js';
import { decodeRecord } from '../../store/records.js';
import { readable } from '../../store/salvage.js';
import type { Tables } from '../../store/tables.js';
import type { Output } from './output.js';
import { plural } from './words.js';

export const NO_SESSION = 'there is no session';

/** Every head that can be read, in the order of keys; how many cannot be is said at the end, and to `damaged`. */
export async function* allHeads(
  tables: Tables,
  output: Output,
  damaged: (heads: number) => void,
): AsyncGenerator<Head> {
  let [seen, unreadable] = [0, 0];
  const missing = () => {
    unreadable += 1;
  };
  for await (const [key, bytes] of readable(tables, 'head', {}, missing)) {
    seen += 1;
    output.progress(() => `${plural(seen, 'session')} so far`);
    const record = decodeRecord('head', key, bytes);
    if (record.ok) yield (record.value as unknown as { readonly head: Head }).head;
    else unreadable += 1;
  }
  if (unreadable === 0) return;
  damaged(unreadable);
  output.warn(`${plural(unreadable, 'head')} cannot be read; see durable-turn verify`);
}
