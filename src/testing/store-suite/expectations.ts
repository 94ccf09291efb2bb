/**
 * Owns how the suite says what is wrong: errors of node:assert, which every test runner shows.
 * Must not know stores. Values are compared as JSON, so that a runner with a realm of its own (jest) sees no difference
 * between two equal objects.
 */
import { AssertionError } from 'node:assert';
import { equalJson } from '../../core/json.js';

export function same(actual: unknown, expected: unknown, what: string): void {
  if (equalJson(actual, expected)) return;
  throw new AssertionError({ message: `${what}: ${shown(actual)} instead of ${shown(expected)}`, actual, expected });
}

/** In whatever order. */
export function sameNames(actual: readonly string[], expected: readonly string[], what: string): void {
  same([...actual].sort(), [...expected].sort(), what);
}

export function isTrue(condition: boolean, what: string): void {
  if (!condition) throw new AssertionError({ message: what });
}

/** The promise rejects; with `code`, by a TurnError of this code. */
export async function refused(attempt: Promise<unknown>, what: string, code?: string): Promise<Error> {
  const thrown = await attempt.then(
    () => undefined,
    (error: unknown) => error as Error & { code?: string },
  );
  if (thrown === undefined) throw new AssertionError({ message: `${what}: it was accepted` });
  if (code !== undefined && thrown.code !== code) {
    throw new AssertionError({ message: `${what}: refused with ${thrown.code ?? thrown}, not with ${code}` });
  }
  return thrown;
}

const SHOWN = 300;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
