// The world of the engine's tests, with what the whole turn needs beside: a model that says how much it can read, what
// people and models read, and input that may leave a list and is kept elsewhere (compacted, rewound, withdrawn).
import { expect, onTestFinished } from 'vitest';
import type { Approval, ApprovalDecision, Model, StoredMessage, TurnEngine } from '../../src/index.js';
import { World } from '../engine/world.js';

export type { Fate } from '../engine/process-store.js';
export * from '../engine/world.js';

export class WholeWorld extends World {
  /** Tokens that fit into the model; undefined: it does not say. */
  contextTokens: number | undefined;
  /** Input that a person took out of the list. */
  readonly takenOut = new Set<string>();

  constructor() {
    super();
    const provider = (Reflect.get(this, 'provider') as () => Model).bind(this);
    const sized = (): Model => {
      const { contextTokens } = this;
      return { ...provider(), ...(contextTokens === undefined ? {} : { contextTokens }) };
    };
    Object.defineProperty(this, 'provider', { value: sized });
  }

  /** What the witness found, without what is meant: input that left its list and is kept, history from elsewhere. */
  async violations(): Promise<readonly string[]> {
    const kept = new Set(this.takenOut);
    const imported = new Set<string>();
    for await (const { sessionId } of this.store.sessions('agent')) {
      for (const { meta } of await this.store.archive(sessionId)) kept.add(meta.id);
      for (const { meta } of await this.store.messages(sessionId)) if (meta.turnId === '') imported.add(meta.id);
    }
    const gone = /^(?:I11: input (\S+) is gone|I9: message (\S+) is announced and not on disk)$/;
    const untraced = /^I11: input (\S+) joined and left no trace/;
    return this.witness.violations.filter((found) => {
      const [, input, message] = gone.exec(found) ?? [];
      return !kept.has(input ?? message ?? '') && !imported.has(untraced.exec(found)?.[1] ?? '');
    });
  }

  /** The last request of the model, as text: what it can read. */
  get lastRead(): string {
    return JSON.stringify(this.requests.at(-1)?.messages);
  }
}

/** Made at the beginning of a test; at its end, what the witness found fails it. */
export function createWorld(): WholeWorld {
  const world = new WholeWorld();
  onTestFinished(async () => {
    expect(await world.violations()).toEqual([]);
  });
  return world;
}

/** Role and text or output of each message, short enough to compare a whole list. */
export function brief(list: readonly StoredMessage[]): readonly string[] {
  return list.map(({ message, meta }) => {
    if (message.role === 'system') return `system: ${message.content}`;
    const parts = message.content.map((part) => {
      if (part.type === 'text') return part.text;
      if (part.type === 'tool-call') return `calls ${part.toolName}`;
      if (part.type === 'tool-result') return `${part.toolName} gave ${part.output.type}`;
      return part.type;
    });
    return `${meta.origin}: ${parts.join(' + ')}`;
  });
}

export const needy = { approval: 'required' } as const;
/** Waits for a person whether somebody is there or not. */
export const parking = { ...needy, unattended: 'park' } as const;
export const there = { sessionId: 's', input: 'hello', attended: true } as const;
export const yes: ApprovalDecision = { allow: true, by: 'ann' };
export const no: ApprovalDecision = { allow: false, by: 'ann' };

/** The approval of one tool among those that are open. */
export async function approvalFor(engine: TurnEngine, tool: string): Promise<Approval> {
  const open = (await engine.approvals()).filter((approval) => approval.toolName === tool);
  expect(open).toHaveLength(1);
  return open[0] as Approval;
}
