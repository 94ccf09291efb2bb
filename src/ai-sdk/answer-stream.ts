/**
 * Owns how the stream of a provider becomes one answer: parts in their order, with the metadata they ended with.
 * Must not know who listens to the pieces, or what an error means. Nothing is an answer before a good finish: a call in
 * the stream proves nothing, since a stream that is cut behind it gives it all the same.
 */
import { ModelError } from '../core/errors.js';
import type { Json } from '../core/json.js';
import { NO_USAGE, type ProviderOptions } from '../core/messages.js';
import type { AnswerPart, ModelAnswer, ModelDelta } from '../core/model.js';
import { finishOf, rawFinishOf, usageOf, warningText } from './answer-facts.js';
import { fileDataOf } from './file-data.js';
import { type Fields, isFields } from './specification.js';

/** A text or reasoning on its way; `providerOptions` is the newest metadata, which takes the place of what was before. */
interface Block {
  readonly type: 'text' | 'reasoning';
  text: string;
  providerOptions?: ProviderOptions;
}

/** Pieces of a block of text, reasoning or tool input. */
const PIECE = /^(text|reasoning|tool-input)-(start|delta|end)$/;

/** What providers announce as a block and that says nothing beyond the facts of the answer. */
const ANNOUNCEMENTS: ReadonlySet<unknown> = new Set(['anthropic.message_start']);

export class AnswerStream {
  private readonly parts: (Block | Fields)[] = [];
  /** Texts and reasonings by the id of their block; ids may come again once a block has ended. */
  private readonly open = new Map<string, Block>();
  /** Results that another one will replace. */
  private readonly preliminary = new WeakSet<object>();
  private readonly toolNames = new Map<string, string>();
  private readonly sources: Json[] = [];
  private readonly warnings: string[] = [];
  private metadata: Fields = {};
  private finish: Fields | undefined;
  private rawFinish: string | undefined;
  private readonly emit: (delta: ModelDelta) => void;

  constructor(emit: (delta: ModelDelta) => void) {
    this.emit = emit;
  }

  /** @throws what the provider put into the stream as its error. */
  take(part: Fields): void {
    const type = String(part.type);
    switch (type) {
      case 'error':
        throw part.error;
      case 'finish':
        this.finish = part;
        return;
      case 'raw':
        this.rawFinish = rawFinishOf(part.rawValue) ?? this.rawFinish;
        return;
      case 'response-metadata':
        this.metadata = { ...this.metadata, ...part };
        return;
      case 'stream-start':
        if (Array.isArray(part.warnings)) this.warn(...part.warnings);
        return;
      case 'source':
        this.sources.push(part as Json);
        return;
      case 'ping':
        return;
      default:
        if (PIECE.test(type)) this.takePiece(part, type);
        else this.takePart(part, type);
    }
  }

  warn(...warnings: readonly unknown[]): void {
    this.warnings.push(...warnings.map(warningText));
  }

  /** @throws {ModelError} `network` where the stream ended before its answer did. */
  answer(): ModelAnswer {
    if (this.finish === undefined) throw new ModelError('network', 'the stream ended before the answer did');
    const { finishReason, usage, providerMetadata } = this.finish;
    const { id, modelId } = this.metadata;
    return {
      content: this.parts as unknown as readonly AnswerPart[],
      finish: finishOf(finishReason, this.rawFinish),
      usage: usage === undefined ? NO_USAGE : usageOf(usage, providerMetadata),
      ...(typeof modelId === 'string' ? { modelId } : {}),
      ...(typeof id === 'string' ? { responseId: id } : {}),
      ...(isFields(providerMetadata) ? { providerMetadata: providerMetadata as ProviderOptions } : {}),
      ...(this.sources.length === 0 ? {} : { sources: this.sources }),
      ...(this.warnings.length === 0 ? {} : { warnings: this.warnings }),
    };
  }

  /** Pieces of a block: its start, what it says, its end. */
  private takePiece(part: Fields, type: string): void {
    const id = String(part.id);
    if (type.startsWith('tool-input-')) {
      if (type === 'tool-input-start') this.toolNames.set(id, String(part.toolName));
      const toolName = this.toolNames.get(id);
      if (type !== 'tool-input-delta' || toolName === undefined || part.delta === '') return;
      this.emit({ type: 'tool-input', toolCallId: id, toolName, text: String(part.delta) });
      return;
    }
    const kind = type.startsWith('text-') ? 'text' : 'reasoning';
    const block = this.blockOf(kind, id, type.endsWith('-start'));
    if (isFields(part.providerMetadata)) block.providerOptions = part.providerMetadata as ProviderOptions;
    if (type.endsWith('-delta') && part.delta !== '') {
      block.text += String(part.delta);
      this.emit({ type: kind, id, text: String(part.delta) });
    }
    if (type.endsWith('-end')) this.open.delete(`${kind} ${id}`);
    // V4 tells what a text rests on beside its sources; it belongs to the answer, like them.
    if (Array.isArray(part.citations)) {
      const at = this.parts.indexOf(block);
      for (const citation of part.citations) this.sources.push({ type: 'citation', part: at, ...citation });
    }
  }

  private blockOf(kind: 'text' | 'reasoning', id: string, starts: boolean): Block {
    const key = `${kind} ${id}`;
    const known = starts ? undefined : this.open.get(key);
    if (known !== undefined) return known;
    const block: Block = { type: kind, text: '' };
    this.open.set(key, block);
    this.parts.push(block);
    return block;
  }

  private takePart(part: Fields, type: string): void {
    const { providerMetadata } = part;
    const options = isFields(providerMetadata) ? { providerOptions: providerMetadata as ProviderOptions } : {};
    switch (type) {
      case 'tool-call':
        this.parts.push({ ...callOf(part), ...options });
        return;
      case 'tool-result':
        this.takeResult(part, options);
        return;
      case 'file':
      case 'reasoning-file': {
        const data = fileDataOf(part.data, 'the file of the answer');
        this.parts.push({ type, mediaType: String(part.mediaType), data, ...options });
        return;
      }
      case 'custom':
        if (!ANNOUNCEMENTS.has(part.kind)) this.parts.push({ type, kind: part.kind, ...options });
        return;
      case 'tool-approval-request': {
        const { approvalId, toolCallId } = part;
        this.parts.push({ type, approvalId, toolCallId, ...options });
        return;
      }
      default:
        this.warn({ type: 'unknown stream part', message: type });
    }
  }

  /** The provider ran the call itself; a preliminary result gives way to the one that follows it. */
  private takeResult(part: Fields, options: object): void {
    const { toolCallId, toolName, result, isError, preliminary } = part;
    const output = { type: isError === true ? 'error-json' : 'json', value: (result ?? null) as Json };
    const draft = { type: 'tool-result', toolCallId, toolName, output, ...options };
    const before = this.parts.findIndex(
      (known) => this.preliminary.has(known) && (known as Fields).toolCallId === toolCallId,
    );
    if (before === -1) this.parts.push(draft);
    else this.parts[before] = draft;
    if (preliminary === true) this.preliminary.add(draft);
  }
}

/** The input comes as text. What is no JSON is kept where every provider takes it back: in an object. */
function callOf({ toolCallId, toolName, input, providerExecuted }: Fields): Fields {
  const call = { type: 'tool-call', toolCallId, toolName, ...(providerExecuted === true ? { providerExecuted } : {}) };
  if (input === '' || input === undefined) return { ...call, input: {} };
  try {
    return { ...call, input: typeof input === 'string' ? JSON.parse(input) : input };
  } catch {
    return { ...call, input: { rawInvalidInput: input }, malformed: `The input is no JSON: ${String(input)}` };
  }
}
