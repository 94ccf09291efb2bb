// Every canonical message, for fast-check: all kinds of parts, all forms of files and outputs, options of any name.
import fc from 'fast-check';
import type { Json } from '../../src/core/json.js';
import type { FileData, Message, ProviderOptions, ToolOutput } from '../../src/core/messages.js';
import { json, key, text } from '../core/arbitraries.js';

/** Where a provider name is `durable-turn`, the request is refused: that one is ours. */
const options: fc.Arbitrary<{ readonly providerOptions?: ProviderOptions }> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom('anthropic', 'openai', 'own'), fc.dictionary(key, json, { maxKeys: 2 })), {
        maxLength: 2,
      })
      .map((pairs) => ({ providerOptions: Object.fromEntries(pairs) as ProviderOptions })),
  },
);

const with_ = <T extends object>(part: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.tuple(part, options).map(([fields, more]) => ({ ...fields, ...more }));

const mediaType = fc.constantFrom('image/png', 'image/*', 'application/pdf', 'text/plain', 'audio/mp3');
const base64 = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const url = fc.constantFrom(
  'https://example.com/a.png',
  'https://example.com',
  'https://EXAMPLE.com/a b?q=ä#é',
  'http://example.com:80/../x',
  'gs://bucket/file',
  'data:image/png;base64,AAAA',
  '/relative.png',
);
const reference = fc.dictionary(fc.constantFrom('anthropic', 'openai'), text, { minKeys: 1 });

const fileData: fc.Arbitrary<FileData> = fc.oneof(
  base64.map((data) => ({ type: 'data', data }) as const),
  url.map((at) => ({ type: 'url', url: at }) as const),
  text.map((value) => ({ type: 'text', text: value }) as const),
  reference.map((value) => ({ type: 'reference', reference: value }) as const),
);

const named = fc.option(fc.constantFrom('a.png', ''), { nil: undefined });
const file = with_(
  fc.record({ mediaType, data: fileData, filename: named }).map(({ filename, ...rest }) => ({
    type: 'file' as const,
    ...rest,
    ...(filename === undefined ? {} : { filename }),
  })),
);

const textPart = with_(text.map((value) => ({ type: 'text' as const, text: value })));
const custom = with_(
  fc
    .constantFrom('anthropic.block', 'own.x')
    .map((kind) => ({ type: 'custom' as const, kind: kind as `${string}.${string}` })),
);
const reason = fc.option(text, { nil: undefined });

const output: fc.Arbitrary<ToolOutput> = with_<ToolOutput>(
  fc.oneof(
    fc.tuple(fc.constantFrom('text', 'error-text'), text).map(([type, value]) => ({ type, value }) as ToolOutput),
    fc.tuple(fc.constantFrom('json', 'error-json'), json).map(([type, value]) => ({ type, value }) as ToolOutput),
    reason.map((why): ToolOutput => ({ type: 'execution-denied', ...(why === undefined ? {} : { reason: why }) })),
    fc
      .array(fc.oneof(textPart, file, with_(fc.constant({ type: 'custom' as const }))), { maxLength: 3 })
      .map((value): ToolOutput => ({ type: 'content', value })),
  ),
);

const id = fc.constantFrom('call_0', 'call_1');
const providerId = fc.constantFrom('srv_0', 'srv_1');
const result = (ids: fc.Arbitrary<string>) =>
  with_(
    fc
      .record({ toolCallId: ids, output })
      .map((fields) => ({ type: 'tool-result' as const, toolName: 'f', ...fields })),
  );
const call = with_(
  fc
    .record({ toolCallId: id, input: json })
    .map((fields) => ({ type: 'tool-call' as const, toolName: 'f', ...fields })),
);
const providerCall = with_(
  fc.record({ toolCallId: providerId, input: json }).map((fields) => ({
    type: 'tool-call' as const,
    toolName: 'search',
    providerExecuted: true,
    ...fields,
  })),
);
/** Approvals of the provider's calls: those of local calls never reach a prompt. */
const approvalRequest = with_(
  providerId.map((toolCallId) => ({ type: 'tool-approval-request' as const, approvalId: toolCallId, toolCallId })),
);
const approvalResponse = with_(
  fc.record({ approvalId: providerId, approved: fc.boolean(), reason }).map(({ reason: why, ...fields }) => ({
    type: 'tool-approval-response' as const,
    ...fields,
    ...(why === undefined ? {} : { reason: why }),
  })),
);
const reasoning = with_(text.map((value) => ({ type: 'reasoning' as const, text: value })));
const reasoningFile = with_(
  fc.record({ mediaType, data: fileData }).map((fields) => ({ type: 'reasoning-file' as const, ...fields })),
);

const list = <T>(part: fc.Arbitrary<T>) => fc.array(part, { maxLength: 3 });

export const message: fc.Arbitrary<Message> = with_<Message>(
  fc.oneof(
    text.map((content): Message => ({ role: 'system', content })),
    list(fc.oneof(textPart, file, custom)).map((content): Message => ({ role: 'user', content })),
    list(
      fc.oneof(
        textPart,
        file,
        reasoning,
        reasoningFile,
        custom,
        call,
        providerCall,
        result(providerId),
        approvalRequest,
      ),
    ).map((content): Message => ({ role: 'assistant', content })),
    list(fc.oneof(result(id), approvalResponse)).map((content): Message => ({ role: 'tool', content })),
  ),
);

/** The part of a message a path names: `messages[0].content[1].data`. */
export function at(messages: readonly Message[], path: string): Json | undefined {
  const names = path.replace(/^messages/, '').match(/[^.[\]]+/g) ?? [];
  return names.reduce<any>((value, name) => value?.[name], messages);
}
