/**
 * Owns what may be stored: JSON values, checked with their path before anything is written (I14).
 * Must not know records or keys.
 */
import { RECORD_BYTES } from '../../machines/index.js';
import { messageOf, TurnError } from './errors.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Nesting a value may have. Prevents: a stack overflow in the middle of a commit. */
const DEPTH = 500;

/**
 * What is left of the characters that a value may have as JSON. A value that has one part at many places is small in
 * memory and has no end as JSON: the copy of it would take all memory before anybody asked for its size.
 */
class Room {
  private left: number;

  constructor(characters: number) {
    this.left = characters;
  }

  /** Whether there is still room behind this value, of what is inside it only brackets and quotes counted. */
  takes(value: unknown): boolean {
    this.left -= typeof value === 'string' ? value.length + 2 : typeof value === 'object' ? 2 : 1;
    return !this.isUsedUp;
  }

  get isUsedUp(): boolean {
    return this.left < 0;
  }
}

/**
 * Throws unless the value survives a round trip through JSON exactly. Makes no copy: it runs in front of every write.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path of the first part that does not; TURN_TOO_LARGE for what no
 * record can hold.
 */
export function checkJson(value: unknown, path: string): asserts value is Json {
  // Nearly every value is in order: then nothing of what says where a fault is has to be built.
  const room = new Room(RECORD_BYTES);
  if (isInOrder(value, room)) return;
  if (room.isUsedUp) throw tooLarge(path, RECORD_BYTES);
  walk(value, path, false);
}

function isInOrder(value: unknown, room: Room): boolean {
  try {
    return isPlainJson(value, 0, room);
  } catch {
    // A getter or a proxy threw: the walk names the place.
    return false;
  }
}

/** Yes only where the walk finds no fault; whatever is unusual is left to it. */
function isPlainJson(value: unknown, depth: number, room: Room): boolean {
  if (!room.takes(value)) return false;
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'boolean':
      return true;
    case 'object':
      return value === null || (depth < DEPTH && isPlainObject(value, depth, room));
    default:
      return false;
  }
}

function isPlainObject(value: object, depth: number, room: Room): boolean {
  const names = Object.keys(value);
  const isArray = Array.isArray(value);
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return false;
  if (isArray && !isDense(value, names)) return false;
  if ('toJSON' in value || Object.getOwnPropertySymbols(value).length > 0) return false;
  for (const name of names) {
    if (!name.isWellFormed()) return false;
    // A getter runs code of others, and may give something else to whoever asks next.
    if (!isPlainJson((value as Record<string, unknown>)[name], depth + 1, room)) return false;
  }
  return true;
}

/** Indices come before other names: as many names as items, the last of them an index, leave no hole. */
const isDense = (items: readonly unknown[], names: readonly string[]): boolean =>
  names.length === items.length && (names.length === 0 || names.at(-1) === String(items.length - 1));

/**
 * The JSON value of what models and tools give, always a copy: lone surrogates are replaced, absent properties and
 * names on arrays dropped, -0 is 0. What has no JSON value at all is refused.
 * @throws {TurnError} TURN_INVALID_VALUE, with the path; TURN_TOO_LARGE for more than a result may have.
 */
export function toJson(value: unknown, path: string): Json {
  return walk(value, path, true);
}

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
  // A copy is of what a model or a tool gave, which may have a quarter of a record.
  const characters = repairs ? RECORD_BYTES / 4 : RECORD_BYTES;
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
