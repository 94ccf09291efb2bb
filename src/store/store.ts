/**
 * Owns the adapter: the port of the engine on one side, database and queue on the other.
 * Must not know what the database is made of: a folder and a memory differ in their backing only.
 */
import { messageOf } from '../core/errors.js';
import { checkId } from '../core/ids.js';
import type { StoredMessage } from '../core/messages.js';
import type { BackupProgress, Commit, DamagedSession, Lease, SessionRecords, TurnStore } from '../core/ports.js';
import type {
  CallRecord,
  Head,
  InboxRecord,
  Marker,
  OutcomeRecord,
  ReviewRecord,
  SeenRecord,
} from '../core/records.js';
import { backUp } from './backup.js';
import { encodeCommit } from './commit.js';
import { CommitJob } from './commit-job.js';
import { damaged } from './damage.js';
import { type Backing, closedError, Database, storeError } from './database.js';
import { SweepJob } from './epochs.js';
import { checkFormat } from './format.js';
import { sweepGarbage } from './garbage.js';
import { LateRemovalJob } from './late-removal.js';
import { Leases } from './leases.js';
import { type MigrationProgress, migrate } from './migration.js';
import { DamageToldJob, MarkerRepairJob, QuarantineJob } from './quarantine.js';
import * as reads from './reads.js';
import { RemoveJob } from './removal.js';
import * as scans from './scans.js';
import { readHead, Sessions } from './sessions.js';
import { isCorruption, type Tables } from './tables.js';
import { Tombstones } from './tombstones.js';
import { WriteQueue } from './write-queue.js';

export class LevelTurnStore implements TurnStore {
  readonly kind: string;
  readonly #database: Database;
  readonly #queue: WriteQueue;
  readonly #sessions = new Sessions();
  readonly #leases = new Leases();
  readonly #tombstones: Tombstones;
  #closing: Promise<void> | null = null;

  /** @param tell Gets how far a migration is, at the first opening of a database of an older format. */
  constructor(kind: string, backing: Backing, tell: (progress: MigrationProgress) => void = () => {}) {
    this.kind = kind;
    this.#database = new Database(backing, async (tables, first) => {
      const position = await checkFormat(tables);
      if (position !== null) await migrate(tables, position, tell);
      if (first) await sweepGarbage(tables);
    });
    this.#tombstones = new Tombstones(this.#database);
    this.#queue = new WriteQueue(this.#database, () => this.#sessions.clear());
  }

  /** Opens the database now instead of at the first call. */
  async open(): Promise<void> {
    await this.#database.ready();
  }

  async acquire(routeKey: string): Promise<Lease | undefined> {
    this.#checkOpen();
    return this.#leases.acquire(routeKey);
  }

  async release(lease: Lease): Promise<void> {
    this.#leases.release(lease);
  }

  async commit(commit: Commit): Promise<void> {
    this.#checkOpen();
    // Encoded before the first await: what the caller does to the objects afterwards changes nothing.
    const encoded = encodeCommit(commit);
    await this.#queue.submit(
      new CommitJob(encoded, {
        sessions: this.#sessions,
        leases: this.#leases,
        sweep: (sessionId, epoch) => this.#sweep(sessionId, epoch),
        removeCalls: (callIds) => this.#removeCalls(callIds),
      }),
    );
  }

  head(sessionId: string): Promise<Head | undefined> {
    return this.#readOf(sessionId, (tables) => readHead(tables, sessionId));
  }
  load(sessionId: string): Promise<SessionRecords | undefined> {
    return this.#readOf(sessionId, (tables) => reads.readSession(tables, sessionId));
  }
  messages(sessionId: string): Promise<readonly StoredMessage[]> {
    return this.#readOf(sessionId, (tables) => reads.readMessages(tables, sessionId));
  }
  archive(sessionId: string): Promise<readonly StoredMessage[]> {
    return this.#readOf(sessionId, (tables) => reads.readArchive(tables, sessionId));
  }
  inbox(sessionId: string): Promise<readonly InboxRecord[]> {
    return this.#readOf(sessionId, (tables) => reads.readInbox(tables, sessionId));
  }
  call(callId: string): Promise<CallRecord | undefined> {
    return this.#read((tables) => reads.readCall(tables, callId));
  }
  callsOf(turnId: string): Promise<readonly CallRecord[]> {
    return this.#read((tables) => reads.readCallsOf(tables, turnId));
  }
  seen(sessionId: string, messageId: string): Promise<SeenRecord | undefined> {
    return this.#read((tables) => reads.readSeen(tables, sessionId, messageId));
  }
  outcome(turnId: string): Promise<OutcomeRecord | undefined> {
    return this.#read((tables) => reads.readOutcome(tables, turnId));
  }
  waitingInput(agent: string): Promise<readonly string[]> {
    return this.#read((tables) => scans.scanWaitingInput(tables, agent));
  }
  reviews(agent: string, sessionId?: string): Promise<readonly (ReviewRecord & { readonly sessionId: string })[]> {
    return this.#read((tables) => scans.scanReviews(tables, agent, sessionId));
  }

  async markers(agent: string): Promise<readonly Marker[]> {
    const scan = await this.#read(scans.scanMarkers);
    const found = [...scan.markers];
    for (const sessionId of scan.damaged) {
      const repair = new MarkerRepairJob(sessionId);
      // What cannot be repaired now is found again by the next scan; the others must not wait for it.
      await this.#queue.submit(repair).catch(() => {});
      if (repair.marker !== null) found.push(repair.marker);
    }
    return found.filter((marker) => marker.agent === agent).sort((a, b) => b.savedAt - a.savedAt);
  }

  async *sessions(agent: string): AsyncGenerator<Head> {
    let from: string | null = '';
    while (from !== null) {
      const start: string = from;
      const page: scans.HeadPage = await this.#read((tables) => scans.scanHeads(tables, agent, start));
      yield* page.heads;
      from = page.next;
    }
  }

  async remove(sessionId: string): Promise<void> {
    this.#checkOpen();
    checkId(sessionId, 'sessionId');
    await this.#queue.submit(new RemoveJob(sessionId, this.#sessions, this.#tombstones));
    await this.#tombstones.drop();
  }

  async quarantine(sessionId: string, reason: string): Promise<void> {
    this.#checkOpen();
    await this.#queue.submit(new QuarantineJob(sessionId, reason, this.#sessions));
  }

  async damagedSessions(agent: string): Promise<readonly DamagedSession[]> {
    const found = await this.#read(scans.scanDamage);
    return found.filter((damage) => damage.agent === null || damage.agent === agent);
  }

  async damageTold(sessionId: string): Promise<void> {
    this.#checkOpen();
    await this.#queue.submit(new DamageToldJob(sessionId));
  }

  /** Not tried again on another handle, as a read would be: what was copied came from one moment of this one. */
  async backup(folder: string, tell: (progress: BackupProgress) => void): Promise<BackupProgress> {
    this.#checkOpen();
    const tables = await this.#database.ready();
    try {
      return await backUp(tables, folder, tell);
    } catch (error) {
      if (this.#closing !== null) throw closedError();
      throw storeError(error);
    }
  }

  /** Waits for commits that were accepted before. */
  close(): Promise<void> {
    this.#closing ??= this.#queue.drained().then(() => this.#database.close());
    return this.#closing;
  }

  async #read<T>(read: (tables: Tables) => Promise<T>): Promise<T> {
    this.#checkOpen();
    return this.#database.read(read);
  }

  /** Damage that LevelDB itself finds does not know its session. */
  #readOf<T>(sessionId: string, read: (tables: Tables) => Promise<T>): Promise<T> {
    return this.#read(async (tables) => {
      try {
        return await read(tables);
      } catch (error) {
        if (!isCorruption(error)) throw error;
        throw damaged(sessionId, 'a record', `cannot be read by LevelDB (${messageOf(error)})`);
      }
    });
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw closedError();
  }

  #sweep(sessionId: string, epoch: number): void {
    // A sweep that fails is made up for by the next opening.
    const job = new SweepJob(sessionId, epoch, this.#sessions, () => this.#closing !== null);
    this.#queue.submit(job).catch(() => {});
  }

  #removeCalls(callIds: readonly string[]): void {
    // The commit is durable whatever becomes of this, and a close waits for it: nothing makes up for it later.
    this.#queue.submit(new LateRemovalJob(callIds)).catch(() => {});
  }
}
