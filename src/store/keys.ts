/**
 * Owns every key of the database in one place: which kinds of records there are and how each is found.
 * Must not know values, bytes or a database.
 *
 * Ids are encoded with `encodeId` (letters, digits, `-`, `_`, `%`), so `!` separates parts and no id can reach into
 * the keys of another. Numbers have a fixed width, because bare decimals do not sort.
 */
import { hash } from 'node:crypto';
import { encodeId } from '../core/ids.js';

/** The kinds of records. One sublevel each. Nothing is ever written beside them: it could show up inside one. */
export const KINDS = [
  'head',
  'message',
  'archive',
  'turn',
  'call',
  'inbox',
  'seen',
  'outcome',
  'review',
  'marker',
  'garbage',
  'quarantine',
  'meta',
] as const;

export type Kind = (typeof KINDS)[number];

/** Where the parts of large records are: nobody but `Tables` puts or reads them. */
export const PART = 'part';
export const SUBLEVELS = [...KINDS, PART] as const;
export type SublevelName = (typeof SUBLEVELS)[number];

/** Both ends belong to the range or both do not; whichever the iterator of abstract-level takes. */
export interface Range {
  readonly gte: string;
  readonly lt: string;
}

const SEPARATOR = '!';
/** The character after the separator: the exclusive end of everything that starts with `prefix!`. */
const AFTER_SEPARATOR = '"';

/** Where in the database a key of this sublevel is. */
export const placeOf = (name: SublevelName, key: string): string => `${SEPARATOR}${name}${SEPARATOR}${key}`;
/** A range of the keys of this sublevel; what is left out ends with the sublevel. */
export const placesOf = (name: SublevelName, { gte = '', lt }: Partial<Range>): Range => ({
  gte: placeOf(name, gte),
  lt: lt === undefined ? `${SEPARATOR}${name}${AFTER_SEPARATOR}` : placeOf(name, lt),
});

export const FORMAT_KEY = 'format';

const WIDTH = 10;

const wide = (value: number): string => String(value).padStart(WIDTH, '0');
const under = (prefix: string): Range => ({
  gte: `${prefix}${SEPARATOR}`,
  lt: `${prefix}${AFTER_SEPARATOR}`,
});

/**
 * @throws {TypeError} an id with a lone surrogate: it has no encoding, and two such ids would collide.
 */
function part(id: string): string {
  if (!id.isWellFormed()) throw new TypeError('An id with a lone surrogate cannot be stored or looked up.');
  return encodeId(id);
}

/**
 * Session ids are often ordered by time. A scan of a kind whose records come and go would then crawl over the
 * tombstones of all earlier sessions in one place; four hex characters of a hash spread them.
 */
function spread(sessionId: string): string {
  const encoded = part(sessionId);
  return `${hash('sha256', encoded).slice(0, 4)}${encoded}`;
}

/** The session of a key that begins with `spread`; undefined where the text was not made by it. */
function sessionOfSpread(text: string): string | undefined {
  try {
    const sessionId = decodeURIComponent(text.slice(4));
    return spread(sessionId) === text ? sessionId : undefined;
  } catch {
    return undefined;
  }
}

export const headKey = (sessionId: string): string => part(sessionId);
/** The session of a key of the kinds `head` and `turn`; undefined where the text is no such key. */
export const sessionOfHead = (key: string): string | undefined => decodedPart(key);
export const turnKey = (sessionId: string): string => part(sessionId);
export const outcomeKey = (turnId: string): string => part(turnId);
export const seenKey = (sessionId: string, messageId: string): string =>
  `${part(sessionId)}${SEPARATOR}${part(messageId)}`;
export const seenOfSession = (sessionId: string): Range => under(part(sessionId));

export const messagesOfEpoch = (sessionId: string, epoch: number): Range =>
  under(`${part(sessionId)}${SEPARATOR}${wide(epoch)}`);
export const messagesOfSession = (sessionId: string): Range => under(part(sessionId));
/** The keys of one epoch; the session is encoded once. */
export function messageKeys(sessionId: string, epoch: number): (seq: number) => string {
  const prefix = `${part(sessionId)}${SEPARATOR}${wide(epoch)}${SEPARATOR}`;
  return (seq) => prefix + wide(seq);
}

/** The nth message that compactions took out of the list. */
export const archiveKey = (sessionId: string, nth: number): string => `${part(sessionId)}${SEPARATOR}${wide(nth)}`;
export const archiveOfSession = (sessionId: string): Range => under(part(sessionId));
/** The first `count` of them: more may be staged by a commit that never came. */
export const archiveUpTo = (sessionId: string, count: number): Range => ({
  gte: archiveKey(sessionId, 0),
  lt: archiveKey(sessionId, count),
});

/** What lies behind them: staged by a commit that never came, or nothing. */
export const archiveFrom = (sessionId: string, count: number): Range => ({
  gte: archiveKey(sessionId, count),
  lt: archiveOfSession(sessionId).lt,
});

/** Ids that are `id`, a dot and more. The dot is `%2E` once encoded, and a dot within an encoded id is `%252E` then. */
const dotted = (id: string): Range => {
  const prefix = part(id);
  return { gte: `${prefix}%2E`, lt: `${prefix}%2F` };
};

export const callKey = (callId: string): string => part(callId);
export const callsOfTurn = (turnId: string): Range => dotted(turnId);
/** Turn ids and call ids begin with the encoded id of their session and a dot: those of a session are one range. */
export const callsOfSession = (sessionId: string): Range => dotted(part(sessionId));
export const outcomesOfSession = (sessionId: string): Range => dotted(part(sessionId));
/** The session of a turn id or a call id, as those ranges see it; undefined where it belongs to none. */
export function sessionOfDotted(id: string): string | undefined {
  const end = id.indexOf('.');
  if (end < 1) return undefined;
  try {
    const sessionId = decodeURIComponent(id.slice(0, end));
    return part(sessionId) === id.slice(0, end) ? sessionId : undefined;
  } catch {
    return undefined;
  }
}

export const inboxKey = (sessionId: string, seq: number, messageId: string): string =>
  `${spread(sessionId)}${SEPARATOR}${wide(seq)}${SEPARATOR}${part(messageId)}`;
export const inboxOfSession = (sessionId: string): Range => under(spread(sessionId));
export const sessionOfInbox = (key: string): string | undefined => sessionOfSpread(key.split(SEPARATOR)[0] as string);

export const reviewKey = (sessionId: string, callId: string): string =>
  `${spread(sessionId)}${SEPARATOR}${part(callId)}`;
export const reviewsOfSession = (sessionId: string): Range => under(spread(sessionId));

export const markerKey = (sessionId: string): string => spread(sessionId);
export const sessionOfMarker = sessionOfSpread;

export const garbageKey = (sessionId: string, epoch: number): string =>
  `${spread(sessionId)}${SEPARATOR}${wide(epoch)}`;
export function epochOfGarbage(key: string): { readonly sessionId: string; readonly epoch: number } | undefined {
  const [prefix, epoch, ...rest] = key.split(SEPARATOR);
  const sessionId = sessionOfSpread(prefix as string);
  if (sessionId === undefined || rest.length > 0 || !/^\d{10}$/.test(epoch ?? '')) return undefined;
  return { sessionId, epoch: Number(epoch) };
}

export const garbageOfEpochs = (sessionId: string): Range => under(spread(sessionId));
/** Without an epoch: the whole session is garbage. An older release takes it for no key of ours and lets it lie. */
export const removalKey = (sessionId: string): string => spread(sessionId);
export const sessionOfRemoval = sessionOfSpread;

/** Of the kind `meta`: what a repair found out about a session, until somebody was told. */
export const damageKey = (sessionId: string): string => `damage${SEPARATOR}${part(sessionId)}`;
export const damageNotes = (): Range => under('damage');

/** The `nth` time the session was set aside; without `kind` the reason, else the bytes that were under `key`. */
export const quarantineKey = (sessionId: string, nth: number, kind?: Kind, key?: string): string => {
  const prefix = `${part(sessionId)}${SEPARATOR}${wide(nth)}`;
  return kind === undefined ? prefix : `${prefix}${SEPARATOR}${kind}${SEPARATOR}${key}`;
};
export const quarantineOfSession = (sessionId: string): Range => under(part(sessionId));
export const nthOfQuarantine = (key: string): number => Number(key.split(SEPARATOR)[1]);

/** The session comes first: whether it has large records, and where they all are, is one look. */
function partPrefix(kind: Kind, key: string): string {
  const sessionId = sessionOfKey(kind, key);
  return `${sessionId === undefined ? '' : part(sessionId)}${SEPARATOR}${kind}${SEPARATOR}`;
}
const PART_WIDTH = 4;
/** Of the parts of one record. */
export function partKey(kind: Kind, key: string): (nth: number) => string {
  const prefix = `${partPrefix(kind, key)}${key}${SEPARATOR}`;
  return (nth) => prefix + String(nth).padStart(PART_WIDTH, '0');
}
/** The parts of all records from the first key to the last, of one kind and session. */
export function partsBetween(kind: Kind, first: string, last: string): Range {
  const prefix = partPrefix(kind, first);
  return { gte: `${prefix}${first}${SEPARATOR}`, lt: `${prefix}${last}${AFTER_SEPARATOR}` };
}
export const partsOfSession = (sessionId: string): Range => under(part(sessionId));
/** The key of the record that a part belongs to. */
export function recordOfPart(key: string): string {
  const kindAt = key.indexOf(SEPARATOR) + 1;
  return key.slice(key.indexOf(SEPARATOR, kindAt) + 1, key.lastIndexOf(SEPARATOR));
}
/** Its kind; undefined for a key that no record made. */
export function kindOfPart(key: string): Kind | undefined {
  const kindAt = key.indexOf(SEPARATOR) + 1;
  const name = key.slice(kindAt, key.indexOf(SEPARATOR, kindAt));
  return KINDS.find((kind) => kind === name && key.startsWith(partPrefix(kind, recordOfPart(key))));
}

/** Whose record it is; undefined for a key that no session made. */
export function sessionOfKey(kind: Kind, key: string): string | undefined {
  const first = key.split(SEPARATOR)[0] as string;
  switch (kind) {
    case 'meta':
      return undefined;
    case 'call':
    case 'outcome': {
      const id = decodedPart(first);
      return id === undefined ? undefined : sessionOfDotted(id);
    }
    case 'inbox':
    case 'review':
    case 'marker':
    case 'garbage':
      return sessionOfSpread(first);
    default:
      return decodedPart(first);
  }
}

function decodedPart(text: string): string | undefined {
  try {
    const id = decodeURIComponent(text);
    return part(id) === text ? id : undefined;
  } catch {
    return undefined;
  }
}
