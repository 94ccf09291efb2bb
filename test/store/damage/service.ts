// The service whose data folder is damaged: turns that look something up and send something, some of them cut off.
import { createHash } from 'node:crypto';
import type { TurnEngine, TurnEvent, TurnStore } from '../../../src/index.js';
import { createTurnEngine, jsonSchema, type Model, tool } from '../../../src/index.js';

export const AGENT = 'mailer';

/**
 * Sessions of each run of the service. The last ones are short, because LevelDB merges its tables when it has read a
 * while, and several of them are wanted; what the last run wrote is in the log.
 */
const RUNS = [132, 44, 12, 12];
export const ROUNDS = RUNS.length;

/** Where a turn hangs until its process dies; null: it ends. */
export type Hang = 'find' | 'model' | 'send' | null;

export interface Session {
  readonly sessionId: string;
  readonly round: number;
  readonly hang: Hang;
}

/** Two hundred; every tenth is cut off. */
export const sessions: readonly Session[] = RUNS.flatMap((count, round) => Array<number>(count).fill(round)).map(
  (round, i) => ({
    sessionId: `session-${i}`,
    round,
    hang: i % 10 === 9 ? ((['find', 'model', 'send', 'send'] as const)[((i - 9) / 10) % 4] as Hang) : null,
  }),
);

/** Text that no compression makes small, the same in every run. */
export const filler = (seed: string): string =>
  Array.from({ length: 12 }, (_, i) => createHash('sha256').update(`${seed} ${i}`).digest('base64')).join(' ');

/** Keys of what was sent, as the receiver has it. */
export class Receiver {
  readonly sent = new Set<string>();
  readonly doubled: string[] = [];

  take(key: string): void {
    if (this.sent.has(key)) this.doubled.push(key);
    this.sent.add(key);
  }
}

const forever = new Promise<never>(() => {});

export interface Service {
  readonly engine: TurnEngine;
  readonly events: TurnEvent[];
}

/** @param hangs Called where a turn comes to a halt. */
export function serve(store: TurnStore, receiver: Receiver, hangs: (sessionId: string, at: Hang) => boolean): Service {
  const events: TurnEvent[] = [];
  const halt = async (sessionId: string, at: Hang): Promise<void> => {
    if (hangs(sessionId, at)) await forever;
  };
  const input = jsonSchema<{ about: string }>({ type: 'object', properties: { about: { type: 'string' } } });
  const tools = {
    find: tool({
      description: 'Looks up.',
      input,
      effect: 'none',
      async execute({ about }, { sessionId }) {
        await halt(sessionId, 'find');
        return filler(`found ${about}`);
      },
    }),
    send: tool({
      description: 'Sends.',
      input,
      effect: 'external',
      async execute({ about }, { sessionId, idempotencyKey }) {
        receiver.take(idempotencyKey);
        await halt(sessionId, 'send');
        return filler(`sent ${about}`);
      },
    }),
  };
  const engine = createTurnEngine({
    agent: AGENT,
    store,
    tools,
    model: modelFor(halt),
    ids: counted(),
    clock: { now: () => NOW, after: (ms, fire) => after(ms, fire) },
    onEvent: (event) => void events.push(event),
    compact: false,
  });
  return { engine, events };
}

const NOW = 1_700_000_000_000;
/** Time stands still, except for who waits a moment. */
function after(ms: number, fire: () => void): () => void {
  if (ms > 1000) return () => {};
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
}

let ids = 0;
const counted = () => () => {
  ids += 1;
  return `id${process.pid}x${ids}`;
};

/** Finds, then sends, then says it is done; the input names the session. */
function modelFor(halt: (sessionId: string, at: Hang) => Promise<void>): Model {
  return {
    id: 'three-steps',
    async call({ messages }) {
      const facts = { usage: { input: {}, output: {} } } as const;
      const [last] = messages.filter(({ role }) => role === 'user').slice(-1);
      const part = last?.role === 'user' ? last.content[0] : undefined;
      const about = part?.type === 'text' ? (part.text.split(' ')[0] as string) : '';
      const results = messages
        .slice(messages.indexOf(last as (typeof messages)[number]))
        .filter(({ role }) => role === 'tool');
      const toolName = ['find', 'send'][results.length];
      if (toolName === 'send') await halt(about, 'model');
      return toolName === undefined
        ? { ...facts, content: [{ type: 'text', text: `done ${filler(about)}` }], finish: { reason: 'stop' } }
        : {
            ...facts,
            content: [{ type: 'tool-call', toolCallId: `c${results.length}`, toolName, input: { about } }],
            finish: { reason: 'tool-calls' },
          };
    },
  };
}
