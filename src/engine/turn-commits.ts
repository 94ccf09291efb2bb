/**
 * Owns how a turn becomes durable: it builds the commits of one driver and keeps at each until it is on disk.
 * Must not know what led to a commit. While one fails, nobody goes on: event, ownership and running tools are kept.
 */
import type { TurnError } from '../core/errors.js';
import type { Clock, Lease } from '../core/ports.js';
import type { Head } from '../core/records.js';
import { CutOff } from './cut-off.js';
import type { CommitParts, HeadWriter } from './head-writer.js';
import type { TurnRecords } from './turn-records.js';
import { type Patience, untilStored } from './until-stored.js';
import type { Durable, Written } from './written.js';

export interface CommitListener {
  /** Called at each failed try. */
  failed(error: TurnError): void;
  /** Called when a commit is durable, with what is new on disk. */
  durable(durable: Durable): void;
}

export class TurnCommits {
  private readonly writer: HeadWriter;
  private readonly records: TurnRecords;
  private readonly lease: Lease;
  private readonly clock: Clock;
  private readonly listener: CommitListener;
  /** When this driver began, and how much time the turn had with earlier ones. */
  private readonly since: number;
  private readonly activeBefore: number;
  private readonly givenUp = new CutOff();
  private readonly patience: Patience;

  constructor(
    writer: HeadWriter,
    records: TurnRecords,
    lease: Lease,
    ports: { readonly clock: Clock; readonly listener: CommitListener; readonly activeBefore: number },
  ) {
    this.writer = writer;
    this.records = records;
    this.lease = lease;
    this.clock = ports.clock;
    this.listener = ports.listener;
    this.since = ports.clock.now();
    this.activeBefore = ports.activeBefore;
    this.patience = {
      clock: ports.clock,
      isOver: () => this.givenUp.isAborted,
      hurry: this.givenUp,
      failed: (error) => ports.listener.failed(error),
    };
  }

  get head(): Head {
    return this.writer.head;
  }

  get activeMs(): number {
    return this.activeBefore + Math.max(0, this.clock.now() - this.since);
  }

  /**
   * Resolves when the commit is durable, however often that has to be tried.
   * @throws {TurnError} TURN_CONFLICT, TURN_STORE_CLOSED, TURN_TOO_LARGE: it never will be.
   */
  async write(written: Written, patch: Partial<Head>, parts: CommitParts = {}): Promise<void> {
    const commit = this.build(written, patch, parts);
    await untilStored(() => this.writer.write(commit), this.patience);
    this.listener.durable(this.records.markWritten(written));
  }

  /** One try: for a commit whose caller still waits for an answer and has lost nothing if it fails. */
  async tryWrite(written: Written, patch: Partial<Head>, parts: CommitParts): Promise<void> {
    await this.writer.write(this.build(written, patch, parts));
    this.listener.durable(this.records.markWritten(written));
  }

  /** The process is closing: a commit that fails now is not tried again. */
  giveUp(): void {
    this.givenUp.abort(() => new Error('the process is closing'));
  }

  private build(written: Written, patch: Partial<Head>, parts: CommitParts) {
    const now = this.clock.now();
    // Progress is a new message or a call's outcome; it frees the turn of the attempts counted so far.
    const progress: Partial<Head> = written.progress ? { lastProgressAt: now, attempts: 0 } : {};
    const all = Object.assign({}, written.parts, parts);
    return this.writer.next(all, this.lease, written.patch, { activeMs: this.activeMs }, progress, patch);
  }
}
