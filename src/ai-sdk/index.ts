/**
 * Owns the entry point `durable-turn/ai-sdk`: models, messages and tools of the AI SDK, and what its `useChat` reads.
 * Must not import the SDK: everything of it is known by its structure.
 */
export type { LanguageModelOptions } from './call-options.js';
export { fromLanguageModel } from './from-language-model.js';
export { type DurableSide, fromTool } from './from-tool.js';
export { fromModelMessages } from './model-messages.js';
export type { AnyLanguageModel } from './specification.js';
export { toUIMessageStream, UI_MESSAGE_STREAM_HEADERS, type UIMessageStreamOptions } from './ui-message-stream.js';
