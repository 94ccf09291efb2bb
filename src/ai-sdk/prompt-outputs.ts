/**
 * Owns the form of a tool's output in each specification: V2 knows texts and media, V3 a kind for each way to name a
 * file, V4 tagged files like the canonical list.
 * Must not know messages; what cannot be told to a model is refused with its path.
 */
import type { FilePart, ToolOutput } from '../core/messages.js';
import { refuse, urlOf } from './refusal.js';
import type { Fields, SpecificationVersion } from './specification.js';

export interface PromptOutput {
  readonly output: Fields;
  /** What the specification has no word for, to be noted in the part. */
  readonly note?: Fields;
}

type ContentValue = Extract<ToolOutput, { readonly type: 'content' }>['value'][number];

/** @throws {ModelError} `rejected`, with the path. */
export function toOutput(output: ToolOutput, version: SpecificationVersion, path: string): PromptOutput {
  if (output.type === 'content') {
    const value = output.value.map((part, index) => toContent(part, version, `${path}.value[${index}]`));
    return { output: { ...output, value } };
  }
  if (output.type !== 'execution-denied' || version !== 'v2') return { output: { ...output } };
  // V2 providers give a denial no content at all. The model has to read why a call did not run.
  const { type, reason, ...rest } = output;
  const value = reason ?? 'The execution of this call was denied.';
  return { output: { ...rest, type: 'error-text', value }, note: reason === undefined ? { type } : { type, reason } };
}

function toContent(part: ContentValue, version: SpecificationVersion, path: string): Fields {
  if (part.type === 'text') return { ...part };
  if (part.type === 'custom') {
    return version === 'v2' ? refuse(path, 'a custom part of an output', version) : { ...part };
  }
  const { data } = part;
  if (version === 'v4') {
    return data.type === 'url' ? { ...part, data: { type: 'url', ...urlOf(data.url, path, version) } } : { ...part };
  }
  return version === 'v3' ? toV3File(part, path) : toV2File(part, path);
}

function toV2File(part: FilePart, path: string): Fields {
  const { data, type: _type, ...rest } = part;
  if (data.type !== 'data') return refuse(`${path}.data`, `a file of the type "${data.type}" in an output`, 'v2');
  return { ...rest, type: 'media', data: data.data };
}

/**
 * V3 has a kind of its own for images. `mediaType` and `filename` go along where V3 does not ask for them: nobody
 * reads them there, and they come back with the part.
 */
function toV3File(part: FilePart, path: string): Fields {
  const { data, type: _type, ...rest } = part;
  const image = part.mediaType.startsWith('image/');
  switch (data.type) {
    case 'data':
      return { ...rest, type: image ? 'image-data' : 'file-data', data: data.data };
    case 'url':
      return { ...rest, type: image ? 'image-url' : 'file-url', url: data.url };
    case 'reference':
      return { ...rest, type: image ? 'image-file-id' : 'file-id', fileId: data.reference };
    case 'text':
      return refuse(`${path}.data`, 'a file of the type "text" in an output', 'v3');
  }
}
