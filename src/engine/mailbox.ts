/**
 * Owns the order of everything that happens to one turn: one task at a time.
 * Must not know what tasks do, only that each has an end, and that some have somebody who waits for an answer.
 */
import type { TurnError } from '../core/errors.js';

interface Task {
  readonly run: () => Promise<void>;
  readonly dropped: (() => void) | undefined;
}

export interface MailboxListener {
  /** Every task is done, for the moment. */
  idle(): Promise<void>;
  /** A task threw: it could not be finished and never will be. */
  failed(thrown: unknown): Promise<void>;
}

export class Mailbox {
  private readonly tasks: Task[] = [];
  private readonly listener: MailboxListener;
  /** Callers whose tasks wait behind a commit that fails. */
  private readonly waiting = new Set<(error: TurnError) => void>();
  private pumping = false;
  private closed = false;

  constructor(listener: MailboxListener) {
    this.listener = listener;
  }

  /** Runs a task in its turn; once the mailbox is closed, `dropped` instead. */
  enqueue(run: () => Promise<void>, dropped?: () => void): void {
    if (this.closed) {
      dropped?.();
      return;
    }
    this.tasks.push({ run, dropped });
    if (!this.pumping) void this.pump();
  }

  /**
   * A task with an answer. While a commit fails, its caller is told at once and `whileFailing` is called; the task
   * stays in its place, since what it asks for may be durable later all the same.
   */
  ask<T>(run: () => Promise<T>, dropped: () => T, whileFailing?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const tell = (error: TurnError): void => {
        whileFailing?.();
        reject(error);
      };
      this.waiting.add(tell);
      this.enqueue(
        async () => {
          try {
            resolve(await run());
          } catch (thrown) {
            reject(thrown);
            throw thrown;
          } finally {
            this.waiting.delete(tell);
          }
        },
        () => {
          this.waiting.delete(tell);
          resolve(dropped());
        },
      );
    });
  }

  /** A commit failed and is tried again: whoever waits for an answer gets this one. */
  tellWaiting(error: TurnError): void {
    for (const tell of this.waiting) tell(error);
  }

  /** Nothing runs any more; what is left is dropped. */
  close(): void {
    this.closed = true;
  }

  private async pump(): Promise<void> {
    this.pumping = true;
    // From a fresh stack, so that whoever enqueued the task goes on first.
    await undefined;
    for (let task = this.tasks.shift(); task !== undefined; task = this.tasks.shift()) {
      if (this.closed) {
        task.dropped?.();
        continue;
      }
      try {
        await task.run();
        if (this.tasks.length === 0 && !this.closed) await this.listener.idle();
      } catch (thrown) {
        await this.listener.failed(thrown);
      }
    }
    this.pumping = false;
  }
}
