/**
 * Owns how the output of a tool is read, whichever generation of the AI SDK wrote it.
 * Must not know messages.
 */
import { fileDataOf } from './file-data.js';
import { type Fields, isFields } from './specification.js';

const OUTPUTS: ReadonlySet<unknown> = new Set([
  'text',
  'json',
  'error-text',
  'error-json',
  'execution-denied',
  'content',
]);

/**
 * The canonical output. Its values are checked where it is stored.
 * @throws {TypeError} names the path of what has no canonical form.
 */
export function fromOutput(output: unknown, path: string): Fields {
  if (!isFields(output) || !OUTPUTS.has(output.type)) {
    throw new TypeError(`${path} must be { type, value } with one of the types ${[...OUTPUTS].join(', ')}.`);
  }
  if (output.type !== 'content') return output;
  if (!Array.isArray(output.value)) throw new TypeError(`${path}.value must be an array of parts.`);
  return { ...output, value: output.value.map((part, index) => readContent(part, `${path}.value[${index}]`)) };
}

function readContent(part: unknown, path: string): unknown {
  const { type, data, url, fileId, ...rest } = isFields(part) ? part : {};
  const image = typeof type === 'string' && type.startsWith('image-');
  const file = { mediaType: image ? 'image/*' : 'application/octet-stream', ...rest, type: 'file' };
  switch (type) {
    case 'text':
    case 'custom':
      return part;
    case 'file':
      return { ...file, data: fileDataOf(data, `${path}.data`) };
    case 'media':
    case 'file-data':
    case 'image-data':
      return { ...file, data: fileDataOf(data, `${path}.data`) };
    case 'file-url':
    case 'image-url':
      return { ...file, data: { type: 'url', url } };
    case 'file-id':
    case 'image-file-id':
      // A bare id does not say whose file it is.
      if (!isFields(fileId)) throw new TypeError(`${path}.fileId must name its provider: { "<provider>": "<id>" }.`);
      return { ...file, data: { type: 'reference', reference: fileId } };
    default:
      throw new TypeError(`${path}.type must be text, file, custom, or a kind of file of the AI SDK 5 or 6.`);
  }
}
