// How the commands of the proof read what they are asked: a count that is none would go on for ever, or write down a
// proof of nothing.

/** What `read` gives; where it throws, the command says why and how it is used, and ends with exit code 2. */
export function orRefused<T>(read: () => T, usage: string): T {
  try {
    return read();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** @throws {TypeError} it is no whole number of at least `least`. */
export function countOf(option: string, text: string, least = 1): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw new TypeError(`--${option} must be a whole number of at least ${least}, not "${text}".`);
}
