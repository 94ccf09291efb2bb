/**
 * Owns everything that is stored of one session, as far as it can be read: what is damaged is listed beside it.
 * Must not know how it is shown.
 */
import type { Json } from '../../core/json.js';
import type { StoredMessage } from '../../core/messages.js';
import { withShown } from '../../core/outputs.js';
import type { CallRecord, Head, InboxRecord, OutcomeRecord, ReviewRecord } from '../../core/records.js';
import * as keys from '../../store/keys.js';
import { decodeRecord } from '../../store/records.js';
import { bytesOf, readable } from '../../store/salvage.js';
import type { Tables } from '../../store/tables.js';

export interface Sheet {
  readonly sessionId: string;
  /** null where it cannot be read. */
  readonly head: Head | null;
  readonly messages: readonly StoredMessage[];
  /** What compactions took out of the list. */
  readonly archive: readonly StoredMessage[];
  readonly checkpoint: Json | null;
  /** Of all turns, in the order they were prepared, each with its output wherever that is stored. */
  readonly calls: readonly CallRecord[];
  readonly inbox: readonly InboxRecord[];
  readonly reviews: readonly ReviewRecord[];
  readonly outcomes: readonly OutcomeRecord[];
  readonly damaged: readonly { readonly kind: keys.Kind; readonly key: string; readonly damage: string }[];
  /** Records that were set aside as damaged before. */
  readonly quarantined: number;
}

/** undefined where nothing is stored of the session. */
export async function readSheet(tables: Tables, sessionId: string): Promise<Sheet | undefined> {
  const reader = new Reader(tables);
  const head = (await reader.one('head', keys.headKey(sessionId))) as { readonly head: Head } | undefined;
  const list =
    head === undefined ? keys.messagesOfSession(sessionId) : keys.messagesOfEpoch(sessionId, head.head.epoch);
  // More may be staged by a commit that never came.
  const archived = keys.archiveUpTo(sessionId, head?.head.archived ?? 0);
  const inbox = (await reader.all('inbox', keys.inboxOfSession(sessionId))) as { readonly input: InboxRecord }[];
  const reviews = (await reader.all('review', keys.reviewsOfSession(sessionId))) as { readonly review: ReviewRecord }[];
  const calls = (await reader.all('call', keys.callsOfSession(sessionId))) as CallRecord[];
  const messages = (await reader.all('message', list)) as StoredMessage[];
  const archive = (await reader.all(
    'archive',
    head === undefined ? keys.archiveOfSession(sessionId) : archived,
  )) as StoredMessage[];
  const sheet: Sheet = {
    sessionId,
    head: head?.head ?? null,
    messages,
    archive,
    checkpoint: (await reader.one('turn', keys.turnKey(sessionId))) ?? null,
    calls: withShown(
      calls.sort((a, b) => a.preparedAt - b.preparedAt),
      [...archive, ...messages],
    ),
    inbox: inbox.map(({ input }) => input),
    reviews: reviews.map(({ review }) => review),
    outcomes: (await reader.all('outcome', keys.outcomesOfSession(sessionId))) as OutcomeRecord[],
    damaged: reader.damaged,
    quarantined: await reader.count('quarantine', keys.quarantineOfSession(sessionId)),
  };
  return reader.found === 0 ? undefined : sheet;
}

class Reader {
  readonly damaged: { kind: keys.Kind; key: string; damage: string }[] = [];
  found = 0;
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async one(kind: keys.Kind, key: string): Promise<Json | undefined> {
    const bytes = await bytesOf(this.#tables, kind, key);
    return bytes === undefined ? undefined : this.#decoded(kind, key, bytes);
  }

  async all(kind: keys.Kind, range: keys.Range): Promise<unknown[]> {
    const values: unknown[] = [];
    const missing = () => this.damaged.push({ kind, key: range.gte, damage: 'a part that LevelDB cannot read' });
    for await (const [key, bytes] of readable(this.#tables, kind, range, missing)) {
      const value = this.#decoded(kind, key, bytes);
      if (value !== undefined) values.push(value);
    }
    return values;
  }

  async count(kind: keys.Kind, range: keys.Range): Promise<number> {
    let count = 0;
    for await (const _ of readable(this.#tables, kind, range)) count += 1;
    this.found += count;
    return count;
  }

  #decoded(kind: keys.Kind, key: string, bytes: Buffer): Json | undefined {
    this.found += 1;
    const record = decodeRecord(kind, key, bytes);
    if (record.ok) return record.value;
    this.damaged.push({ kind, key, damage: record.damage });
    return undefined;
  }
}
