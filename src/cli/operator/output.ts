/**
 * Owns what the commands of the operator print: text for a person or JSON for a program, and progress beside it.
 * Must not know what is told. What was stored is data: it reaches a terminal without control characters.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';

const PROGRESS_MS = 1_000;

export class Output {
  readonly json: boolean;
  readonly #out: Writable;
  readonly #err: Writable;
  #lastProgress = Date.now();
  #hasTold = false;

  constructor(out: Writable, err: Writable, json: boolean) {
    this.#out = out;
    this.#err = err;
    this.json = json;
  }

  /** The same fact in both forms: a line of JSON, or lines of text. */
  async tell(value: unknown, lines: () => readonly string[] | string): Promise<void> {
    if (this.json) return this.#write(`${harmless(JSON.stringify(value))}\n`);
    const text = lines();
    await this.text(typeof text === 'string' ? `${text}\n` : text.map((line) => `${line}\n`).join(''));
  }

  /** Text that is the same whatever form was asked for. */
  text(text: string): Promise<void> {
    return this.#write(harmless(text));
  }

  /** A line for the person who waits, once a second at most. */
  progress(line: () => string): void {
    const now = Date.now();
    if (now - this.#lastProgress < PROGRESS_MS) return;
    this.#lastProgress = now;
    this.#note(line());
  }

  warn(line: string): void {
    this.#hasTold = true;
    this.#note(line);
  }

  /**
   * At the end of a list: where nothing was told, a person reads that there is nothing, since silence looks like a
   * failure. On stderr, so that an empty list stays empty for a program; in JSON it is no line at all.
   */
  end(nothing: string): void {
    if (!this.json && !this.#hasTold) this.#note(nothing);
  }

  #note(line: string): void {
    this.#err.write(`${harmless(line)}\n`);
  }

  async #write(text: string): Promise<void> {
    this.#hasTold = true;
    if (!this.#out.write(text)) await once(this.#out, 'drain');
  }
}

/** Control characters but tab and line end: a stored text must not move the cursor, nor reprogram a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const harmless = (text: string): string =>
  text.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
