// What a user of `level` writes who knows its documentation and none of its traps: sessions as a head, a list of messages
// and a marker while a turn is in progress. It is honest work, and what the traps do to it is shown beside the store.
import { Level } from 'level';

export interface NaiveHead {
  readonly count: number;
  readonly inProgress: boolean;
}

export class NaiveStore {
  readonly level: Level<string, unknown>;
  readonly #heads;
  readonly #messages;
  readonly #markers;

  /** LevelDB opens by itself at the first use. */
  constructor(path: string) {
    this.level = new Level<string, unknown>(path, { valueEncoding: 'json' });
    this.#heads = this.level.sublevel<string, NaiveHead>('head', { valueEncoding: 'json' });
    this.#messages = this.level.sublevel<string, string>('message', { valueEncoding: 'json' });
    this.#markers = this.level.sublevel<string, boolean>('marker', { valueEncoding: 'json' });
  }

  head(sessionId: string): Promise<NaiveHead | undefined> {
    return this.#heads.get(sessionId);
  }

  messages(sessionId: string): Promise<string[]> {
    return this.#messages.values({ gte: `${sessionId}/`, lt: `${sessionId}0` }).all();
  }

  async load(
    sessionId: string,
  ): Promise<{ readonly head: NaiveHead; readonly messages: readonly string[] } | undefined> {
    const head = await this.head(sessionId);
    if (head === undefined) return undefined;
    return { head, messages: await this.messages(sessionId) };
  }

  interrupted(): Promise<string[]> {
    return this.#markers.keys().all();
  }

  /** Reads where the list ends, and writes behind it. */
  async append(sessionId: string, texts: readonly string[], options: { readonly sync?: boolean } = {}): Promise<void> {
    const from = (await this.head(sessionId))?.count ?? 0;
    await this.level.batch(this.#ops(sessionId, from, texts) as never[], options);
  }

  /** Writes the whole list, as a checkpoint does in most agents. */
  async save(sessionId: string, texts: readonly string[]): Promise<void> {
    await this.level.batch(this.#ops(sessionId, 0, texts) as never[]);
  }

  /** Asks for a sync of each op, where TypeScript does not mind. */
  async saveWithSyncedOps(sessionId: string, texts: readonly string[]): Promise<void> {
    await this.level.batch(this.#ops(sessionId, 0, texts).map((op) => ({ ...op, sync: true })) as never[]);
  }

  async remove(sessionId: string): Promise<void> {
    await this.#messages.clear({ gte: `${sessionId}/`, lt: `${sessionId}0`, ...{ sync: true } });
    await this.level.batch([
      { type: 'del', sublevel: this.#heads, key: sessionId },
      { type: 'del', sublevel: this.#markers, key: sessionId },
    ] as never[]);
  }

  close(): Promise<void> {
    return this.level.close();
  }

  #ops(sessionId: string, from: number, texts: readonly string[]): object[] {
    const put = (sublevel: unknown, key: string, value: unknown) => ({ type: 'put', sublevel, key, value });
    return [
      ...texts.map((text, nth) => put(this.#messages, `${sessionId}/${from + nth}`, text)),
      put(this.#heads, sessionId, { count: from + texts.length, inProgress: true }),
      put(this.#markers, sessionId, true),
    ];
  }
}
