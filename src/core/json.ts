/**
 * Owns what may be stored: JSON values, checked with their path before anything is written (I14).
 * Must not know records or keys.
 */
import { RECORD_BYTES } from '../../machines/index.js';
import { messageOf, TurnError } from './errors.js';
import { asPlainJson, copyPlainJson, DEPTH, Room } from './plain-json.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Throws unless the value survives a round trip through JSON exactly. Makes no copy: it runs in front of every write.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path of the first part that does not; TURN_TOO_LARGE for what no
 * record can hold.
 */
export function checkJson(value: unknown, path: string): asserts value is Json {
  // Nearly every value is in order: then nothing of what says where a fault is has to be built.
  const room = new Room(RECORD_BYTES);
  if (asPlainJson(value, room) !== undefined) return;
  if (room.isUsedUp) throw tooLarge(path, RECORD_BYTES);
  walk(value, path, false);
}

/**
 * The JSON value of what models and tools give, always a copy: lone surrogates are replaced, absent properties and
 * names on arrays dropped, -0 is 0. What has no JSON value at all is refused.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path; TURN_TOO_LARGE for more than a result may have.
 */
export function toJson(value: unknown, path: string): Json {
  return copyPlainJson(value, new Room(COPY_CHARACTERS)) ?? walk(value, path, true);
}

/** The same for a value that never changes: where nothing has to be repaired, it is not copied. */
export function asJson(value: unknown, path: string): Json {
  return asPlainJson(value, new Room(COPY_CHARACTERS)) ?? walk(value, path, true);
}

/** A copy of any value of others that is to stay as it is. @throws {Error} what cannot be copied at all. */
export const copyOf = (value: unknown): unknown =>
  copyPlainJson(value, new Room(COPY_CHARACTERS)) ?? structuredClone(value);

/** A copy is of what a model or a tool gave, which may have a quarter of a record. */
const COPY_CHARACTERS = RECORD_BYTES / 4;

/** Something that has no JSON value. Its path grows on the way out, so that a value in order costs no path. */
class Fault {
  readonly what: string;
  readonly path: string;

  constructor(what: string, path = '') {
    this.what = what;
    this.path = path;
  }
}

const TOO_LARGE = new Fault('too large');

const tooLarge = (path: string, characters: number): TurnError =>
  new TurnError(
    'TURN_TOO_LARGE',
    `${path} has more than ${characters} characters as JSON. Store large content outside and refer to it.`,
  );

/** Getters and proxies run code of others: what they throw is a fault of the value. */
const faultOf = (thrown: unknown): Fault =>
  thrown instanceof Fault ? thrown : new Fault(`unreadable (${messageOf(thrown)})`);

function walk(value: unknown, path: string, repairs: boolean): Json {
  const characters = repairs ? COPY_CHARACTERS : RECORD_BYTES;
  try {
    return visit(value, { repairs, parents: [], room: new Room(characters) });
  } catch (thrown) {
    if (thrown === TOO_LARGE) throw tooLarge(path, characters);
    const fault = faultOf(thrown);
    const message = `${path}${fault.path} is ${fault.what}; only JSON values can be stored.`;
    throw new TurnError('TURN_INVALID_VALUE', message.toWellFormed());
  }
}

interface Walk {
  readonly repairs: boolean;
  readonly parents: object[];
  readonly room: Room;
}

function visit(value: unknown, on: Walk): Json {
  if (!on.room.takes(value)) throw TOO_LARGE;
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      if (value.isWellFormed()) return value;
      if (on.repairs) return value.toWellFormed();
      throw new Fault('text with a lone surrogate');
    case 'number':
      if (!Number.isFinite(value)) throw new Fault(String(value));
      if (!Object.is(value, -0)) return value;
      if (on.repairs) return 0;
      throw new Fault('-0');
    case 'object':
      return value === null ? value : visitObject(value, on);
    default:
      throw new Fault(typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`);
  }
}

function visitObject(value: object, on: Walk): Json {
  const { parents } = on;
  if (parents.length >= DEPTH) throw new Fault(`nested more than ${DEPTH} levels deep`);
  if (parents.includes(value)) throw new Fault('part of a cycle');
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') throw new Fault('an object with toJSON()');
  if (Object.getOwnPropertySymbols(value).length > 0) throw new Fault('an object with symbol keys');
  parents.push(value);
  const result = Array.isArray(value) ? visitArray(value, on) : visitRecord(value, on);
  parents.pop();
  return result;
}

function visitArray(value: readonly unknown[], on: Walk): Json {
  const { repairs } = on;
  if (!repairs && !isPlain(value, 2)) throw new Fault(`${kindOf(value)}, not a plain array`);
  const copy: Json[] | undefined = repairs ? [] : undefined;
  // By index, because a hole has to be seen: it reads as undefined and is refused like it.
  for (let index = 0; index < value.length; index += 1) {
    try {
      const item = visit(value[index], on);
      copy?.push(item);
    } catch (thrown) {
      if (thrown === TOO_LARGE) throw thrown;
      const fault = faultOf(thrown);
      throw new Fault(fault.what, `[${index}]${fault.path}`);
    }
  }
  if (!repairs && Object.keys(value).length !== value.length) throw new Fault('an array with names');
  return copy ?? (value as readonly Json[]);
}

function visitRecord(value: object, on: Walk): Json {
  const { repairs } = on;
  if (!isPlain(value, 1)) throw new Fault(`${kindOf(value)}, not a plain object`);
  const entries: [string, Json][] | undefined = repairs ? [] : undefined;
  for (const key of Object.keys(value)) {
    try {
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined && repairs) continue;
      const name = nameOf(key, value, repairs);
      const json = visit(item, on);
      entries?.push([name, json]);
    } catch (thrown) {
      if (thrown === TOO_LARGE) throw thrown;
      const fault = faultOf(thrown);
      throw new Fault(fault.what, `.${key}${fault.path}`);
    }
  }
  // fromEntries defines own properties, so a key named __proto__ stays data.
  return entries === undefined ? (value as Json) : Object.fromEntries(entries);
}

/** Two keys that become equal when they are repaired would lose a value without a word. */
function nameOf(key: string, owner: object, repairs: boolean): string {
  if (key.isWellFormed()) return key;
  if (!repairs) throw new Fault('under a key with a lone surrogate');
  const name = key.toWellFormed();
  const twins = Object.keys(owner).filter((other) => other.toWellFormed() === name);
  if (twins.length > 1) throw new Fault('under a key that equals another one once its lone surrogates are replaced');
  return name;
}

/** By the length of its prototype chain, so that plain values of another realm (vm, worker) count as plain. */
function isPlain(value: object, chain: 1 | 2): boolean {
  let last = Object.getPrototypeOf(value) as object | null;
  if (last === null) return true;
  for (let length = 1; length < chain; length += 1) last = last && (Object.getPrototypeOf(last) as object | null);
  // Only Object.prototype, of whatever realm, has this name and nothing behind it.
  return last !== null && Object.getPrototypeOf(last) === null && Object.hasOwn(last, 'isPrototypeOf');
}

function kindOf(value: object): string {
  const name: unknown = (Object.getPrototypeOf(value) as object | null)?.constructor?.name;
  return typeof name === 'string' && name !== '' ? `a ${name}` : 'a class instance';
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

/** Whether a value has more characters as JSON. Only one that may come near the bound is written out to be counted. */
export const isLongerThan = (value: Json, characters: number): boolean =>
  charactersAtMost(value) > characters && JSON.stringify(value).length > characters;

/** One character of text may take six, as in \u0000; a number has at most 25. */
function charactersAtMost(value: Json): number {
  if (typeof value === 'string') return value.length * 6 + 2;
  if (typeof value !== 'object' || value === null) return 25;
  let characters = 2;
  if (Array.isArray(value)) for (const item of value) characters += charactersAtMost(item) + 1;
  else for (const [name, item] of Object.entries(value)) characters += name.length * 6 + 4 + charactersAtMost(item);
  return characters;
}

/** Cuts text to a number of UTF-8 bytes without splitting a character. */
export function cutText(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text.toWellFormed();
  let end = bytes;
  // 10xxxxxx continues a character: the cut goes in front of the character it would split.
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end -= 1;
  // Without ignoreBOM a byte order mark in front of the text would be lost.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded.subarray(0, end));
}
