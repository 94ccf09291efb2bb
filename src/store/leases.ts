/**
 * Owns who drives what runs under a route key, in this process.
 * Must not know sessions or the database: LevelDB belongs to one process, so a table in memory is enough.
 */
import type { Lease } from '../core/ports.js';

/** Released routes that are remembered. Prevents: a table that grows with every route ever used. */
const REMEMBERED = 10_000;

export class Leases {
  readonly #held = new Map<string, number>();
  /** The newest token of routes that nobody holds, oldest release first. */
  readonly #released = new Map<string, number>();
  #lastToken = 0;

  acquire(routeKey: string): Lease | undefined {
    if (this.#held.has(routeKey)) return undefined;
    this.#lastToken += 1;
    this.#held.set(routeKey, this.#lastToken);
    this.#released.delete(routeKey);
    return { routeKey, token: this.#lastToken, lost: new AbortController().signal };
  }

  /** Does nothing for a lease that is no longer the newest or was released before. */
  release(lease: Lease): void {
    if (this.#held.get(lease.routeKey) !== lease.token) return;
    this.#held.delete(lease.routeKey);
    this.#released.set(lease.routeKey, lease.token);
    if (this.#released.size <= REMEMBERED) return;
    const oldest = this.#released.keys().next().value;
    if (oldest !== undefined) this.#released.delete(oldest);
  }

  /** A released lease stays the newest until the next one; one released very long ago is refused. */
  isNewest(lease: Lease): boolean {
    return (this.#held.get(lease.routeKey) ?? this.#released.get(lease.routeKey)) === lease.token;
  }
}
