/**
 * Owns the model port: one complete answer or a typed error, deltas on the side.
 * Must not know a provider or the wire.
 */
import type { Json } from './json.js';
import type { AnswerFacts, AssistantPart, Message, ProviderOptions, SystemMessage } from './messages.js';

export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Json;
  /** The provider is asked to hold the model to the schema, or not to. */
  readonly strict?: boolean;
  readonly inputExamples?: readonly Json[];
  readonly providerOptions?: ProviderOptions;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string };

/** What is absent is left to the provider. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  /** How hard to think, in the provider's word. */
  readonly reasoning?: string;
  /** JSON Schema of the final answer. Default: that of the turn's `answer`. */
  readonly responseSchema?: Json;
  /** Of the HTTP request. */
  readonly headers?: { readonly [name: string]: string };
}

export interface ModelRequest {
  /** For this call only; never stored. */
  readonly instructions: readonly SystemMessage[];
  /** The canonical list; every local tool call in it has exactly one result (I10). */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly settings: ModelSettings;
  readonly providerOptions?: ProviderOptions;
}

/** Tokens and pieces on their way; never stored. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly type: 'tool-input'; readonly toolCallId: string; readonly toolName: string; readonly text: string };

/** A part of an answer. `malformed` says why a call of it cannot run: its input was no JSON, for example. */
export type AnswerPart = AssistantPart & { readonly malformed?: string };

export interface ModelAnswer extends AnswerFacts {
  readonly content: readonly AnswerPart[];
}

export interface ModelCall {
  /** Aborts on cancel, stop and hard idle time-out; its reason says which. */
  readonly signal: AbortSignal;
  emit(delta: ModelDelta): void;
  readonly sessionId: string;
  readonly turnId: string;
  /** Counts the calls of the turn, retries included, from 0. */
  readonly modelCall: number;
  /** The recovery attempt; 0 in the first run. */
  readonly attempt: number;
}

/** Resolves only with a whole answer; a stream that broke off rejects with a ModelError. */
export interface Model {
  readonly id: string;
  /** Size of the model's context, in tokens. */
  readonly contextTokens?: number;
  call(request: ModelRequest, call: ModelCall): Promise<ModelAnswer>;
}
