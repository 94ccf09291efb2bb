/**
 * Owns the handle to the database: opening, and closing and reopening it after a failed write.
 * Must not know sessions or commits.
 *
 * After one failed write of its log, LevelDB loses later writes on the same handle although it acknowledges them.
 * So a handle that failed once is never written to again.
 */
import { messageOf, TurnError } from '../core/errors.js';
import { isCorruption, type Level, Tables, type Watch } from './tables.js';

export interface Backing {
  /** Opens the database, again and again. Throws TurnErrors for what a person has to know, anything else otherwise. */
  open(): Promise<Level>;
  /** Is told what the database opened last is doing. */
  readonly watch?: Watch | undefined;
  /** Gives back what was reserved for it, after the last close. */
  release(): void;
}

/** What is done with a view before anybody else sees it; `first` at the first opening only. */
export type Prepare = (tables: Tables, first: boolean) => Promise<void>;

export class Database {
  readonly #backing: Backing;
  readonly #prepare: Prepare;
  #tables: Tables | null = null;
  #opening: Promise<Tables> | null = null;
  /** Opened, and to be closed before the next opening. */
  #stale: Level | null = null;
  #openedBefore = false;
  #closed = false;

  constructor(backing: Backing, prepare: Prepare) {
    this.#backing = backing;
    this.#prepare = prepare;
  }

  /**
   * The view to work on; opens or reopens where there is none.
   * @throws {TurnError} TURN_STORE_CLOSED, TURN_STORE_FAILED, and at the first opening what `Backing.open` throws.
   */
  async ready(): Promise<Tables> {
    if (this.#closed) throw closedError();
    if (this.#tables !== null) return this.#tables;
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** A write on this view failed: nobody may use it any more. */
  poison(tables: Tables): void {
    if (this.#tables !== tables) return;
    this.#stale = tables.level;
    this.#tables = null;
  }

  /**
   * Runs a read, once more where a reopening came between.
   * @throws {TurnError} TURN_STORE_CLOSED, TURN_STORE_FAILED, and what `read` throws as TurnError.
   */
  async read<T>(read: (tables: Tables) => Promise<T>): Promise<T> {
    const tables = await this.ready();
    try {
      return await read(tables);
    } catch (error) {
      if (this.#tables === tables || error instanceof TurnError) throw storeError(error);
    }
    try {
      return await read(await this.ready());
    } catch (error) {
      throw storeError(error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.catch(() => {});
    const level = this.#tables?.level ?? this.#stale;
    this.#tables = null;
    this.#stale = null;
    if (level !== null) await level.close();
    this.#backing.release();
  }

  async #reopen(): Promise<Tables> {
    try {
      if (this.#stale !== null) await this.#stale.close();
      this.#stale = null;
      this.#stale = await this.#backing.open();
      const tables = new Tables(this.#stale, this.#backing.watch);
      await this.#prepare(tables, !this.#openedBefore);
      this.#openedBefore = true;
      this.#stale = null;
      this.#tables = tables;
      return tables;
    } catch (error) {
      throw this.#openedBefore ? storeError(error, true) : storeError(error);
    }
  }
}

export const closedError = (): TurnError => new TurnError('TURN_STORE_CLOSED', 'The store is closed; open a new one.');

/**
 * What the caller of the store sees. `always` makes even a TurnError a failure of the store: a database that was open
 * before and cannot be reopened now may be reopened later.
 */
export function storeError(error: unknown, always = false): TurnError | TypeError {
  if (!always && (error instanceof TurnError || error instanceof TypeError)) return error;
  if (!always && isCorruption(error)) {
    return new TurnError('TURN_DAMAGED', `The database cannot read a part of itself: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return new TurnError('TURN_STORE_FAILED', `The database failed: ${messageOf(error)}`, { cause: error });
}
