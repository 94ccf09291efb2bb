/**
 * Owns how a message shows a value that somebody gave where another one was needed. Must not know what was needed.
 */
import { copyPlainJson, Room } from './plain-json.js';

/** A message is for one look at it. */
const SHOWN_CHARACTERS = 80;

/**
 * As JSON, so that the text `"5"` and the number `5` do not read the same; what has no JSON is named, and what is long
 * is cut. Never throws.
 */
export function shown(value: unknown): string {
  try {
    const text = formOf(value);
    return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…`.toWellFormed() : text;
  } catch {
    return 'a value that cannot be read';
  }
}

function formOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.slice(0, SHOWN_CHARACTERS + 1));
    case 'function':
      return 'a function';
    case 'object': {
      // Bounded before it is written out: a value that has one part at many places has no end as JSON.
      const json = copyPlainJson(value, new Room(SHOWN_CHARACTERS));
      return json === undefined ? Object.prototype.toString.call(value) : JSON.stringify(json);
    }
    default:
      return String(value);
  }
}
