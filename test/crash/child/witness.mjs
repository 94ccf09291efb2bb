// The independent witness: an append-only file outside the store. What a tool did to the world is a line in it, on the
// disk before the tool goes on, and nobody but the test compares it with what the engine says.
import { fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

export function openWitness(path) {
  const file = openSync(path, 'a+');
  const lines = () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  let effects = lines().filter(({ what }) => what === 'effect').length;
  return {
    write(line) {
      writeSync(file, `${JSON.stringify({ ...line, pid: process.pid })}\n`);
      fsyncSync(file);
      if (line.what === 'effect') effects += 1;
    },
    /** Whether an effect with this key is in the world. */
    has: (key) => lines().some((line) => line.what === 'effect' && line.key === key),
    get effects() {
      return effects;
    },
  };
}
