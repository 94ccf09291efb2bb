/**
 * Owns how far a client of a UI message stream has come, as the text that a reconnecting client sends back.
 * Must not know events or chunks. The text comes from outside: what is none of ours is the beginning.
 */

/** What the client has of an answer that is no message yet. */
export interface PartTold {
  readonly messageId: string;
  /** Characters. */
  readonly text: number;
  readonly reasoning: number;
  /** Calls whose input the client has whole, by the provider's ids. */
  readonly calls: readonly string[];
}

export const nothingOf = (messageId: string): PartTold => ({ messageId, text: 0, reasoning: 0, calls: [] });

export interface Place {
  /** The turn the client reads; '' for none yet. */
  readonly turnId: string;
  /** The last message of the turn that the client has whole; '' for none. */
  readonly last: string;
  /** Answers behind it: more than one where the first is not on disk yet. */
  readonly partials: readonly PartTold[];
}

export const BEGINNING: Place = { turnId: '', last: '', partials: [] };

export const toldOf = ({ partials }: Place, messageId: string): PartTold =>
  partials.find((told) => told.messageId === messageId) ?? nothingOf(messageId);

/** The client has got more of an answer that it has begun to get. */
export function further(place: Place, messageId: string, more: (told: PartTold) => Partial<PartTold>): Place {
  const partials = place.partials.map((told) => (told.messageId === messageId ? { ...told, ...more(told) } : told));
  return { ...place, partials };
}

export function placeText({ turnId, last, partials }: Place): string {
  const told = partials.map(({ messageId, text, reasoning, calls }) => [messageId, text, reasoning, ...calls]);
  return Buffer.from(JSON.stringify([turnId, last, ...told])).toString('base64url');
}

export function placeOf(text: string | undefined): Place {
  if (text === undefined) return BEGINNING;
  try {
    const place = JSON.parse(Buffer.from(text, 'base64url').toString()) as [unknown, unknown, ...unknown[][]];
    const [turnId, last, ...told] = place;
    if (typeof turnId !== 'string' || typeof last !== 'string') return BEGINNING;
    const partials = told.map(([messageId, said, thought, ...calls]) => {
      return {
        messageId: String(messageId),
        text: countOf(said),
        reasoning: countOf(thought),
        calls: calls.map(String),
      };
    });
    return { turnId, last, partials };
  } catch {
    return BEGINNING;
  }
}

const countOf = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
