/**
 * Owns the chunks that stand for one thing each: a decision, a result, a file, a source, an end.
 * Must not know what came before them.
 */
import type { TurnOutcome } from '../core/events.js';
import type { FilePart, MessageMeta, ToolOutput } from '../core/messages.js';
import { type Fields, isFields } from './specification.js';
import type { Place } from './ui-place.js';

/** One chunk of a UI message stream. */
export interface Chunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A chunk, and where a client is that has it and all before it: never further, else it would miss something. */
export interface Told {
  readonly chunk: Chunk;
  readonly place: Place;
}

/** A turn that the session does not have would be waited for without end. */
export const missingTurn = (turnId: string): Chunk => ({
  type: 'error',
  errorText: `The session has no turn "${turnId}", or nothing of it any more; take the id from turn.turnId.`,
});

export const decisionChunk = (id: string, allow: boolean, by: string): Chunk => ({
  type: 'data-approval',
  id,
  data: { decided: { allow, by } },
});

/** undefined: the turn is over, and another one has taken the place of its outcome. */
export function endChunk(outcome: TurnOutcome | undefined): Chunk {
  if (outcome?.status === 'cancelled') return { type: 'abort' };
  if (outcome?.status !== 'failed' && outcome?.status !== 'abandoned') return { type: 'finish' };
  return { type: 'error', errorText: outcome.reason ?? outcome.status };
}

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
