/**
 * Owns the shape of what a turn writes in one commit, and of what that makes durable.
 * Must not know how either is computed.
 */
import type { StoredMessage } from '../core/messages.js';
import type { CallRecord, Head, ReviewRecord } from '../core/records.js';
import type { CommitParts } from './head-writer.js';

/** What a commit wrote, so that it can be taken off the list of what is not on disk. */
export interface Written {
  readonly parts: CommitParts;
  readonly patch: Partial<Head>;
  readonly calls: readonly CallRecord[];
  readonly progress: boolean;
}

/** What a commit made durable: new messages, and calls whose life took a step. */
export interface Durable {
  readonly messages: readonly StoredMessage[];
  readonly calls: readonly CallRecord[];
  readonly reviews: readonly ReviewRecord[];
  /** The list is another one, not the old one with more behind it. */
  readonly rewritten: boolean;
}
