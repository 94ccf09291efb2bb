/**
 * Owns what the model reads of a batch: one result for each call, in its order, cut to what the transcript may hold.
 * Must not know storage: the whole output stays with its call, unless the transcript has it whole.
 */
import { BATCH_OUTPUTS } from '../../machines/index.js';
import { isSettled } from './journal.js';
import { cutText } from './json.js';
import type { Message, StoredMessage, ToolCallPart, ToolOutput, ToolResultPart } from './messages.js';
import { localCalls } from './messages.js';
import type { CallRecord } from './records.js';
import { resultPart } from './transcript.js';

/** The results of an answer's calls, in the model's order (I10, case C2). `outputBytes` 0: nothing is cut. */
export function resultsOf(
  answer: Message,
  batch: readonly CallRecord[],
  outputBytes: number,
): readonly ToolResultPart[] {
  const parts = localCalls(answer);
  // By id, which is unique within an answer: where a record is missing, no call may get the result of another.
  const calls = new Map(batch.map((call) => [call.toolCallId, call]));
  const outputs = parts.map((part) => shown(calls.get(part.toolCallId)));
  const bytes = share(outputs, outputBytes);
  return parts.map((part: ToolCallPart, index) => resultPart(part, cutOutput(outputs[index] as ToolOutput, bytes)));
}

/**
 * A record as it is stored beside these messages: an output that one of them holds whole is not stored twice. A settled
 * call always has an output, so one without is one whose output is in the transcript.
 */
export function withoutShown(calls: readonly CallRecord[], messages: readonly StoredMessage[]): readonly CallRecord[] {
  const shown = new Set<ToolOutput>();
  for (const { message } of messages) {
    if (message.role !== 'tool') continue;
    for (const part of message.content) if (part.type === 'tool-result') shown.add(part.output);
  }
  // By identity: what was cut, or got a note, is another output.
  return calls.map((call) => (call.output !== null && shown.has(call.output) ? { ...call, output: null } : call));
}

/** The way back. A call whose message is no longer in the list stays without: nothing of the turn waits for it. */
export function withShown(calls: readonly CallRecord[], messages: readonly StoredMessage[]): readonly CallRecord[] {
  const answers = new Map<string, CallRecord[]>();
  for (const call of calls) {
    if (!isSettled(call) || call.output !== null) continue;
    answers.set(call.messageId, [...(answers.get(call.messageId) ?? []), call]);
  }
  if (answers.size === 0) return calls;
  const found = new Map<CallRecord, ToolOutput>();
  let waiting: readonly CallRecord[] = [];
  for (const { message, meta } of messages) {
    if (message.role === 'assistant') waiting = answers.get(meta.id) ?? [];
    if (message.role !== 'tool') continue;
    for (const part of message.content) {
      const call = waiting.find(({ toolCallId }) => part.type === 'tool-result' && part.toolCallId === toolCallId);
      if (call !== undefined && part.type === 'tool-result') found.set(call, part.output);
    }
  }
  return calls.map((call) => {
    const output = found.get(call);
    return output === undefined ? call : { ...call, output };
  });
}

/** What the model reads of a call, whole, with what a person said about it. */
function shown(call: CallRecord | undefined): ToolOutput {
  const output = call?.output ?? interrupted(call);
  if (call === undefined || call.dispatch === 0) return output;
  const notes: string[] = [];
  if (call.editedInput !== undefined) {
    notes.push(`A person changed the input before this call ran: ${JSON.stringify(call.editedInput)}`);
  }
  if (call.approval?.reason !== undefined) notes.push(`A person allowed this call: ${call.approval.reason}`);
  return notes.length === 0 ? output : withNote(output, notes.join('\n'));
}

/**
 * What one output of a batch may take: `outputBytes`, and together no more than a few of them. Short ones keep what
 * they have, the long ones share the rest evenly.
 */
function share(outputs: readonly ToolOutput[], outputBytes: number): number {
  if (outputBytes === 0) return 0;
  let left = outputBytes * BATCH_OUTPUTS;
  if (outputs.length <= BATCH_OUTPUTS) return outputBytes;
  const sizes = outputs.map((output) => Math.min(sizeOf(output), outputBytes)).sort((a, b) => a - b);
  for (const [index, size] of sizes.entries()) {
    const even = Math.floor(left / (sizes.length - index));
    if (size > even) return Math.max(1, even);
    left -= size;
  }
  return outputBytes;
}

/** Bytes of the texts of an output; files are not cut and do not count. */
function sizeOf(output: ToolOutput): number {
  if (output.type === 'execution-denied') return byteLength(output.reason ?? '');
  if (output.type === 'content') {
    return output.value.reduce((sum, part) => sum + (part.type === 'text' ? byteLength(part.text) : 0), 0);
  }
  return byteLength(typeof output.value === 'string' ? output.value : JSON.stringify(output.value));
}

/** An error stays one, for the model. */
function withNote(output: ToolOutput, text: string): ToolOutput {
  const note = { type: 'text', text } as const;
  if (output.type === 'content') return { ...output, value: [note, ...output.value] };
  if (output.type === 'execution-denied') return output;
  const value = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
  if (output.type === 'error-text' || output.type === 'error-json') {
    return { ...output, type: 'error-text', value: `${text}\n${value}` };
  }
  return { ...output, type: 'content', value: [note, { type: 'text', text: value }] };
}

/** What the model reads of a call that has no outcome when its turn ends. */
function interrupted(call: CallRecord | undefined): ToolOutput {
  const started = call !== undefined && call.dispatch > 0 && call.state !== 'notStarted';
  return {
    type: 'error-text',
    value: started
      ? 'This call was interrupted and its outcome is unknown. It may have taken effect: check before you repeat it.'
      : 'This call did not run.',
  };
}

/** Cut at a well-formed place, with a note; content keeps its files, and its texts share the bytes. */
function cutOutput(output: ToolOutput, bytes: number): ToolOutput {
  if (bytes === 0) return output;
  if (output.type === 'text' || output.type === 'error-text') return cutValue(output, output.value, bytes);
  if (output.type === 'json' || output.type === 'error-json') {
    const text = JSON.stringify(output.value);
    if (text.length <= bytes / 4 || byteLength(text) <= bytes) return output;
    return cutValue({ ...output, type: output.type === 'json' ? 'text' : 'error-text', value: text }, text, bytes);
  }
  if (output.type === 'execution-denied') {
    const { reason } = output;
    return reason === undefined || byteLength(reason) <= bytes
      ? output
      : { ...output, reason: `${cutText(reason, bytes)}\n${cutNote(output)}` };
  }
  if (output.type !== 'content') return output;
  if (sizeOf(output) <= bytes) return output;
  let left = bytes;
  const value = output.value.flatMap((part): (typeof part)[] => {
    if (part.type !== 'text') return [part];
    // One note is enough: behind it no text is shown.
    if (left < 0) return [];
    const allowed = left;
    left -= byteLength(part.text);
    return [left >= 0 ? part : { ...part, text: `${cutText(part.text, allowed)}\n${cutNote(output)}` }];
  });
  return { ...output, value };
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length;

const cutNote = (output: ToolOutput): string => `[cut: ${sizeOf(output)} bytes in all, the rest is not shown]`;

function cutValue(
  output: ToolOutput & { readonly type: 'text' | 'error-text'; readonly value: string },
  text: string,
  bytes: number,
): ToolOutput {
  // One UTF-16 unit is at most three bytes: short texts need no encoding to be known as short.
  if (text.length * 3 <= bytes || byteLength(text) <= bytes) return output;
  return { ...output, value: `${cutText(text, bytes)}\n${cutNote(output)}` };
}
