// A turn that reads and reads: its list grows by a known amount with every answer, and its usage says how full the model is.
import type { Compactor, StoredMessage } from '../../src/index.js';
import { calls, look, type WholeWorld } from './world.js';

/** Characters of one result. */
export const PAGE = 1_000;
export const readTools = { read: look((input) => `${(input as { n: number }).n}`.padEnd(PAGE, '.')) };

let page = 0;

/** An answer that reads one more page; `tokens` are reported for its request and again for itself. */
export const reads = (tokens = 1) => {
  page += 1;
  return { ...(calls(['read', { n: page }]) as { calls: [] }), tokens };
};

export const readsTimes = (count: number, tokens = 1) => Array.from({ length: count }, () => reads(tokens));

/** Everything but the last `keep` messages becomes one sentence. */
export const keepLast =
  (keep: number, seen: (readonly StoredMessage[])[] = []): Compactor =>
  async (list) => {
    seen.push(list);
    return { summary: `summary ${seen.length}`, keepFrom: list.at(-keep)?.meta.id ?? '' };
  };

/** A compactor that never gets anywhere, and how often it was asked. */
export function useless(): { compact: Compactor; asked: () => number } {
  let asked = 0;
  const compact: Compactor = async (list) => {
    asked += 1;
    return { summary: 'x'.repeat(JSON.stringify(list).length), keepFrom: list.at(-1)?.meta.id ?? '' };
  };
  return { compact, asked: () => asked };
}

/** The model of this world can read 1,000 tokens; 800 reported ones ask for a shorter list. */
export function smallModel(world: WholeWorld): void {
  world.contextTokens = 1_000;
}
/** What an answer reports when its request came near the bound: 400 in and 400 out. */
export const NEAR = 400;
