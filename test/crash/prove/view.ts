// Reads an image of a disk as bytes, past the store and its readers: every record is decoded by its own rules, and what
// is there is sorted by kind. Records are decoded once, however many forks share their bytes.
import type {
  CallRecord,
  Checkpoint,
  Head,
  InboxRecord,
  Json,
  Marker,
  OutcomeRecord,
  ReviewRecord,
  StoredMessage,
} from '../../../src/index.js';
import { type Kind, messagesOfEpoch } from '../../../src/store/keys.js';
import { decodeRecord } from '../../../src/store/records.js';
import type { DiskImage } from '../../../src/testing/crash-store.js';

export interface View {
  readonly heads: Map<string, Head>;
  /** By session; only what the head's epoch names, in order. */
  readonly messages: Map<string, StoredMessage[]>;
  readonly archive: Map<string, StoredMessage[]>;
  readonly checkpoints: Map<string, Checkpoint>;
  readonly calls: Map<string, CallRecord>;
  readonly inbox: Map<string, InboxRecord[]>;
  /** The turn, by `session!message`. */
  readonly seen: Map<string, string>;
  readonly outcomes: Map<string, OutcomeRecord>;
  readonly reviews: ReviewRecord[];
  readonly markers: Map<string, Marker>;
  /** Keys of messages that no head names and no garbage record either. */
  readonly leaked: string[];
  readonly damaged: string[];
}

interface Raw {
  readonly kind: Kind;
  readonly key: string;
  readonly value: Json | undefined;
}

const decoded = new WeakMap<Buffer, Raw>();

function read(place: string, bytes: Buffer): Raw {
  const known = decoded.get(bytes);
  if (known !== undefined) return known;
  const end = place.indexOf('!', 1);
  const kind = place.slice(1, end) as Kind;
  const key = place.slice(end + 1);
  const record = decodeRecord(kind, key, bytes);
  const raw = { kind, key, value: record.ok ? record.value : undefined };
  decoded.set(bytes, raw);
  return raw;
}

const views = new WeakMap<DiskImage, View>();

export function viewOf(image: DiskImage): View {
  const known = views.get(image);
  if (known !== undefined) return known;
  const view = makeView(image);
  views.set(image, view);
  return view;
}

function emptyView(): View {
  return {
    heads: new Map(),
    messages: new Map(),
    archive: new Map(),
    checkpoints: new Map(),
    calls: new Map(),
    inbox: new Map(),
    seen: new Map(),
    outcomes: new Map(),
    reviews: [],
    markers: new Map(),
    leaked: [],
    damaged: [],
  };
}

function listIn<T>(lists: Map<string, T[]>, name: string): T[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}

function makeView(image: DiskImage): View {
  const view = emptyView();
  const raw = [...image].map(([place, bytes]) => read(place, bytes));
  const messages: Raw[] = [];
  const garbage: string[] = [];
  for (const record of raw) {
    if (record.value === undefined) view.damaged.push(`${record.kind} ${record.key}`);
    else if (record.kind === 'message') messages.push(record);
    else if (record.kind === 'garbage') garbage.push(record.key.slice(4));
    else sortIn(view, record.kind, record.key, record.value);
  }
  for (const record of messages) sortMessage(view, garbage, record);
  for (const list of view.messages.values()) list.sort(bySeq);
  for (const list of view.archive.values()) list.sort(bySeq);
  return view;
}

/** The order of the keys, which the values do not tell. */
const seqs = new WeakMap<StoredMessage, string>();
const bySeq = (a: StoredMessage, b: StoredMessage): number => ((seqs.get(a) ?? '') < (seqs.get(b) ?? '') ? -1 : 1);

function sortMessage(view: View, garbage: readonly string[], { key, value }: Raw): void {
  const [session = '', epoch = ''] = key.split('!');
  const head = view.heads.get(session);
  const message = value as unknown as StoredMessage;
  seqs.set(message, key);
  if (head !== undefined && key >= messagesOfEpoch(session, head.epoch).gte && Number(epoch) === head.epoch) {
    listIn(view.messages, session).push(message);
  } else if (!garbage.includes(`${session}!${epoch}`) && !garbage.includes(session)) view.leaked.push(key);
}

function sortIn(view: View, kind: Kind, key: string, value: Json): void {
  const fields = value as { readonly [name: string]: Json };
  const session = key.split('!')[0] as string;
  if (kind === 'head') view.heads.set(key, fields.head as unknown as Head);
  else if (kind === 'turn') view.checkpoints.set(key, value as unknown as Checkpoint);
  else if (kind === 'call') view.calls.set((value as unknown as CallRecord).callId, value as unknown as CallRecord);
  else if (kind === 'inbox') listIn(view.inbox, session.slice(4)).push(fields.input as unknown as InboxRecord);
  else if (kind === 'seen') view.seen.set(key, fields.turnId as string);
  else if (kind === 'outcome') view.outcomes.set((value as unknown as OutcomeRecord).turnId, value as never);
  else if (kind === 'review') view.reviews.push(fields.review as unknown as ReviewRecord);
  else if (kind === 'marker') view.markers.set((value as unknown as Marker).sessionId, value as unknown as Marker);
  else if (kind === 'archive') {
    seqs.set(value as unknown as StoredMessage, key);
    listIn(view.archive, session).push(value as unknown as StoredMessage);
  }
}
