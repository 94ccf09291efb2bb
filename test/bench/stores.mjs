// Owns folders as they look after long service, built with the adapter's own encoding and without its waiting: a
// million sessions, turns that a crash has cut off. Must not be used where what the engine does is what is measured.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openLevelStore } from 'durable-turn/level';
import { turnMachine } from 'durable-turn/machines';
import { Level } from 'level';
import { encodeCheckpoint } from '../../dist/src/core/checkpoint.js';
import { firstStep, step } from '../../dist/src/core/step.js';
import { newHead } from '../../dist/src/engine/head-writer.js';
import { resolveLimits } from '../../dist/src/engine/options.js';
import { encodeCommit } from '../../dist/src/store/commit.js';
import { KILOBYTES_2, textOf } from './turns.mjs';

export const AGENT = 'bench';

/** Bytes of one batch: unsynced, so the largest that still flows. */
const BATCH_OPS = 5_000;

/** Writes commits straight to the database, in few large batches. */
export class Builder {
  #db;
  #waiting = [];

  static async in(folder) {
    const builder = new Builder();
    // The store writes its format; from then on the folder is an ordinary database.
    const store = await openLevelStore({ path: join(folder, 'db') });
    await store.close();
    builder.#db = new Level(join(folder, 'db'), { keyEncoding: 'utf8', valueEncoding: 'buffer' });
    await builder.#db.open();
    return builder;
  }

  async add(commit) {
    await this.write(encodeCommit(commit).ops);
  }

  async write(ops) {
    for (const { type, kind, key, value } of ops) this.#waiting.push({ type, key: `!${kind}!${key}`, value });
    if (this.#waiting.length >= BATCH_OPS) await this.#flush();
  }

  async #flush() {
    const ops = this.#waiting;
    this.#waiting = [];
    await this.#db.batch(ops);
  }

  async close() {
    await this.#flush();
    await this.#db.close();
  }
}

const meta = (turnId, n, origin) => ({ id: `${turnId}.m${n}`, at: Date.now(), turnId, origin });

/** A session whose only turn has ended. */
export function finished(sessionId) {
  const turnId = `${sessionId}.turn`;
  const at = Date.now();
  const head = { ...newHead(sessionId, AGENT, `session ${sessionId}`), revision: 1, turnId, phase: 'completed' };
  const message = {
    message: { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    meta: meta(turnId, 0, 'input'),
  };
  const { usage, context } = head;
  const outcome = { turnId, status: 'completed', text: '', usage, context, startedAt: at, modelCalls: 1, endedAt: at };
  return {
    head: { ...head, count: 1, ended: { kind: 'completed', at } },
    base: 0,
    lease: null,
    savedAt: at,
    transcript: { kind: 'append', from: 0, messages: [message] },
    outcomes: [outcome],
  };
}

/** A session whose turn was cut off while the model was asked, with so many messages of 2 KB. */
export function interrupted(sessionId, messages) {
  const turnId = `${sessionId}.turn`;
  const at = Date.now();
  const limits = resolveLimits({}, {}, false);
  const { next } = step(turnMachine, firstStep(turnMachine, { turnId, limits }).next, { type: 'session.loaded' });
  const list = Array.from({ length: messages }, (_, n) => ({
    message: { role: n % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: textOf(KILOBYTES_2, n) }] },
    meta: meta(turnId, n, n % 2 === 0 ? 'input' : 'model'),
  }));
  const head = {
    ...newHead(sessionId, AGENT, `session ${sessionId}`),
    ...{
      revision: 1,
      turnId,
      inProgress: true,
      phase: 'awaitingLLM',
      checkpointAt: 1,
      count: messages,
      startedAt: at,
      lastProgressAt: at,
    },
  };
  return {
    head,
    base: 0,
    lease: null,
    savedAt: at,
    transcript: { kind: 'append', from: 0, messages: list },
    checkpoint: encodeCheckpoint(turnMachine, next, { turnId, revision: 1, savedAt: at, deadlines: {} }),
  };
}

/** Ids as services make them: without an order, or ordered by the moment they were made (UUIDv7, ULID). */
export const IDS = {
  random: () => randomUUID(),
  'time-ordered': (n) => `0196-${String(n).padStart(12, '0')}`,
};
