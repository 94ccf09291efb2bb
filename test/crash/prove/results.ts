// RESULTS.md: what the last run of the simulation and the last run of real deaths have found. Each writes its own part.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Tally } from './units.js';

export interface Simulated {
  readonly command: string;
  readonly seconds: number;
  readonly threads: number;
  readonly kinds: Readonly<Record<string, Tally>>;
  readonly singles: ReadonlyMap<string, number>;
  readonly sum: Tally;
}

const HEAD = `# What the proof found

Written by \`npm run prove\` and \`npm run prove:kill\`, each its own part; nothing here is written by hand.
`;

const PARTS = ['simulation', 'deaths'] as const;
type Part = (typeof PARTS)[number];

const mark = (part: Part): string => `<!-- ${part} -->`;
export const figure = (count: number): string => count.toLocaleString('en-US');

/** The file with this part in the place of the one before. */
export function withPart(before: string, part: Part, text: string): string {
  const texts = new Map<Part, string>();
  for (const name of PARTS) {
    const [, found] = before.split(mark(name));
    if (found !== undefined) texts.set(name, found.split('<!-- ')[0] as string);
  }
  texts.set(part, `\n${text.trim()}\n\n`);
  const parts = PARTS.filter((name) => texts.has(name)).map((name) => `${mark(name)}\n${texts.get(name)?.trim()}\n`);
  return `${HEAD}\n${parts.join('\n')}`;
}

export function writePart(file: string, part: Part, text: string): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  writeFileSync(file, withPart(before, part, text));
}

const KIND_NAMES: Readonly<Record<string, string>> = {
  singles: 'every single crash point, and no crash',
  pairs: 'every pair: a crash in the recovery from the first',
  failures: 'every batch failing, and then a crash at every point',
  chains: 'three to ten crashes in a row, drawn at random',
  traffic: 'random traffic with crashes, failing batches and clock jumps',
};

export function simulationText({ command, seconds, threads, kinds, singles, sum }: Simulated): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const kindRows = Object.entries(kinds).map(([kind, tally]) =>
    row([KIND_NAMES[kind] as string, figure(tally.schedules), figure(tally.crashes)]),
  );
  return [
    '## Simulated crashes',
    '',
    `\`${command}\`: ${Math.round(seconds)} s on ${threads} threads.`,
    '',
    '| schedules | crashes | effects | doubled | lost |',
    '| --- | --- | --- | --- | --- |',
    row([sum.schedules, sum.crashes, sum.effects, sum.doubled, sum.lost].map(figure)),
    '',
    '| schedules of this kind | number | crashes |',
    '| --- | --- | --- |',
    ...kindRows,
    '',
    '| scenario | crash points |',
    '| --- | --- |',
    ...[...singles].map(([name, count]) => row([name, String(count)])),
  ].join('\n');
}
