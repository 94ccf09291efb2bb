/**
 * Owns what a client knows calls by: ids of its own, since those of some servers repeat in every answer, and their
 * inputs as far as they have come. Must not know what it was told of them.
 */
import { localCalls, type StoredMessage } from '../core/messages.js';

/** The input of a call on its way. */
export interface Input {
  readonly messageId: string;
  /** The provider's. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly text: string;
}

/** The client's id of a call: those of some servers repeat in every answer. */
export const idAt = ({ messageId, toolCallId }: Pick<Input, 'messageId' | 'toolCallId'>): string =>
  `${messageId}:${toolCallId}`;

/** What the model has said of an input; not all of it is JSON. */
export function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export class CallIds {
  /** The client's ids, by the provider's. */
  private readonly ids = new Map<string, string>();
  /** Those of the local calls of the last answer, by which approvals are found. */
  private batch: readonly string[] = [];

  /** The calls of an answer, whether the client is told them now or was before. */
  learn({ message, meta }: Pick<StoredMessage, 'message' | 'meta'>): void {
    if (message.role !== 'assistant') return;
    for (const part of message.content) {
      if (part.type === 'tool-call') this.ids.set(part.toolCallId, idAt({ messageId: meta.id, ...part }));
    }
    const local = localCalls(message);
    if (local.length > 0) this.batch = local.map(({ toolCallId }) => this.ids.get(toolCallId) as string);
  }

  of(toolCallId: string): string | undefined {
    return this.ids.get(toolCallId);
  }

  /** The id of a call of the engine ends with its number in its answer. */
  at(callId: string): string | undefined {
    return this.batch[Number(callId.split('.').at(-1))];
  }
}
