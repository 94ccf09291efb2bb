/**
 * Owns what a start-up asks of all sessions at once: markers, waiting input, reviews.
 * Must not know single sessions' records. No byte may stop these (I12): what cannot be read is made up for from the
 * heads where they know it, and left out where they do not.
 */
import type { DamagedSession } from '../core/ports.js';
import type { Head, Marker, ReviewRecord } from '../core/records.js';
import * as keys from './keys.js';
import { decodeRecord } from './records.js';
import { pageInOrder, readable } from './salvage.js';
import { readHead } from './sessions.js';
import type { Tables } from './tables.js';

export interface MarkerScan {
  readonly markers: readonly Marker[];
  /** Sessions whose marker cannot be read or is gone. */
  readonly damaged: readonly string[];
}

export async function scanMarkers(tables: Tables): Promise<MarkerScan> {
  const markers = new Map<string, Marker>();
  const damaged = new Set<string>();
  let complete = true;
  const missing = () => {
    complete = false;
  };
  for await (const [key, bytes] of readable(tables, 'marker', {}, missing)) {
    const record = decodeRecord('marker', key, bytes);
    const sessionId = keys.sessionOfMarker(key);
    // Where even the key is damaged, one of the sessions has lost its marker and nobody can say which.
    if (sessionId === undefined) missing();
    else if (record.ok) markers.set(sessionId, record.value as unknown as Marker);
    else damaged.add(sessionId);
  }
  if (!complete) {
    for await (const head of heads(tables)) {
      if (head.inProgress || head.outcomesDue.length > 0) damaged.add(head.sessionId);
    }
  }
  return { markers: [...markers.values()], damaged: [...damaged].filter((sessionId) => !markers.has(sessionId)) };
}

/** Sessions of the agent with waiting input. A record that cannot be read counts for the agent of its head. */
export async function scanWaitingInput(tables: Tables, agent: string): Promise<readonly string[]> {
  const found = new Set<string>();
  let complete = true;
  const missing = () => {
    complete = false;
  };
  for await (const [key, bytes] of readable(tables, 'inbox', {}, missing)) {
    const sessionId = keys.sessionOfInbox(key);
    if (sessionId === undefined) missing();
    if (sessionId === undefined || found.has(sessionId)) continue;
    const record = decodeRecord('inbox', key, bytes);
    const owner = record.ok ? (record.value as { readonly agent: string }).agent : await agentOf(tables, sessionId);
    if (owner === agent) found.add(sessionId);
  }
  if (!complete) {
    for await (const head of heads(tables)) {
      if (head.agent === agent && head.waitingInput > 0) found.add(head.sessionId);
    }
  }
  return [...found];
}

export async function scanReviews(
  tables: Tables,
  agent: string,
  sessionId?: string,
): Promise<readonly (ReviewRecord & { readonly sessionId: string })[]> {
  const found: (ReviewRecord & { readonly sessionId: string })[] = [];
  const range = sessionId === undefined ? {} : keys.reviewsOfSession(sessionId);
  for await (const [key, bytes] of readable(tables, 'review', range)) {
    const record = decodeRecord('review', key, bytes);
    if (!record.ok) continue;
    const value = record.value as unknown as { agent: string; sessionId: string; review: ReviewRecord };
    if (value.agent === agent) found.push({ ...value.review, sessionId: value.sessionId });
  }
  return found;
}

/** What a repair found and nobody was told of yet; usually nothing. */
export async function scanDamage(tables: Tables): Promise<readonly DamagedSession[]> {
  const found: DamagedSession[] = [];
  for await (const [key, bytes] of readable(tables, 'meta', keys.damageNotes())) {
    const record = decodeRecord('meta', key, bytes);
    if (record.ok) found.push(record.value as unknown as DamagedSession);
  }
  return found;
}

/** Some heads of an agent, and where to go on; null at the end. */
export interface HeadPage {
  readonly heads: readonly Head[];
  readonly next: string | null;
}

/** Heads looked at for one page. */
const PAGE = 250;

/** The heads of an agent among the next few from a key on, in the order of keys. */
export async function scanHeads(tables: Tables, agent: string, from: string): Promise<HeadPage> {
  const page = await pageInOrder(tables, 'head', from, PAGE);
  const heads = page.entries.flatMap(([key, bytes]) => {
    const record = decodeRecord('head', key, bytes);
    return record.ok ? [(record.value as unknown as { readonly head: Head }).head] : [];
  });
  return { heads: heads.filter((head) => head.agent === agent), next: page.next };
}

/** All heads that can be read. Costs every session: only where damage leaves no other way. */
async function* heads(tables: Tables): AsyncGenerator<Head> {
  for await (const [key, bytes] of readable(tables, 'head')) {
    const record = decodeRecord('head', key, bytes);
    if (record.ok) yield (record.value as unknown as { readonly head: Head }).head;
  }
}

function agentOf(tables: Tables, sessionId: string): Promise<string | undefined> {
  return readHead(tables, sessionId).then(
    (head) => head?.agent,
    () => undefined,
  );
}
