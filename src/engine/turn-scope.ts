/**
 * Owns what the parts of one running turn may see and ask of each other.
 * Must not know how they do their work.
 */
import type { TurnEvent as ChartEvent } from '../../machines/index.js';
import type { EventBody } from '../core/events.js';
import type { TurnSnapshot } from '../core/step.js';
import type { Schema, ToolSet } from '../core/tools.js';
import type { CutOff } from './cut-off.js';
import type { KnownCalls } from './known-calls.js';
import type { Settings, TurnInfo } from './options.js';
import type { TurnRecords } from './turn-records.js';

/** What was built for this attempt; never stored. */
export interface Foreign {
  readonly deps: unknown;
  readonly tools: ToolSet;
}

export interface TurnScope {
  readonly settings: Settings;
  readonly records: TurnRecords;
  readonly known: KnownCalls;
  readonly snapshot: TurnSnapshot;
  /** Grows whenever a phase is entered: what an earlier one started is out of date (m). */
  readonly generation: number;
  /** Aborts when the phase is left. */
  readonly phaseEnd: CutOff;
  /** The process is handing the turn over: nothing new starts. */
  readonly closing: boolean;
  readonly activeMs: number;
  /** What the final answer has to fit. */
  readonly answerSchema: Schema | undefined;
  /** A person is there now. */
  readonly isAttended: boolean;
  info(): TurnInfo;
  /** Runs a task when everything before it in the mailbox is done; once the turn is over, `dropped` instead. */
  enqueue(task: () => Promise<void>, dropped?: () => void): void;
  /** One step of the chart, with its commit and its effects. Only from within a task. */
  advance(event: ChartEvent): Promise<void>;
  /** Makes changed records of known calls durable. Only from within a task. */
  writeFacts(): Promise<void>;
  announce(event: EventBody, durable: boolean): void;
}
