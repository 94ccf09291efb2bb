/**
 * Owns what may be stored: JSON values, checked with their path before anything is written (I14).
 * Must not know records or keys.
 */
import { TurnError } from './errors.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Nesting a value may have. Prevents: a stack overflow in the middle of a commit. */
const DEPTH = 500;

type Mode = 'strict' | 'repair';

/**
 * Throws unless the value survives a round trip through JSON exactly.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path of the first part that does not.
 */
export function checkJson(value: unknown, path: string): asserts value is Json {
  visit(value, path, 'strict', 0, []);
}

/**
 * The JSON value of text from models and tools: lone surrogates are replaced, absent properties dropped, -0 is 0.
 * What has no JSON value at all is refused.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path.
 */
export function toJson(value: unknown, path: string): Json {
  return visit(value, path, 'repair', 0, []);
}

function refuse(path: string, what: string): never {
  throw new TurnError('TURN_INVALID_VALUE', `${path} is ${what}; only JSON values can be stored.`);
}

function visit(value: unknown, path: string, mode: Mode, depth: number, parents: object[]): Json {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      if (value.isWellFormed()) return value;
      return mode === 'repair' ? value.toWellFormed() : refuse(path, 'text with a lone surrogate');
    case 'number':
      if (!Number.isFinite(value)) return refuse(path, String(value));
      if (Object.is(value, -0)) return mode === 'repair' ? 0 : refuse(path, '-0');
      return value;
    case 'object':
      if (value === null) return value;
      return visitObject(value, path, mode, depth, parents);
    default:
      return refuse(path, typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`);
  }
}

function visitObject(value: object, path: string, mode: Mode, depth: number, parents: object[]): Json {
  if (depth >= DEPTH) return refuse(path, `nested more than ${DEPTH} levels deep`);
  if (parents.includes(value)) return refuse(path, 'part of a cycle');
  parents.push(value);
  const result = Array.isArray(value)
    ? visitArray(value, path, mode, depth, parents)
    : visitRecord(value, path, mode, depth, parents);
  parents.pop();
  return result;
}

function visitArray(value: unknown[], path: string, mode: Mode, depth: number, parents: object[]): Json {
  // A hole reads as undefined and is refused like it; map() would skip it.
  return Array.from(value, (item, index) => visit(item, `${path}[${index}]`, mode, depth + 1, parents));
}

function visitRecord(value: object, path: string, mode: Mode, depth: number, parents: object[]): Json {
  const prototype = Object.getPrototypeOf(value) as object | null;
  // A plain object of another realm (vm, worker) has a prototype of its own whose prototype is null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return refuse(path, `a ${value.constructor?.name ?? 'class instance'}, not a plain object`);
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return refuse(path, 'an object with toJSON()');
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse(path, 'an object with symbol keys');
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined && mode === 'repair') continue;
    const at = `${path}.${key}`;
    if (!key.isWellFormed() && mode === 'strict') return refuse(at, 'under a key with a lone surrogate');
    entries.push([key.toWellFormed(), visit(item, at, mode, depth + 1, parents)]);
  }
  // fromEntries defines own properties, so a key named __proto__ stays data.
  return Object.fromEntries(entries);
}

/** One text for equal values, whatever the order of their keys. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const record = value as { readonly [key: string]: Json };
  const parts = Object.keys(record)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key] as Json)}`);
  return `{${parts.join(',')}}`;
}

/** Equality of JSON values; the order of keys does not count. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && equalJson((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

/** Cuts text to a number of UTF-8 bytes without splitting a character. */
export function cutText(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text.toWellFormed();
  let end = bytes;
  // 10xxxxxx continues a character: the cut goes in front of the character it would split.
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(encoded.subarray(0, end));
}
