/**
 * Owns the memory of what was told of one session last: a bounded row of events that any number of readers share, each
 * at its own place. A reader that falls behind its beginning has missed something, and nobody waits for it.
 * Must not know what the events mean or who reads them.
 */
import { FEED_CHARS, FEED_EVENTS } from '../../machines/index.js';
import type { TurnEvent } from '../core/events.js';

/** null: the list became another one, and only a new view is right. */
export type Entry = TurnEvent | null;

interface Kept {
  readonly entry: Entry;
  /** Its number among everything told in this process. */
  readonly number: number;
  readonly chars: number;
}

export class Feed {
  /** How many read it now. */
  readers = 0;
  /** Forgets the feed, unless a reader comes back before. */
  disarm: (() => void) | undefined;
  private readonly kept: Kept[] = [];
  /** The place of the oldest entry that is kept. */
  private oldest = 0;
  /** Everything behind this number is kept. */
  private completeFrom: number;
  private chars = 0;
  private readonly waiting = new Set<() => void>();

  constructor(number: number) {
    this.completeFrom = number;
  }

  /** Where a reader stands that has seen everything. */
  get end(): number {
    return this.oldest + this.kept.length;
  }

  add(entry: Entry, number: number): void {
    const chars = entry === null ? 0 : sizeOf(entry);
    this.kept.push({ entry, number, chars });
    this.chars += chars;
    // The newest is kept, however large it is.
    while (this.kept.length > FEED_EVENTS || (this.chars > FEED_CHARS && this.kept.length > 1)) this.forgetOldest();
    this.wake();
  }

  /** How many entries a reader at this place has missed. */
  missedAt(place: number): number {
    return Math.max(0, this.oldest - place);
  }

  /** undefined: nothing is there yet. Only where nothing was missed. */
  at(place: number): { readonly entry: Entry } | undefined {
    return this.kept[place - this.oldest];
  }

  /** The place behind the event with this number; undefined where what came behind it is not all kept. */
  placeBehind(number: number): number | undefined {
    if (number < this.completeFrom) return undefined;
    let place = this.end;
    for (let index = this.kept.length - 1; index >= 0 && (this.kept[index] as Kept).number > number; index -= 1)
      place -= 1;
    return place;
  }

  /** Resolves when something was added or the readers are woken. */
  next(): Promise<void> {
    return new Promise((resolve) => this.waiting.add(resolve));
  }

  wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  private forgetOldest(): void {
    const { number, chars } = this.kept.shift() as Kept;
    this.oldest += 1;
    this.completeFrom = number;
    this.chars -= chars;
  }
}

/** Roughly what it takes to keep it; what `redact` made of a value may be no JSON. */
function sizeOf(event: TurnEvent): number {
  if (event.type === 'delta') return event.delta.text.length;
  try {
    return JSON.stringify(event).length;
  } catch {
    return FEED_CHARS;
  }
}
