/**
 * Owns what files look like once they can be stored: base64 and URLs as text, whatever form they came in.
 * Must not know messages.
 */
import type { FileData } from '../core/messages.js';
import { isFields } from './specification.js';

/** No base64 begins like this. */
const URL_TEXT = /^(https?|data):/i;

/** @throws {TypeError} names the path and what can be given there. */
export function fileDataOf(value: unknown, path: string): FileData {
  if (typeof value === 'string')
    return URL_TEXT.test(value) ? { type: 'url', url: value } : { type: 'data', data: value };
  if (value instanceof Uint8Array) return { type: 'data', data: base64(value) };
  if (value instanceof ArrayBuffer) return { type: 'data', data: base64(new Uint8Array(value)) };
  if (value instanceof URL) return { type: 'url', url: value.href };
  if (isFields(value)) {
    if (value.type === 'data' && typeof value.data === 'string') return { type: 'data', data: value.data };
    if (value.type === 'data') return fileDataOf(value.data, `${path}.data`);
    if (value.type === 'url') {
      const url = value.originalUrl ?? (value.url instanceof URL ? value.url.href : value.url);
      if (typeof url === 'string') return { type: 'url', url };
    }
    if (value.type === 'text' && typeof value.text === 'string') return { type: 'text', text: value.text };
    if (value.type === 'reference' && isFields(value.reference)) {
      return { type: 'reference', reference: value.reference as { readonly [provider: string]: string } };
    }
  }
  throw new TypeError(`${path} must be base64, bytes, a URL, or { type: 'data' | 'url' | 'text' | 'reference', … }.`);
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
