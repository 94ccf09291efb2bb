/**
 * Owns the canonical list of one session in memory, and how it differs from the one on disk (I3).
 * Must not know turns, calls or when something is written.
 */
import type { Message, StoredMessage } from '../core/messages.js';
import type { TranscriptWrite } from '../core/ports.js';
import type { Head } from '../core/records.js';
import { planTranscript } from '../core/transcript.js';
import type { CommitParts } from './head-writer.js';

const bareOf = (list: readonly StoredMessage[]): Message[] => list.map(({ message }) => message);

type ListParts = Pick<CommitParts, 'transcript' | 'archive'>;

export class CanonicalList {
  private list: StoredMessage[];
  /** The same without metadata. Taken from the list for every request, it would cost a look at each message of a session. */
  private bare: Message[];
  private stored: StoredMessage[];
  /** So many messages at the beginning of both are the same: appending changes nothing about them. */
  private same: number;
  /** What a compaction took out of the list, until it is on disk as an archive. */
  private archived: readonly StoredMessage[] = [];

  constructor(stored: readonly StoredMessage[]) {
    this.stored = [...stored];
    this.list = [...stored];
    this.bare = bareOf(stored);
    this.same = stored.length;
  }

  get messages(): readonly StoredMessage[] {
    return this.list;
  }

  /** The list for a request: a copy, since it goes to code that may change it or keep it. */
  bareMessages(): readonly Message[] {
    return this.bare.slice();
  }

  /** The list as it is on disk. */
  get onDisk(): readonly StoredMessage[] {
    return [...this.stored];
  }

  append(message: StoredMessage): void {
    this.list.push(message);
    this.bare.push(message.message);
  }

  /** Another list, whatever it has in common with this one. */
  replace(list: readonly StoredMessage[]): void {
    this.list = [...list];
    this.bare = bareOf(list);
    this.same = 0;
  }

  /** A shorter list takes the place of this one; what left it is kept as an archive. */
  compactTo(list: readonly StoredMessage[], removed: readonly StoredMessage[]): void {
    this.replace(list);
    this.archived = [...this.archived, ...removed];
  }

  /** What makes the stored list equal to this one, and what the head says about it. */
  toWrite(head: Head): { readonly parts: ListParts; readonly patch: Partial<Head> } {
    // What leaves the list may never have been on disk: then the rest looks like an append, and is a rewrite all the same.
    const transcript: TranscriptWrite | undefined =
      this.archived.length > 0
        ? { kind: 'rewrite', epoch: head.epoch + 1, messages: this.list }
        : planTranscript(this.stored, this.list, head.epoch, this.same);
    return {
      parts: {
        ...(transcript === undefined ? {} : { transcript }),
        ...(this.archived.length === 0 ? {} : { archive: this.archived }),
      },
      patch: {
        epoch: transcript?.kind === 'rewrite' ? transcript.epoch : head.epoch,
        count: this.list.length,
        archived: head.archived + this.archived.length,
      },
    };
  }

  /** Called when it is durable; gives the messages that are new on disk. */
  written({ transcript, archive = [] }: ListParts): readonly StoredMessage[] {
    if (transcript === undefined) return [];
    this.archived = this.archived.slice(archive.length);
    const before = transcript.kind === 'append' ? undefined : new Set(this.stored);
    if (before === undefined) for (const message of transcript.messages) this.stored.push(message);
    else this.stored = [...transcript.messages];
    this.same = this.stored.length;
    return before === undefined
      ? transcript.messages
      : [...archive, ...transcript.messages].filter((message) => !before.has(message));
  }
}
