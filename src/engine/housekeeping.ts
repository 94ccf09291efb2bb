/**
 * Owns what happens to whole sessions: delete, prune, export, import, and taking back input that has not joined.
 * Must not know turns in progress beyond leaving them alone.
 */

import { messageOf, TurnError } from '../core/errors.js';
import { checkFields } from '../core/fields.js';
import { checkId } from '../core/ids.js';
import { checkMessages } from '../core/message-check.js';
import { type Message, type MessageMeta, NO_USAGE, type StoredMessage } from '../core/messages.js';
import type { BackupProgress } from '../core/ports.js';
import type { Head, InboxRecord } from '../core/records.js';
import { repairTranscript } from '../core/transcript.js';
import { newHead } from './head-writer.js';
import { readable } from './readable.js';
import type { Roster } from './roster.js';

const ORIGINS: Readonly<Record<Message['role'], MessageMeta['origin']>> = {
  system: 'input',
  user: 'input',
  assistant: 'model',
  tool: 'tool',
};

export class Housekeeping {
  private readonly roster: Roster;

  constructor(roster: Roster) {
    this.roster = roster;
  }

  async remove(sessionId: string): Promise<void> {
    checkId(sessionId, 'sessionId');
    await this.roster.sessions.run(sessionId, async () => {
      // A head that cannot be read keeps nobody from forgetting the session.
      const head = await readable(() => this.roster.head(sessionId));
      if (head !== undefined) await this.checkDeletable(head);
      await this.roster.store.remove(sessionId);
      this.roster.background.forgetDamage(sessionId);
      this.roster.presence.takeInputs(sessionId, []);
      if (typeof head?.nextTurnId === 'string') this.endPromised(head.nextTurnId, 'deleted');
      this.roster.announcer.feeds.renew(sessionId);
    });
  }

  /** Only what nobody waits for: no turn, no input, no outcome due, no doubt that a person has to settle. */
  async prune(options: { readonly olderThanMs: number }): Promise<number> {
    const olderThanMs = options?.olderThanMs;
    if (!Number.isSafeInteger(olderThanMs) || olderThanMs < 0) {
      throw new TypeError('olderThanMs must be whole ms of at least 0.');
    }
    checkFields(options, { olderThanMs: true });
    const { store, settings } = this.roster;
    const before = settings.clock.now() - olderThanMs;
    const doubtful = new Set((await store.reviews(settings.agent)).map((review) => review.sessionId));
    let pruned = 0;
    for await (const { sessionId } of store.sessions(settings.agent)) {
      if (doubtful.has(sessionId)) continue;
      const gone = await this.roster.sessions.run(sessionId, async () => {
        const head = await this.roster.head(sessionId);
        if (head === undefined || this.isBusy(head) || lastMoment(head) > before) return false;
        await store.remove(sessionId);
        this.roster.announcer.feeds.renew(sessionId);
        return true;
      });
      if (gone) pruned += 1;
    }
    return pruned;
  }

  /** JSON lines: what the session is, then its messages, archived ones first. */
  async *exportSession(sessionId: string): AsyncGenerator<string> {
    checkId(sessionId, 'sessionId');
    const { store } = this.roster;
    const head = await this.roster.head(sessionId);
    if (head === undefined) throw new TurnError('TURN_NOT_FOUND', `there is no session "${sessionId}"`);
    yield* exportedLines(head, await store.archive(sessionId), await store.messages(sessionId));
  }

  /** A history from elsewhere becomes a session of its own; calls without a result are given one (I10). */
  async importSession(sessionId: string, messages: readonly Message[]): Promise<void> {
    checkId(sessionId, 'sessionId');
    checkMessages(messages, 'messages');
    const { settings } = this.roster;
    const list = repairTranscript(messages).map(
      (message): StoredMessage => ({
        message,
        meta: { id: settings.ids(), at: settings.clock.now(), turnId: '', origin: ORIGINS[message.role] },
      }),
    );
    await this.roster.sessions.run(sessionId, async () => {
      if ((await this.roster.head(sessionId)) !== undefined) {
        throw new TurnError('TURN_BUSY', `session "${sessionId}" exists; import into a new one or delete it first`);
      }
      const writer = this.roster.writerOf(newHead(sessionId, settings.agent, `session ${sessionId}`));
      // A list of any length is staged and counts at once: that is what a new epoch is for.
      const transcript = { kind: 'rewrite', epoch: 1, messages: list } as const;
      const patch = { epoch: 1, count: list.length, lastProgressAt: settings.clock.now() };
      await writer.write(writer.next({ transcript }, null, patch));
      this.roster.announcer.feeds.renew(sessionId);
    });
  }

  /** Everything in the store, whosever it is. */
  async backup(folder: string, options: { onProgress?(progress: BackupProgress): void } = {}): Promise<BackupProgress> {
    checkFields(options, { onProgress: true });
    if (typeof folder !== 'string' || folder === '') throw new TypeError('folder must be the path of a new folder.');
    const { store } = this.roster;
    if (store.backup === undefined) {
      throw new TypeError(`a store of kind "${store.kind}" makes no backups; use the tools of its database.`);
    }
    return store.backup(folder, (progress) => {
      try {
        options.onProgress?.(progress);
      } catch (thrown) {
        // As with any listener: the work goes on, and nobody takes it for a failure of the database.
        process.emitWarning(`onProgress threw: ${messageOf(thrown)}`, 'DurableTurnWarning');
      }
    });
  }

  async withdraw(sessionId: string, messageId: string): Promise<'withdrawn' | 'alreadyJoined'> {
    checkId(sessionId, 'sessionId');
    checkId(messageId, 'messageId');
    return this.roster.sessions.run(sessionId, async () => {
      const { store } = this.roster;
      const running = this.roster.driverOf(sessionId);
      const known = await running?.withdraw(messageId);
      if (known === 'withdrawn') this.roster.presence.forgetInput(sessionId, messageId);
      if (known !== undefined) return known;
      const head = await this.roster.head(sessionId);
      const input = (await store.inbox(sessionId)).find((waiting) => waiting.messageId === messageId);
      if (head !== undefined && input !== undefined) return this.takeBack(head, input);
      if ((await store.seen(sessionId, messageId)) !== undefined) return 'alreadyJoined';
      throw new TurnError('TURN_NOT_FOUND', `session "${sessionId}" knows no message "${messageId}"`);
    });
  }

  private async takeBack(head: Head, input: InboxRecord): Promise<'withdrawn'> {
    const left = head.waitingInput - 1;
    const writer = this.roster.writerOf(head);
    const patch = { waitingInput: left, nextTurnId: left === 0 ? null : head.nextTurnId };
    await writer.write(writer.next({ inbox: { put: [], remove: [input] } }, null, patch));
    this.roster.presence.forgetInput(head.sessionId, input.messageId);
    // Nothing is left that the promised turn would have begun with; whoever waits for it to begin sees that.
    if (left === 0 && head.nextTurnId !== null) {
      this.endPromised(head.nextTurnId, 'withdrawn');
      this.roster.announcer.feeds.renew(head.sessionId);
    }
    return 'withdrawn';
  }

  /** A turn that never begins is over for whoever holds it. */
  private endPromised(turnId: string, reason: string): void {
    this.roster.handles.rested(turnId, { status: 'cancelled', reason, text: '', usage: NO_USAGE });
  }

  private isBusy(head: Head): boolean {
    const idle = !head.inProgress && head.waitingInput === 0 && head.outcomesDue.length === 0;
    return !idle || this.roster.driverOf(head.sessionId) !== undefined;
  }

  /** What waits where it cannot be read waits for ever: it keeps nobody from forgetting the session. */
  private async checkDeletable({ sessionId, inProgress, waitingInput, outcomesDue }: Head): Promise<void> {
    const { store } = this.roster;
    const isThere = async (read: () => Promise<unknown>) => (await readable(read)) !== undefined;
    const busy = (what: string) => new TurnError('TURN_BUSY', `session "${sessionId}" has ${what}; end that first`);
    if (inProgress || this.roster.driverOf(sessionId) !== undefined) throw busy('a turn in progress');
    if (waitingInput > 0 && (await isThere(() => store.load(sessionId)))) throw busy('input waiting');
    for (const turnId of outcomesDue) {
      if (await isThere(() => store.outcome(turnId))) throw busy('an outcome to deliver');
    }
  }
}

/** A session as JSON lines, each with its line end. */
export function* exportedLines(
  { sessionId, agent, context, sessionUsage: usage }: Head,
  archive: readonly StoredMessage[],
  messages: readonly StoredMessage[],
): Generator<string> {
  yield `${JSON.stringify({ type: 'session', sessionId, agent, context, usage })}\n`;
  for (const stored of archive) yield `${JSON.stringify({ type: 'archived', ...stored })}\n`;
  for (const stored of messages) yield `${JSON.stringify({ type: 'message', ...stored })}\n`;
}

export const lastMoment = (head: Head): number =>
  Math.max(head.ended?.at ?? 0, head.lastProgressAt ?? 0, head.startedAt ?? 0);
