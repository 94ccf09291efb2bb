/**
 * Owns the account of what tools really did: the receiver's side, which no crash of the engine's side can change.
 * Must not know engines. It keeps what it is told, from whatever code it is told it.
 */
import type { Json } from '../core/json.js';

/** One effect that took place. */
export interface LedgerEntry {
  readonly tool: string;
  /** What makes two effects the same one: the idempotency key, an order number. */
  readonly key: string;
  /** What the effect was about. `crashMatrix` tells calls apart by it where their keys are none of the engine's. */
  readonly detail?: Json;
}

export interface Ledger {
  /**
   * Call it where the effect takes place, in the tool or in the receiver. The promise is fulfilled at once; where
   * `crashMatrix` ends the process right behind this effect it stays open, so a tool that awaits it goes no further.
   */
  record(tool: string, key: string, detail?: Json): Promise<void>;
  /** Effects by tool, since the ledger was made. */
  counts(): Record<string, number>;
  /** All of them, in the order in which they took place. */
  readonly entries: readonly LedgerEntry[];
}

/** Told of each effect; what it gives is what the tool awaits. */
export type EffectListener = (effect: LedgerEntry) => Promise<void>;

export class EffectLedger implements Ledger {
  readonly entries: LedgerEntry[] = [];
  #listener: EffectListener | undefined;

  record(tool: string, key: string, detail?: Json): Promise<void> {
    if (typeof tool !== 'string' || typeof key !== 'string')
      throw new TypeError('record(tool, key) takes two strings.');
    const effect = detail === undefined ? { tool, key } : { tool, key, detail };
    this.entries.push(effect);
    return this.#listener?.(effect) ?? Promise.resolve();
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { tool } of this.entries) counts[tool] = (counts[tool] ?? 0) + 1;
    return counts;
  }

  /** One at a time: while a matrix runs, its schedules are told. */
  listen(listener: EffectListener | undefined): void {
    this.#listener = listener;
  }
}

/** An empty ledger. */
export const ledger = (): Ledger => new EffectLedger();
