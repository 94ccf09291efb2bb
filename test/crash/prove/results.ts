// RESULTS.md: what the last run of the simulation and the last run of real deaths have found. Each writes its own part.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Tally } from './units.js';

export interface Simulated {
  readonly command: string;
  readonly seconds: number;
  readonly workers: number;
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

const FILE = 'test/crash/RESULTS.md';
const README = 'README.md';
const QUOTE = ['<!-- quoted from test/crash/RESULTS.md -->', '<!-- end of the quotation -->'] as const;

/** The figures of the file: what the README says of them. */
export function quotedFrom(results: string): string {
  const lines = PARTS.flatMap((part) => {
    const [, text = ''] = results.split(mark(part));
    // Behind the title: the command and the first table.
    const [, , , command = '', , ...rest] = text.split('\n');
    return text === '' ? [] : [command, '', ...rest.slice(0, 3), ''];
  });
  return `${QUOTE[0]}\n\n${lines.join('\n')}\n${QUOTE[1]}`;
}

/** The part of the README between the marks, marks included. */
export function quotationIn(readme: string): string {
  const from = readme.indexOf(QUOTE[0]);
  const to = readme.indexOf(QUOTE[1]);
  return from < 0 || to < from ? '' : readme.slice(from, to + QUOTE[1].length);
}

/** Into RESULTS.md, and the figures into the README. */
export function writePart(part: Part, text: string): void {
  const before = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
  const results = withPart(before, part, text);
  writeFileSync(FILE, results);
  const readme = readFileSync(README, 'utf8');
  // A function: a dollar sign in a text would mean something.
  writeFileSync(
    README,
    readme.replace(quotationIn(readme), () => quotedFrom(results)),
  );
}

const KIND_NAMES: Readonly<Record<string, string>> = {
  singles: 'every single crash point, and no crash',
  pairs: 'every pair: a crash in the recovery from the first',
  failures: 'every batch failing, and then a crash at every point',
  chains: 'three to ten crashes in a row, drawn at random',
  traffic: 'random traffic with crashes, failing batches and clock jumps',
};

export function simulationText({ command, seconds, workers, kinds, singles, sum }: Simulated): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const kindRows = Object.entries(kinds).map(([kind, tally]) =>
    row([KIND_NAMES[kind] as string, figure(tally.schedules), figure(tally.crashes)]),
  );
  return [
    '## Simulated crashes',
    '',
    `\`${command}\`: ${Math.round(seconds)} s with ${workers} workers.`,
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
