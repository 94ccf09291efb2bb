/**
 * Owns what callers hold of turns: promises of an outcome, and of where a turn comes to rest.
 * Must not know how turns run.
 */
import type { TurnOutcome, TurnRest } from '../core/events.js';
import { sessionOfTurn } from '../core/ids.js';

export interface CancelOptions {
  /** For the outcome. */
  readonly reason?: string;
  /** Keeps the text that came so far as an answer. Default false: it is dropped. */
  readonly keepPartialText?: boolean;
}

/** A turn as its caller sees it. */
export interface Turn {
  readonly sessionId: string;
  readonly turnId: string;
  /** Resolves with the end of the turn; stays open while it is parked or handed over. */
  readonly outcome: Promise<TurnOutcome>;
  /** Resolves with the end, or as soon as the turn waits for a person or is handed over. */
  readonly rest: Promise<TurnRest>;
  /** Durable when it resolves; gives the outcome the turn has then, cancelled or not. */
  cancel(options?: CancelOptions): Promise<TurnOutcome>;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

export class TurnHandles {
  private readonly outcomes = new Map<string, Deferred<TurnOutcome>>();
  private readonly rests = new Map<string, Deferred<TurnRest>>();
  /** Turns that wait for a person: whoever asks later learns it at once. */
  private readonly parked = new Map<string, TurnRest>();
  private readonly cancelTurn: (turnId: string, options?: CancelOptions) => Promise<TurnOutcome>;

  constructor(cancelTurn: (turnId: string, options?: CancelOptions) => Promise<TurnOutcome>) {
    this.cancelTurn = cancelTurn;
  }

  /** A handle for a turn that has not ended. */
  of(turnId: string): Turn {
    const parked = this.parked.get(turnId);
    const rest = parked === undefined ? entry(this.rests, turnId).promise : Promise.resolve(parked);
    return this.make(turnId, entry(this.outcomes, turnId).promise, rest);
  }

  /** A driver takes the turn up: whatever it waited for is over. */
  started(turnId: string): Turn {
    this.parked.delete(turnId);
    return this.of(turnId);
  }

  /** A handle for a turn that ended earlier. */
  ended(turnId: string, outcome: TurnOutcome): Turn {
    return this.make(turnId, Promise.resolve(outcome), Promise.resolve(outcome));
  }

  rested(turnId: string, rest: TurnRest): void {
    this.rests.get(turnId)?.resolve(rest);
    this.rests.delete(turnId);
    if (rest.status === 'parked') this.parked.set(turnId, rest);
    else this.parked.delete(turnId);
    if (rest.status === 'parked' || rest.status === 'handedOver') return;
    this.outcomes.get(turnId)?.resolve(rest);
    this.outcomes.delete(turnId);
  }

  /** The process goes: whoever waits for a rest learns that the turn goes on elsewhere. */
  handOverAll(): void {
    for (const rest of this.rests.values()) rest.resolve({ status: 'handedOver' });
    this.rests.clear();
  }

  private make(turnId: string, outcome: Promise<TurnOutcome>, rest: Promise<TurnRest>): Turn {
    return {
      sessionId: sessionOfTurn(turnId) ?? '',
      turnId,
      outcome,
      rest,
      cancel: (options) => this.cancelTurn(turnId, options),
    };
  }
}

function entry<T>(map: Map<string, Deferred<T>>, key: string): Deferred<T> {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = deferred<T>();
  map.set(key, made);
  return made;
}
