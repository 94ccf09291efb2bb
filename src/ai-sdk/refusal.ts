/**
 * Owns the word for what a specification cannot carry, and URLs, which not every text is.
 * Must not know messages.
 */
import { ModelError } from '../core/errors.js';
import type { SpecificationVersion } from './specification.js';

/** @throws {ModelError} always: `rejected`, with the path. Another try of the same request would end the same. */
export function refuse(path: string, what: string, version: SpecificationVersion): never {
  throw new ModelError('rejected', `${path}: ${what} has no form in language-model specification ${version}.`);
}

/** Parsing can change a URL: then the one that was given goes along. */
export function urlOf(
  given: string,
  path: string,
  version: SpecificationVersion,
): { readonly url: URL; readonly originalUrl?: string } {
  if (!URL.canParse(given)) return refuse(path, `"${given}", which is no absolute URL,`, version);
  const url = new URL(given);
  // Providers would fetch it. Its bytes are data, and are stored as such.
  if (url.protocol === 'data:') return refuse(path, "a data: URL instead of { type: 'data' }", version);
  return url.href === given ? { url } : { url, originalUrl: given };
}
