/**
 * Owns the way from the canonical list to the prompt of a specification. A wrong shape is lost by the providers without
 * an error, so each part has the form of its specification, or the request is refused with the path of the part.
 * Must not know a provider. What a specification has no word for and the model still reads is noted in the part, so
 * that fromModelMessages gives the same message back.
 */
import type { AssistantPart, FilePart, Message, ToolMessage, UserPart } from '../core/messages.js';
import { toOutput } from './prompt-outputs.js';
import { refuse, urlOf } from './refusal.js';
import { type Fields, NOTES, type PromptMessage, type SpecificationVersion } from './specification.js';

type AnyPart = UserPart | AssistantPart | ToolMessage['content'][number];

/** @throws {ModelError} `rejected`: the path of what the specification cannot carry. */
export function toPrompt(
  messages: readonly Message[],
  version: SpecificationVersion,
  path = 'messages',
): readonly PromptMessage[] {
  return messages.map((message, index): PromptMessage => {
    if (message.role === 'system') return { ...message };
    const content = message.content.map((part: AnyPart, at) =>
      toPart(part, message.role, version, `${path}[${index}].content[${at}]`),
    );
    return { ...message, content };
  });
}

function toPart(part: AnyPart, role: Message['role'], version: SpecificationVersion, path: string): Fields {
  switch (part.type) {
    case 'file':
      return toFile(part, version, path);
    case 'reasoning-file': {
      if (version !== 'v4') return refuse(path, 'a reasoning file', version);
      if (part.data.type === 'data') return { ...part };
      if (part.data.type === 'url') return { ...part, data: { type: 'url', ...urlOf(part.data.url, path, version) } };
      return refuse(`${path}.data`, `a reasoning file of the type "${part.data.type}"`, version);
    }
    case 'custom':
      // Providers pass over a custom part of a user message in silence.
      if (role === 'user') return refuse(path, 'a custom part of a user message', version);
      if (version !== 'v4') return refuse(path, `the custom part "${part.kind}"`, version);
      return { ...part };
    case 'tool-result': {
      const { output, note } = toOutput(part.output, version, `${path}.output`);
      return note === undefined ? { ...part, output } : { ...noted(part, note, path, version), output };
    }
    case 'tool-approval-request':
    case 'tool-approval-response':
      if (version === 'v2') return refuse(path, 'the approval of a provider-executed call', version);
      return { ...part };
    default:
      return { ...part };
  }
}

function toFile(part: FilePart, version: SpecificationVersion, path: string): Fields {
  const { data } = part;
  if (version === 'v4') {
    if (data.type !== 'url') return { ...part };
    return { ...part, data: { type: 'url', ...urlOf(data.url, `${path}.data`, version) } };
  }
  switch (data.type) {
    case 'data':
      return { ...part, data: data.data };
    case 'url': {
      const { url, ...original } = urlOf(data.url, `${path}.data`, version);
      return { ...part, data: url, ...original };
    }
    case 'text':
      // Before V4 a text is a file like any other: providers decode it.
      return { ...noted(part, { data: 'text' }, path, version), data: Buffer.from(data.text).toString('base64') };
    case 'reference':
      return refuse(`${path}.data`, 'a reference to a file of the provider', version);
  }
}

/** A part with a note of this library beside the options of the providers. */
function noted(part: AnyPart, note: Fields, path: string, version: SpecificationVersion): Fields {
  if (part.providerOptions?.[NOTES] !== undefined) {
    return refuse(`${path}.providerOptions`, `the name "${NOTES}", which is taken,`, version);
  }
  const alone = part.providerOptions === undefined ? { alone: true } : {};
  return { ...part, providerOptions: { ...part.providerOptions, [NOTES]: { ...note, ...alone } } };
}
