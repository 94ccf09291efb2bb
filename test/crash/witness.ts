// Reads what the independent witness saw: the effects on the world, the model calls, and what callers were told.
import { readFileSync } from 'node:fs';
import type { Place } from './processes.js';

export interface WitnessLine {
  readonly what: 'effect' | 'model' | 'outcome' | 'accepted' | 'killed' | 'settled' | 'cancelled';
  readonly pid: number;
  readonly tool?: string;
  readonly key?: string;
  readonly session?: string;
  readonly status?: string;
  readonly turnId?: string;
  readonly messageId?: string;
  readonly at?: string;
}

export function witnessed(place: Place, what?: WitnessLine['what']): readonly WitnessLine[] {
  const lines = readFileSync(place.witness, 'utf8').split('\n');
  const all = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as WitnessLine);
  return what === undefined ? all : all.filter((line) => line.what === what);
}
