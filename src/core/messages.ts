/**
 * Owns the canonical message: the JSON form of the AI SDK's language-model prompt (specification V4).
 * Must not know providers: `providerOptions` is opaque and stored verbatim.
 * Our one addition to V4: `custom` parts in user messages.
 */
import type { Json } from './json.js';

/** Opaque and verbatim, by provider name. */
export type ProviderOptions = { readonly [provider: string]: { readonly [key: string]: Json } };

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

export const isProviderOptions = (value: unknown): value is ProviderOptions =>
  isObject(value) && Object.values(value as object).every(isObject);

interface Part {
  readonly providerOptions?: ProviderOptions;
}

export type FileData =
  /** Bytes in base64. */
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reference'; readonly reference: { readonly [provider: string]: string } };

export interface TextPart extends Part {
  readonly type: 'text';
  readonly text: string;
}
export interface FilePart extends Part {
  readonly type: 'file';
  readonly mediaType: string;
  readonly data: FileData;
  readonly filename?: string;
}
/** `text` may be empty: signatures and redacted data sit in `providerOptions`. */
export interface ReasoningPart extends Part {
  readonly type: 'reasoning';
  readonly text: string;
}
export interface ReasoningFilePart extends Part {
  readonly type: 'reasoning-file';
  readonly mediaType: string;
  readonly data: FileData;
}
/** Any block we do not know, whole, in `providerOptions`. */
export interface CustomPart extends Part {
  readonly type: 'custom';
  readonly kind: `${string}.${string}`;
}
export interface ToolCallPart extends Part {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
  /** The provider runs it itself: repair and journal leave it alone. */
  readonly providerExecuted?: boolean;
}
export interface ToolResultPart extends Part {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
}
export interface ApprovalRequestPart extends Part {
  readonly type: 'tool-approval-request';
  readonly approvalId: string;
  readonly toolCallId: string;
}
export interface ApprovalResponsePart extends Part {
  readonly type: 'tool-approval-response';
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string;
}
export type ToolOutput = Part &
  (
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'json' | 'error-json'; readonly value: Json }
    | { readonly type: 'execution-denied'; readonly reason?: string }
    | {
        readonly type: 'content';
        readonly value: readonly (TextPart | FilePart | (Part & { readonly type: 'custom' }))[];
      }
  );

export type UserPart = TextPart | FilePart | CustomPart;
export type AssistantPart =
  | TextPart
  | FilePart
  | ReasoningPart
  | ReasoningFilePart
  | CustomPart
  | ToolCallPart
  | ToolResultPart
  | ApprovalRequestPart;

export interface SystemMessage extends Part {
  readonly role: 'system';
  readonly content: string;
}
export type UserMessage = Part & { readonly role: 'user'; readonly content: readonly UserPart[] };
export type AssistantMessage = Part & { readonly role: 'assistant'; readonly content: readonly AssistantPart[] };
export type ToolMessage = Part & {
  readonly role: 'tool';
  readonly content: readonly (ToolResultPart | ApprovalResponsePart)[];
};
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Why an answer ended. One with another word is refused: the provider's own word goes into `finish.raw`. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'continue' | 'other';

/** Whole numbers of tokens as the provider reports them; absent means "not told". An answer with others is refused. */
export interface Usage {
  readonly input: { readonly total?: number; readonly cacheRead?: number; readonly cacheWrite?: number };
  readonly output: { readonly total?: number; readonly reasoning?: number };
  readonly raw?: Json;
}

/** What belongs to an answer and not to its message. */
export interface AnswerFacts {
  readonly finish: { readonly reason: FinishReason; readonly raw?: string };
  readonly usage: Usage;
  readonly modelId?: string;
  readonly responseId?: string;
  readonly providerMetadata?: ProviderOptions;
  readonly sources?: readonly Json[];
  readonly warnings?: readonly string[];
}

export interface MessageMeta {
  readonly id: string;
  /** ms since the epoch. */
  readonly at: number;
  /** Empty for what was imported. */
  readonly turnId: string;
  readonly origin: 'input' | 'model' | 'tool' | 'nudge' | 'summary';
  readonly answer?: AnswerFacts;
  /** Set on the first message after a resume, so that a person sees it. */
  readonly resumed?: { readonly attempt: number /** ms since the epoch. */; readonly at: number };
}

/** One record, so that metadata cannot drift from messages (I3). */
export interface StoredMessage {
  readonly message: Message;
  readonly meta: MessageMeta;
}

/** The calls of an answer that this side has to run. */
export function localCalls(message: Message): readonly ToolCallPart[] {
  if (message.role !== 'assistant') return [];
  return message.content.filter(
    (part): part is ToolCallPart => part.type === 'tool-call' && part.providerExecuted !== true,
  );
}

/** The text a person reads in a message. */
export function textOf(message: Message): string {
  if (message.role === 'system') return message.content;
  if (message.role === 'tool') return '';
  let text = '';
  for (const part of message.content) if (part.type === 'text') text += part.text;
  return text;
}

export const NO_USAGE: Usage = { input: {}, output: {} };

/** `raw` is the provider's own record of one answer and has no sum. */
export function addUsage(sum: Usage, more: Usage): Usage {
  return { input: addCounts(sum.input, more.input), output: addCounts(sum.output, more.output) };
}

function addCounts<T extends { readonly [name: string]: number }>(a: Partial<T>, b: Partial<T>): Partial<T> {
  const sum: { [name: string]: number } = { ...a } as { [name: string]: number };
  for (const [name, count] of Object.entries(b)) if (typeof count === 'number') sum[name] = (sum[name] ?? 0) + count;
  return sum as Partial<T>;
}
