// Numbers that look random and are the same everywhere: what one of them led to is found again by its seed.
import { fractionsFrom } from '../../../src/testing/random.js';

export function numbersFrom(seed: number): (below: number) => number {
  const next = fractionsFrom(seed);
  return (below) => (next() * 2 ** 32) % below;
}
