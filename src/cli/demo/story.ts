/**
 * Owns what a round needs to know of its turn, whoever plays the model: names for people, and the effects to look for.
 * Must not know how a process is run or killed.
 */

/** An effect that the turn must have, and where to look for it. */
export type Expected =
  | { readonly kind: 'posted'; readonly name: string; readonly to: string; readonly text: string; times: number }
  | { readonly kind: 'appended'; readonly name: string; readonly path: string; readonly line: string; times: number }
  | { readonly kind: 'written'; readonly name: string; readonly path: string; readonly text: string; times: number };

/** A call as the transcript has it at the end. */
export interface AskedCall {
  /** The number of its answer, from 1. */
  readonly answer: number;
  readonly tool: string;
  readonly input: { readonly [name: string]: unknown };
  readonly succeeded: boolean;
}

/** A server that speaks the protocol of OpenAI, and the model to ask there. */
export interface Live {
  readonly baseUrl: string;
  readonly model: string;
}

export interface Story {
  /** null: the model follows the script. */
  readonly live: Live | null;
  /** What the turn is, in a line. */
  readonly about: string;
  /** A round that takes this long hangs. */
  readonly mostMs: number;
  /** A short name for a call. Its id ends with the number of the answer and its own number in it. */
  labelOf(callId: string, toolName: string): string;
  /** `asked`: what the transcript says was asked for; a script knows without it. */
  expected(asked: readonly AskedCall[]): readonly Expected[];
}
