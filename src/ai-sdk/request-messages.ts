/**
 * Owns what one request makes of the list before it becomes a prompt: its cache breakpoint, and texts that say nothing.
 * Must not change the list: everything here is a copy, and none of it is stored.
 */
import type { Message, ProviderOptions } from '../core/messages.js';
import { type Fields, isFields } from './specification.js';

/** The list with these options on its last message, and their keys on no other. */
export function breakpointAt(messages: readonly Message[], breakpoint: ProviderOptions): readonly Message[] {
  const free = messages.map((message): Message => without(message, breakpoint));
  const last = free.pop();
  if (last === undefined) return free;
  const options = { ...last.providerOptions };
  for (const [provider, own] of Object.entries(breakpoint)) options[provider] = { ...options[provider], ...own };
  return [...free, { ...last, providerOptions: options }];
}

/** A copy of a message, its parts and its outputs, without these keys in their options. Other values stay as they are. */
function without<T>(value: T, breakpoint: ProviderOptions): T {
  if (!isFields(value)) return value;
  const copy: { [name: string]: unknown } = { ...value };
  if (isFields(copy.providerOptions)) copy.providerOptions = withoutKeys(copy.providerOptions, breakpoint);
  for (const name of ['content', 'value']) {
    const parts = copy[name];
    // Only a list of parts is one: `value` of a JSON output is data.
    if (Array.isArray(parts) && (name === 'content' || copy.type === 'content')) {
      copy[name] = parts.map((part) => without(part, breakpoint));
    }
  }
  if (copy.type === 'tool-result') copy.output = without(copy.output, breakpoint);
  return copy as T;
}

function withoutKeys(options: Fields, breakpoint: ProviderOptions): Fields {
  const kept = Object.entries(options).map(([provider, own]) => {
    const keys = Object.keys(breakpoint[provider] ?? {});
    return [provider, Object.fromEntries(Object.entries(own as Fields).filter(([key]) => !keys.includes(key)))];
  });
  return Object.fromEntries(kept);
}

/**
 * The list without texts that say nothing: an empty text without options is kept in the list, and providers refuse it.
 * An answer of which nothing is left goes, since an empty one is refused too.
 */
export function saying(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    if (message.role !== 'assistant') return [message];
    const content = message.content.filter(
      (part) => part.type !== 'text' || part.text !== '' || part.providerOptions !== undefined,
    );
    if (content.length === message.content.length) return [message];
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}
