// What can happen to a file: the faults, and how each is done to it.
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';

export type Fault =
  | { readonly kind: 'deleted' | 'emptied' | 'garbage' | 'zeros' | 'directory' }
  /** At a part of its length. */
  | { readonly kind: 'truncated'; readonly at: number }
  | { readonly kind: 'flipped'; readonly bit: number };

export interface Case {
  readonly file: string;
  readonly fault: Fault;
}

export const nameOf = ({ file, fault }: Case): string =>
  `${file} ${fault.kind}${'bit' in fault ? ` bit ${fault.bit}` : ''}${'at' in fault ? ` at ${fault.at}` : ''}`;

/** The same sequence for the same seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const TRUNCATIONS = [0.02, 0.25, 0.5, 0.75, 0.98];

/** @param thorough All cuts, and as many flips; else a part that finds what goes wrong in whole kinds of faults. */
export function casesOf(
  file: string,
  bytes: number,
  thorough: { readonly flips: number } | null,
  seed: number,
): readonly Case[] {
  const next = random(seed);
  const faults: Fault[] = [{ kind: 'deleted' }, { kind: 'garbage' }, { kind: 'directory' }];
  // What LevelDB reports about itself is read by people.
  const holdsData = !/^LO(G|CK)/.test(file);
  if (bytes > 0 && (holdsData || thorough !== null)) {
    faults.push({ kind: 'emptied' }, { kind: 'zeros' });
    for (const at of thorough === null ? [0.5, 0.98] : TRUNCATIONS) faults.push({ kind: 'truncated', at });
    const flips = thorough?.flips ?? 1;
    for (let i = 0; i < flips; i += 1) faults.push({ kind: 'flipped', bit: Math.floor(next() * bytes * 8) });
  }
  return faults.map((fault) => ({ file, fault }));
}

export function damage(path: string, fault: Fault): void {
  switch (fault.kind) {
    case 'deleted':
      rmSync(path);
      return;
    case 'emptied':
      truncateSync(path);
      return;
    case 'garbage':
      appendFileSync(path, Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 7919 + 13) & 255)));
      return;
    case 'zeros':
      writeFileSync(path, Buffer.alloc(statSync(path).size));
      return;
    case 'directory':
      rmSync(path);
      mkdirSync(path);
      return;
    case 'truncated':
      truncateSync(path, Math.floor(statSync(path).size * fault.at));
      return;
    case 'flipped': {
      const bytes = readFileSync(path);
      bytes[fault.bit >> 3] = (bytes[fault.bit >> 3] as number) ^ (1 << (fault.bit & 7));
      writeFileSync(path, bytes);
    }
  }
}
