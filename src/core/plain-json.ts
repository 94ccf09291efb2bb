/**
 * Owns the quick look at a value: is it JSON as it stands? Nearly every value is, and it runs in front of every write.
 * Must not know what is wrong with one that is not, or how it is repaired: that is left to the walk of json.ts.
 */
import type { Json } from './json.js';

/** Nesting a value may have. Prevents: a stack overflow in the middle of a commit. */
export const DEPTH = 500;

/**
 * What is left of the characters that a value may have as JSON. A value that has one part at many places is small in
 * memory and has no end as JSON: the copy of it would take all memory before anybody asked for its size.
 */
export class Room {
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

/** The value itself; undefined unless JSON gives it back unchanged, which the walk decides where anything is unusual. */
export const asPlainJson = (value: unknown, room: Room): Json | undefined => quick(value, room, false);

/** A copy of it, without its absent properties; undefined where anything else is unusual. */
export const copyPlainJson = (value: unknown, room: Room): Json | undefined => quick(value, room, true);

function quick(value: unknown, room: Room, copies: boolean): Json | undefined {
  try {
    return visit(value, 0, room, copies);
  } catch {
    // A getter or a proxy threw: the walk names the place.
    return undefined;
  }
}

function visit(value: unknown, depth: number, room: Room, copies: boolean): Json | undefined {
  if (!room.takes(value)) return undefined;
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? value : undefined;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return value;
      if (depth >= DEPTH || 'toJSON' in value || Object.getOwnPropertySymbols(value).length > 0) return undefined;
      return Array.isArray(value) ? visitArray(value, depth, room, copies) : visitRecord(value, depth, room, copies);
    default:
      return undefined;
  }
}

function visitArray(value: readonly unknown[], depth: number, room: Room, copies: boolean): Json | undefined {
  if (Object.getPrototypeOf(value) !== Array.prototype || !isDense(value, Object.keys(value))) return undefined;
  const result = copies ? [] : (value as Json[]);
  for (let index = 0; index < value.length; index += 1) {
    const item = visit(value[index], depth + 1, room, copies);
    if (item === undefined) return undefined;
    if (copies) result[index] = item;
  }
  return result;
}

/** Indices come before other names: as many names as items, the last of them an index, leave no hole. */
const isDense = (items: readonly unknown[], names: readonly string[]): boolean =>
  names.length === items.length && (names.length === 0 || names.at(-1) === String(items.length - 1));

function visitRecord(value: object, depth: number, room: Room, copies: boolean): Json | undefined {
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const result = (copies ? {} : value) as { [name: string]: Json };
  for (const name of Object.keys(value)) {
    // A getter runs code of others, and may give something else to whoever asks next.
    const given = (value as { readonly [name: string]: unknown })[name];
    if (given === undefined && copies) continue;
    const item = visit(given, depth + 1, room, copies);
    // Assigned, a property named __proto__ would be no data.
    if (item === undefined || !name.isWellFormed() || (copies && name === '__proto__')) return undefined;
    if (copies) result[name] = item;
  }
  return result;
}
