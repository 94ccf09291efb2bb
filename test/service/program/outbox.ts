// Stands for the world outside: a mail provider with idempotency keys, or a table of your own. One line per effect.
import { openSync, readFileSync, writeSync } from 'node:fs';

export interface Outbox {
  /** What the effect of this key was; undefined: it never happened. */
  find(key: string): string | undefined;
  write(entry: { key: string; tool: string; sessionId: string; what: string }): void;
}

export function openOutbox(path: string): Outbox {
  const file = openSync(path, 'a+');
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const known = new Map(lines.map((line) => JSON.parse(line)).map(({ key, what }) => [key as string, what as string]));
  return {
    find: (key) => known.get(key),
    write(entry) {
      writeSync(file, `${JSON.stringify(entry)}\n`);
      known.set(entry.key, entry.what);
    },
  };
}
