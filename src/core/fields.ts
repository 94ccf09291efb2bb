/**
 * Owns the check that an object has only fields somebody knows.
 * Must not know whose options they are.
 */

/**
 * Of `known` only the names count.
 * @throws {TypeError} for a field nobody knows, or no object: a misspelt one would be ignored silently.
 */
export function checkFields(
  value: unknown,
  known: Readonly<Record<string, unknown>>,
  field: (name: string) => string = (name) => name,
): void {
  const names = Object.keys(known).join(', ');
  if (typeof value !== 'object' || value === null) throw new TypeError(`options must be an object with ${names}.`);
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(known, name)) throw new TypeError(`${field(name)} is unknown; there are ${names}.`);
  }
}
