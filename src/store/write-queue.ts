/**
 * Owns the only path to the disk: jobs wait in order, and what waits at the same time becomes one synced batch.
 * Must not know what jobs write. Also owns what happens when a batch fails.
 */
import { type Database, storeError } from './database.js';
import { BATCH_BYTES, BATCH_OPS, type Op, type Tables } from './tables.js';

export interface Step {
  readonly ops: readonly Op[];
  /** The job is done once this is durable. */
  readonly last: boolean;
  /** Runs when the step is durable, before anybody is told. */
  durable?(): void;
}

/** Something to write, in one atomic step or in several with other jobs between them. */
export interface Job {
  /** Jobs of one lane run one after the other; at most one of a lane is in a batch. */
  readonly lane: unknown;
  /** What the next step will take, to decide what fits into one batch. */
  size(): { readonly ops: number; readonly bytes: number };
  /** The next step; null where nothing is left to do. A throw ends this job alone. */
  next(tables: Tables): Step | null | Promise<Step | null>;
  /** The handle was lost and nothing that was read is known any more: begin again. */
  restart(): void;
  /** Whether the last step is on disk although its batch was reported as failed. */
  landed?(tables: Tables): Promise<boolean>;
}

interface Entry {
  readonly job: Job;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
interface Pick {
  readonly entry: Entry;
  readonly step: Step;
}

/** Sessions that go on in one go when their batch is durable. Prevents: a hundred that hold up the event loop. */
const TOLD_AT_ONCE = 4;

export class WriteQueue {
  readonly #database: Database;
  /** Runs when a handle is lost: whatever is cached came from it. */
  readonly #forget: () => void;
  #waiting: Entry[] = [];
  #running: Promise<void> | null = null;

  constructor(database: Database, forget: () => void) {
    this.#database = database;
    this.#forget = forget;
  }

  /**
   * Resolves when the job is durable.
   * @throws {TurnError} TURN_STORE_FAILED, and whatever the job itself throws.
   */
  submit(job: Job): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      // One microtask later, so that everything submitted in one go is in the first batch.
      this.#running ??= Promise.resolve().then(() => this.#run());
    });
  }

  /** Resolves when nothing waits any more. */
  async drained(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      try {
        await this.#round(await this.#database.ready());
      } catch (error) {
        this.#settle(this.#waiting, (entry) => entry.reject(storeError(error)));
      }
    }
    // In the same tick as the look at the queue: whoever submits next starts a new run.
    this.#running = null;
  }

  async #round(tables: Tables): Promise<void> {
    const batch = await this.#picks(tables);
    if (batch.length === 0) return;
    try {
      const ops: Op[] = [];
      for (const { step } of batch) for (const op of step.ops) ops.push(op);
      await tables.write(ops);
    } catch (error) {
      await this.#failed(tables, batch, error);
      return;
    }
    for (const { step } of batch) step.durable?.();
    const done = batch.filter(({ step }) => step.last).map(({ entry }) => entry);
    for (let from = 0; from < done.length; from += TOLD_AT_ONCE) {
      // What those who were told do next comes before anything else of this process, timers and sockets included.
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      this.#settle(done.slice(from, from + TOLD_AT_ONCE), (entry) => entry.resolve());
    }
  }

  /** The first job of each lane, as long as they fit; always at least one. */
  #candidates(): Entry[] {
    const lanes = new Set<unknown>();
    const chosen: Entry[] = [];
    let ops = 0;
    let bytes = 0;
    for (const entry of this.#waiting) {
      if (ops >= BATCH_OPS || bytes >= BATCH_BYTES) break;
      if (lanes.has(entry.job.lane)) continue;
      lanes.add(entry.job.lane);
      const size = entry.job.size();
      if (chosen.length > 0 && (ops + size.ops > BATCH_OPS || bytes + size.bytes > BATCH_BYTES)) continue;
      chosen.push(entry);
      ops += size.ops;
      bytes += size.bytes;
    }
    return chosen;
  }

  /** The next step of each candidate. Most have theirs at hand; the others look into the database, all at once. */
  async #picks(tables: Tables): Promise<readonly Pick[]> {
    const picks: Pick[] = [];
    const looking: Promise<void>[] = [];
    for (const entry of this.#candidates()) {
      const take = (step: Step | null): void => {
        if (step !== null) picks.push({ entry, step });
        else this.#settle([entry], () => entry.resolve());
      };
      const fail = (error: unknown): void => this.#settle([entry], () => entry.reject(storeError(error)));
      try {
        const step = entry.job.next(tables);
        if (step instanceof Promise) looking.push(step.then(take).catch(fail));
        else take(step);
      } catch (error) {
        fail(error);
      }
    }
    if (looking.length > 0) await Promise.all(looking);
    return picks;
  }

  /** Which of the batch is on disk all the same? The others failed; those behind begin again on the new handle. */
  async #failed(tables: Tables, batch: readonly Pick[], error: unknown): Promise<void> {
    this.#database.poison(tables);
    this.#forget();
    const failed = new Set(batch.map(({ entry }) => entry));
    for (const { job } of this.#waiting) job.restart();
    const reopened = await this.#database.ready().catch(() => undefined);
    if (reopened === undefined) {
      this.#settle(this.#waiting, (entry) => entry.reject(storeError(error, true)));
      return;
    }
    for (const { entry, step } of batch) {
      const landed = step.last && (await entry.job.landed?.(reopened).catch(() => false)) === true;
      if (landed) entry.resolve();
      else entry.reject(storeError(error, true));
    }
    this.#waiting = this.#waiting.filter((entry) => !failed.has(entry));
  }

  #settle(entries: readonly Entry[], tell: (entry: Entry) => void): void {
    if (entries.length === 0) return;
    const gone = new Set(entries);
    this.#waiting = this.#waiting.filter((entry) => !gone.has(entry));
    for (const entry of gone) tell(entry);
  }
}
