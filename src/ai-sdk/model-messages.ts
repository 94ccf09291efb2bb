/**
 * Owns the way into the canonical list: `ModelMessage`s of the AI SDK 5, 6 and 7, and prompts of a specification, as
 * they are in memory. Bytes, URLs and short forms become what can be stored; everything else is kept as it is.
 * Must not know a provider.
 */
import { toJson } from '../core/json.js';
import { checkMessages } from '../core/message-check.js';
import type { Message, ToolMessage, ToolOutput } from '../core/messages.js';
import { fileDataOf } from './file-data.js';
import { fromOutput } from './model-outputs.js';
import { type Fields, isFields, NOTES } from './specification.js';

/**
 * The canonical list of messages of the AI SDK. Approvals of calls this side runs are left out, as the SDK does before
 * it calls a model: a denied call has the result `execution-denied`. Calls need no result yet; see `repairTranscript`.
 * @throws {TypeError} names the path of what has no canonical form, and what can be given there.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path of what is no JSON.
 */
export function fromModelMessages(messages: readonly object[]): readonly Message[] {
  if (!Array.isArray(messages)) throw new TypeError('fromModelMessages needs an array of messages.');
  const read: unknown = messages.map((message, index) => readMessage(message, `messages[${index}]`));
  checkMessages(read, 'messages');
  return withoutLocalApprovals(read);
}

/** One message, with everything it has. The inverse of `toPrompt`. */
function readMessage(message: unknown, path: string): unknown {
  if (!isFields(message)) throw new TypeError(`${path} must be a message.`);
  if (message.role === 'system') return toJson(message, path);
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(parts)) throw new TypeError(`${path}.content must be a text or an array of parts.`);
  const read = parts.map((part, index) => readPart(part, `${path}.content[${index}]`));
  return toJson({ ...message, content: read }, path);
}

function readPart(part: unknown, path: string): unknown {
  if (!isFields(part)) throw new TypeError(`${path} must be a part of a message.`);
  switch (part.type) {
    case 'image': {
      const { image, mediaType = 'image/*', type: _type, ...rest } = part;
      return readFile({ ...rest, type: 'file', mediaType, data: image }, `${path}.image`);
    }
    case 'file':
      return readFile(part, `${path}.data`);
    case 'reasoning-file':
      return { ...part, data: fileDataOf(part.data, `${path}.data`) };
    case 'tool-result':
      return readResult(part, path);
    default:
      return part;
  }
}

/** A file of any generation: bare or tagged data, a URL as an object or a text, a text that came as base64. */
function readFile(part: Fields, path: string): Fields {
  const { rest, note } = withoutNote(part);
  const { originalUrl, data, mediaType, ...others } = rest;
  if (typeof originalUrl === 'string') return { ...others, mediaType, data: { type: 'url', url: originalUrl } };
  const read = fileDataOf(data, path);
  if (note.data === 'text' && read.type === 'data') {
    const text = Buffer.from(read.data, 'base64').toString();
    return { ...others, mediaType, data: { type: 'text', text } };
  }
  const url = read.type === 'url' ? /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(read.url) : null;
  if (url === null) return { ...others, mediaType, data: read };
  return { ...others, mediaType: url[1] || mediaType, data: { type: 'data', data: url[2] } };
}

function readResult(part: Fields, path: string): Fields {
  const { rest, note } = withoutNote(part);
  const read = fromOutput(part.output, `${path}.output`);
  if (note.type !== 'execution-denied') return { ...rest, output: read };
  const { value: _value, type: _type, ...options } = read as ToolOutput & Fields;
  return { ...rest, output: { ...options, type: note.type, reason: note.reason } };
}

/** A part and what this library noted in it, apart. */
function withoutNote(part: Fields): { readonly rest: Fields; readonly note: Fields } {
  const { providerOptions, ...rest } = part;
  const { [NOTES]: note, ...options } = isFields(providerOptions) ? providerOptions : {};
  if (!isFields(note)) return { rest: part, note: {} };
  return { rest: note.alone === true ? rest : { ...rest, providerOptions: options }, note };
}

/**
 * Approval parts serve calls the provider runs. Those of local calls end here, with the call's fate: a call that was
 * denied and has no result gets one that says so.
 */
function withoutLocalApprovals(messages: readonly Message[]): readonly Message[] {
  const names = new Map<string, string>();
  const calls = new Map<string, string>();
  const answered = new Set<string>();
  for (const part of messages.flatMap(({ content }): readonly unknown[] =>
    typeof content === 'string' ? [] : content,
  )) {
    const { type, toolCallId, toolName, approvalId, providerExecuted } = part as Fields as Record<string, string>;
    if (type === 'tool-call' && !providerExecuted) names.set(toolCallId as string, toolName as string);
    if (type === 'tool-result') answered.add(toolCallId as string);
    if (type === 'tool-approval-request' && names.has(toolCallId as string)) {
      calls.set(approvalId as string, toolCallId as string);
    }
  }
  if (calls.size === 0) return messages;
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'assistant') {
      const local = (part: Fields): boolean =>
        part.type === 'tool-approval-request' && calls.has(String(part.approvalId));
      return [{ ...message, content: message.content.filter((part) => !local(part as unknown as Fields)) }];
    }
    if (message.role !== 'tool') return [message];
    const content = message.content.flatMap((part): ToolMessage['content'] => {
      const toolCallId = part.type === 'tool-approval-response' ? calls.get(part.approvalId) : undefined;
      if (part.type !== 'tool-approval-response' || toolCallId === undefined) return [part];
      if (part.approved || answered.has(toolCallId)) return [];
      const reason = part.reason === undefined ? {} : { reason: part.reason };
      const output = { type: 'execution-denied', ...reason } as const;
      return [{ type: 'tool-result', toolCallId, toolName: names.get(toolCallId) as string, output }];
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}
