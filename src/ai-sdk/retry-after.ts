/**
 * Owns how long a provider asks to wait: milliseconds, seconds, or a date.
 * Must not know errors.
 */

/** In ms; undefined where nothing readable is said. A date counts from the provider's own clock where it tells it. */
export function retryAfterMs(headers: { readonly [name: string]: unknown }, now: number): number | undefined {
  const named = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const ms = amount(named.get('retry-after-ms'));
  if (ms !== undefined) return ms;
  const after = named.get('retry-after');
  const seconds = amount(after);
  if (seconds !== undefined) return seconds * 1000;
  if (typeof after !== 'string') return undefined;
  const until = Date.parse(after);
  if (Number.isNaN(until)) return undefined;
  const from = Date.parse(String(named.get('date')));
  return Math.max(0, until - (Number.isNaN(from) ? now : from));
}

function amount(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value);
}
