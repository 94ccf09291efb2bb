/**
 * Owns the verdict: what the turn should have done to the world, against what the world says.
 * Must not know the turn, the engine or what either of them says about itself.
 */
import type { Expected } from './story.js';

/** What is out there: the receiver's own file and the project's files, read after everything has ended. */
export interface World {
  readonly posted: readonly { readonly key: string; readonly to: string; readonly text: string }[];
  /** Text by path; undefined where the file is missing. */
  readonly files: { readonly [path: string]: string | undefined };
}

export interface Row {
  readonly name: string;
  readonly where: 'receiver' | 'file';
  readonly expected: number;
  readonly counted: number;
  readonly doubled: number;
  readonly lost: number;
}

export interface Verdict {
  readonly rows: readonly Row[];
  readonly effects: number;
  readonly doubled: number;
  readonly lost: number;
  readonly once: boolean;
}

export function judge(expected: readonly Expected[], world: World): Verdict {
  const rows = [...expected.map((effect) => rowOf(effect, world)), ...unexpected(expected, world)];
  const sum = (count: (row: Row) => number): number => rows.reduce((total, row) => total + count(row), 0);
  const doubled = sum((row) => row.doubled);
  const lost = sum((row) => row.lost);
  return { rows, effects: sum((row) => row.expected), doubled, lost, once: doubled === 0 && lost === 0 };
}

/** 0 only where every round ended as it should, with each effect exactly once. */
export const exitCodeOf = (rounds: readonly { readonly verdict: Verdict; readonly failure: string | null }[]): 0 | 1 =>
  rounds.length > 0 && rounds.every(({ verdict, failure }) => verdict.once && failure === null) ? 0 : 1;

function rowOf(effect: Expected, world: World): Row {
  const { name, times } = effect;
  if (effect.kind === 'posted') {
    const posts = world.posted.filter(({ to, text }) => to === effect.to && text === effect.text);
    return {
      name,
      where: 'receiver',
      ...count(
        times,
        posts.map(({ key }) => key),
      ),
    };
  }
  const text = world.files[effect.path];
  if (effect.kind === 'appended') return { name, where: 'file', ...count(times, keysBehind(effect.line, text ?? '')) };
  // Written twice is written once, as long as it ends as it should: that is what idempotent means.
  const counted = text === effect.text ? 1 : 0;
  return { name, where: 'file', expected: 1, counted, doubled: 0, lost: 1 - counted };
}

/** A key that comes again is a double, and so is a key that nobody asked for; a key that is missing is a loss. */
function count(expected: number, keys: readonly string[]): Omit<Row, 'name' | 'where'> {
  const distinct = new Set(keys).size;
  const doubled = keys.length - distinct + Math.max(0, distinct - expected);
  return { expected, counted: keys.length, doubled, lost: Math.max(0, expected - distinct) };
}

function keysBehind(line: string, text: string): readonly string[] {
  const lines = text.split('\n').filter((found) => found.startsWith(`${line} [`));
  return lines.map((found) => found.slice(line.length + 2, -1));
}

/** An effect that nobody asked for is one too many, whatever it is. */
function unexpected(expected: readonly Expected[], { posted }: World): readonly Row[] {
  const known = (to: string, text: string): boolean =>
    expected.some((effect) => effect.kind === 'posted' && effect.to === to && effect.text === text);
  return posted
    .filter(({ to, text }) => !known(to, text))
    .map(({ to }) => ({ name: `post ${to}`, where: 'receiver', expected: 0, counted: 1, doubled: 1, lost: 0 }));
}
