/**
 * Owns how moments become lines: numbered, timed, with the phase, those that belong together on one line.
 * Must not know where moments come from.
 */
import type { Moment } from './moments.js';
import type { Paint } from './paint.js';

export const WIDTH = 100;

export interface Told {
  readonly number: number;
  /** ms since the round began. */
  readonly at: number;
  readonly who: string;
  readonly phase: string;
  readonly moment: Moment;
}

/** Moments of one commit come at the same time; this is how long a line waits for more of them. */
const TOGETHER_MS = 8;
const HEAD = ' no.    time  who        phase             ';
const INDENT = HEAD.length;

export class Timeline {
  private readonly print: (line: string) => void;
  private readonly paint: Paint;
  private line: { readonly told: Told; number: number; durable: boolean; names: string[] } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private phase = '';

  constructor(print: (line: string) => void, paint: Paint) {
    this.print = print;
    this.paint = paint;
  }

  head(): void {
    this.print(this.paint.dim(`${HEAD}what`));
  }

  tell(told: Told): void {
    const { line } = this;
    const joins =
      line !== undefined &&
      told.moment.names.length > 0 &&
      line.told.moment.words === told.moment.words &&
      line.told.who === told.who &&
      line.told.phase === told.phase &&
      line.durable === told.moment.durable;
    if (joins) {
      line.number = told.number;
      line.names.push(...told.moment.names);
      return;
    }
    this.flush();
    const { number, moment } = told;
    this.line = { told, number, durable: moment.durable, names: [...moment.names] };
    this.timer = setTimeout(() => this.flush(), TOGETHER_MS);
  }

  /** Something the director itself has to say, across the columns. */
  announce(lines: readonly string[]): void {
    this.flush();
    for (const line of lines) this.print(line);
  }

  flush(): void {
    clearTimeout(this.timer);
    const { line } = this;
    this.line = undefined;
    if (line === undefined) return;
    const { told, number, durable, names } = line;
    // Only where it changes: the eye finds the phases by themselves.
    const phase = told.phase === this.phase ? '' : told.phase;
    this.phase = told.phase;
    const time = (told.at / 1000).toFixed(2).padStart(6);
    const left = `${String(number).padStart(4)} ${time} s  ${told.who.padEnd(9)}  ${phase.padEnd(14)}`;
    const [first = '', ...rest] = wrap(told.moment.words, names, WIDTH - INDENT);
    const tone = told.moment.tone === 'plain' ? (text: string) => text : this.paint[told.moment.tone];
    this.print(`${this.paint.dim(left)} ${durable ? '+' : ' '} ${tone(first)}`);
    for (const more of rest) this.print(`${' '.repeat(INDENT)}${tone(more)}`);
  }
}

/** Broken between words, names kept whole; what is longer than the line all the same is cut. */
export function wrap(words: string, names: readonly string[], width: number): readonly string[] {
  const listed = names.map((name, index) => (index < names.length - 1 ? `${name},` : name));
  const [start = '', ...pieces] = [...words.split(' '), ...listed];
  const lines: string[] = [];
  let line = start;
  for (const piece of pieces) {
    if (line.length + 1 + piece.length > width) {
      lines.push(line);
      line = `  ${piece}`;
    } else {
      line += ` ${piece}`;
    }
  }
  return [...lines, line].map((text) => (text.length > width ? `${text.slice(0, width - 3)}...` : text));
}
