/**
 * Owns what a language model of the AI SDK looks like from here: specifications V2, V3 and V4, by structure.
 * Must not import the SDK, its types included: a service brings the generation it uses, or two of them.
 */
import type { ProviderOptions } from '../core/messages.js';

export type SpecificationVersion = 'v2' | 'v3' | 'v4';

/** Where the answer comes from, piece by piece. Less than a `ReadableStream`, so that it is one of any library. */
interface PartSource {
  getReader(): {
    // biome-ignore lint/suspicious/noExplicitAny: each part is read by its shape, which depends on the specification.
    read(): Promise<{ readonly done: boolean; readonly value?: any }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

/** A language model of the AI SDK 5 (V2), 6 (V3) or 7 (V4), as any provider package makes it. */
export interface AnyLanguageModel {
  readonly specificationVersion: SpecificationVersion;
  readonly provider: string;
  readonly modelId: string;
  // biome-ignore lint/suspicious/noExplicitAny: the options of three specifications, none assignable to the others.
  doStream(options: any): PromiseLike<{ readonly stream: PartSource }>;
}

/** What an object of another library is before it is looked at. */
export type Fields = { readonly [name: string]: unknown };

/** A message of a prompt. Its parts have the form of one specification. */
export interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly Fields[];
  readonly providerOptions?: ProviderOptions;
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where this library writes down what a specification has no word for, beside what providers read. */
export const NOTES = 'durable-turn';
