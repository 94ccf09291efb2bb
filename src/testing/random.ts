/**
 * Owns randomness that a seed repeats: what a run did can be done again.
 * Must not know what is drawn. Own code instead of a package: whoever imports the kit installs nothing for it.
 */

/** Draws numbers that look random; the same seed gives the same ones. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  /** One of them. */
  of<T>(list: readonly T[]): T;
}

/** FNV-1a: near seeds give far numbers. */
function hashOf(seed: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < seed.length; index += 1) {
    hash = Math.imul(hash ^ seed.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Numbers from 0 to below 1. mulberry32: 32 bits of state are plenty for a few thousand draws. */
export function fractionsFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomFrom(seed: string): Random {
  const next = fractionsFrom(hashOf(seed));
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, of: (list) => list[below(list.length)] as (typeof list)[number] };
}
