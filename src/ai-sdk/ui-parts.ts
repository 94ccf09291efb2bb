/**
 * Owns the chunks that stand for one thing each: a result, a file, a source.
 * Must not know what came before them.
 */
import type { FilePart, MessageMeta, ToolOutput } from '../core/messages.js';
import { type Fields, isFields } from './specification.js';

/** One chunk of a UI message stream. */
export interface Chunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

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

export function outputChunk(toolCallId: string, output: ToolOutput): Chunk {
  const denied = output.type === 'execution-denied';
  const value = denied ? (output.reason ?? 'denied') : output.value;
  if (!denied && !output.type.startsWith('error')) return { type: 'tool-output-available', toolCallId, output: value };
  return {
    type: 'tool-output-error',
    toolCallId,
    errorText: typeof value === 'string' ? value : JSON.stringify(value),
  };
}

/** What a browser can show: bytes, and what it can fetch. */
export function fileChunks({ mediaType, data }: FilePart): readonly Chunk[] {
  if (data.type === 'data') return [{ type: 'file', mediaType, url: `data:${mediaType};base64,${data.data}` }];
  return data.type === 'url' ? [{ type: 'file', mediaType, url: data.url }] : [];
}

export function sourceChunks({ answer }: MessageMeta): readonly Chunk[] {
  return (answer?.sources ?? []).flatMap((source): readonly Chunk[] => {
    if (!isFields(source) || source.type !== 'source') return [];
    const { sourceType, id, url, title, mediaType, filename } = source as Fields;
    const named = { sourceId: id, ...(typeof title === 'string' ? { title } : {}) };
    if (sourceType === 'url') return [{ type: 'source-url', url, ...named }];
    const file = typeof filename === 'string' ? { filename } : {};
    return [{ type: 'source-document', mediaType, ...named, ...file }];
  });
}

/** What the model has said of an input; not all of it is JSON. */
export function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
