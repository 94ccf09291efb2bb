// A program that damages copies of a data folder, one fault after another, and prints for each what a service makes of
// it. In a process of its own, because LevelDB can abort the process that meets a damaged table.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import type { Head, SessionRecords, TurnStore } from '../../../src/index.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { build, type Contents, contentsOf } from './build.js';
import { type Case, damage } from './faults.js';
import { AGENT, Receiver, serve, sessions } from './service.js';

export interface Result {
  readonly outcome: 'started' | 'refused';
  readonly repaired: boolean;
  /** Sessions that were told to be damaged, or whose turn was abandoned for it. */
  readonly told: number;
  /** Sessions in an older state, each with its head. */
  readonly older: number;
  /** Sessions of which nothing is left. */
  readonly gone: number;
  /** What must not be. */
  readonly wrong: readonly string[];
}

const [mode, root = ''] = process.argv.slice(2);
const original = join(root, 'original');

/** @param fresh False: the process died of this folder before, and it is as it was left. */
async function run(folder: string, fresh: boolean, one: Case, expected: Contents, sent: readonly string[]) {
  if (fresh) {
    rmSync(folder, { recursive: true, force: true });
    cpSync(original, folder, { recursive: true });
    damage(join(folder, one.file), one.fault);
  }
  const path = join(folder, one.file);
  const bytes = existsSync(path) && statSync(path).isFile() ? readFileSync(path) : null;
  const warnings: string[] = [];
  const listen = ({ message }: Error) => void warnings.push(message);
  process.on('warning', listen);
  const look = new Look(folder, expected, sent, warnings);
  try {
    await look.start();
    if (look.repaired && bytes !== null) look.expectKept(one.file, bytes);
    return look.result();
  } finally {
    process.off('warning', listen);
    rmSync(folder, { recursive: true, force: true });
  }
}

class Look {
  readonly #folder: string;
  readonly #expected: Contents;
  readonly #receiver = new Receiver();
  readonly #warnings: readonly string[];
  readonly #wrong: string[] = [];
  #refused = false;
  #told = new Set<string>();
  #older: string[] = [];
  #gone: string[] = [];
  #damaged: string[] = [];
  /** Their newest state may be lost, for all that the repair can tell. */
  #withoutCheckpoint: string[] = [];

  constructor(folder: string, expected: Contents, sent: readonly string[], warnings: readonly string[]) {
    this.#folder = folder;
    this.#expected = expected;
    this.#warnings = warnings;
    for (const key of sent) this.#receiver.sent.add(key);
  }

  get repaired(): boolean {
    return this.#warnings.some((message) => message.includes('has been repaired'));
  }

  async start(): Promise<void> {
    const store = await this.#open();
    if (store === undefined) return;
    const same = await this.#readAll(store);
    const { engine, events } = serve(store, this.#receiver, () => false);
    const report = await engine.recover();
    for (const event of events) {
      if (event.type === 'sessionDamaged' || event.type === 'interrupted_turn_abandoned')
        this.#told.add(event.sessionId);
    }
    for (const { outcome } of report.resumed) await outcome.catch(() => undefined);
    await this.#expectUse(engine, same);
    await this.#expectMarkers(store);
    this.#expectTold();
    for (const key of this.#receiver.doubled) this.#wrong.push(`sent twice: ${key}`);
    await engine.close();
    await store.close();
    await this.#again();
  }

  async #open(): Promise<TurnStore | undefined> {
    try {
      return await openLevelStore({ path: this.#folder });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      this.#refused = true;
      const clear = message.includes(this.#folder) && /restore a backup|npx durable-turn repair/.test(message);
      if (!clear || !/^TURN_(DAMAGED|STORE_FAILED)$/.test(code ?? ''))
        this.#wrong.push(`refused with ${code}: ${message}`);
      return undefined;
    }
  }

  /** @returns The sessions that are as they were. */
  async #readAll(store: TurnStore): Promise<ReadonlySet<string>> {
    const same = new Set<string>();
    for (const { sessionId } of sessions) {
      const expected = this.#expected[sessionId] as SessionRecords;
      try {
        const found = await store.load(sessionId);
        if (found === undefined) this.#gone.push(sessionId);
        else if (isDeepStrictEqual(JSON.parse(JSON.stringify(found)), expected)) same.add(sessionId);
        else this.#compare(sessionId, found, expected);
      } catch (error) {
        if ((error as { code?: string }).code === 'TURN_DAMAGED') this.#damaged.push(sessionId);
        else this.#wrong.push(`${sessionId}: ${error}`);
      }
    }
    return same;
  }

  /** Not what it was: then it has to be an older state that was committed once, or one that a repair took apart. */
  #compare(sessionId: string, found: SessionRecords, expected: SessionRecords): void {
    const known = (list: readonly unknown[], of: readonly unknown[]) =>
      list.every((one) => of.some((other) => isDeepStrictEqual(JSON.parse(JSON.stringify(one)), other)));
    if (
      !isDeepStrictEqual(JSON.parse(JSON.stringify(found.messages)), expected.messages.slice(0, found.messages.length))
    ) {
      this.#wrong.push(`${sessionId}: messages that were never committed`);
    }
    if (!known(found.inbox, expected.inbox)) this.#wrong.push(`${sessionId}: input that was never accepted`);
    const ids = expected.calls.map(({ callId, idempotencyKey }) => `${callId} ${idempotencyKey}`);
    if (!found.calls.every(({ callId, idempotencyKey }) => ids.includes(`${callId} ${idempotencyKey}`))) {
      this.#wrong.push(`${sessionId}: calls that were never committed`);
    }
    if (found.head.revision < expected.head.revision) this.#older.push(sessionId);
    else if (found.checkpoint === null) this.#withoutCheckpoint.push(sessionId);
    else this.#wrong.push(`${sessionId}: the newest head with other records`);
  }

  /** An untouched session works, whatever else is damaged. */
  async #expectUse(engine: ReturnType<typeof serve>['engine'], same: ReadonlySet<string>): Promise<void> {
    const idle = sessions.filter(({ sessionId, hang }) => hang === null && same.has(sessionId)).slice(-1);
    for (const { sessionId } of idle) {
      const sent = await engine.sendMessage({
        sessionId,
        messageId: 'new',
        input: `${sessionId} again`,
        attended: false,
      });
      const { status } = await sent.turn.outcome;
      if (status !== 'completed') this.#wrong.push(`${sessionId}: a new turn ended as ${status}`);
    }
  }

  /** I2 */
  async #expectMarkers(store: TurnStore): Promise<void> {
    const marked = new Set((await store.markers(AGENT)).map(({ sessionId }) => sessionId));
    const heads: Head[] = [];
    for await (const head of store.sessions(AGENT)) heads.push(head);
    for (const { sessionId, inProgress, outcomesDue } of heads) {
      const due = inProgress || outcomesDue.length > 0;
      if (due !== marked.delete(sessionId)) this.#wrong.push(`${sessionId}: its marker does not agree with its head`);
    }
    for (const sessionId of marked) this.#wrong.push(`${sessionId}: a marker without a head`);
  }

  #expectTold(): void {
    for (const sessionId of [...this.#damaged, ...this.#withoutCheckpoint])
      if (!this.#told.has(sessionId)) this.#wrong.push(`${sessionId}: damaged, and nobody was told`);
    // Of what is lost without a trace, nobody can tell whose it was; but it has to be said.
    const lost = this.#warnings.some((message) => message.includes('may be lost.'));
    if (this.#older.length + this.#gone.length > 0 && !lost) {
      this.#wrong.push(`${this.#older.length} sessions went back and ${this.#gone.length} are gone without a word`);
    }
    for (const { sessionId, hang } of sessions) {
      if (hang !== null && this.#older.includes(sessionId) && !this.#told.has(sessionId)) {
        this.#wrong.push(`${sessionId}: resumed from an older state`);
      }
    }
  }

  /** The next start finds nothing to repair. */
  async #again(): Promise<void> {
    const before = readdirSync(this.#folder).filter((name) => name.startsWith('damaged-')).length;
    const store = await this.#open();
    if (store === undefined) return void this.#wrong.push('the second start was refused');
    await this.#expectMarkers(store);
    await store.close();
    const after = readdirSync(this.#folder).filter((name) => name.startsWith('damaged-')).length;
    if (after !== before) this.#wrong.push('the second start repaired again');
  }

  expectKept(file: string, bytes: Buffer): void {
    const kept = join(this.#folder, 'damaged-1', file);
    const there = existsSync(kept) ? kept : join(this.#folder, file);
    // LOCK stays where it is; what LevelDB reports to LOG goes on.
    if (!/^LO(CK|G)/.test(file) && !readFileSync(there).equals(bytes))
      this.#wrong.push('the damaged bytes are not kept');
  }

  result(): Result {
    return {
      outcome: this.#refused ? 'refused' : 'started',
      repaired: this.repaired,
      told: this.#told.size,
      older: this.#older.length,
      gone: this.#gone.length,
      wrong: this.#wrong,
    };
  }
}

if (mode === 'build') {
  await build(original, (sent) => writeFileSync(join(root, 'sent.json'), JSON.stringify(sent)));
} else if (mode === 'contents') {
  cpSync(original, join(root, 'look'), { recursive: true });
  const store = await openLevelStore({ path: join(root, 'look') });
  writeFileSync(join(root, 'contents.json'), JSON.stringify(await contentsOf(store)));
  await store.close();
} else {
  const expected = JSON.parse(readFileSync(join(root, 'contents.json'), 'utf8')) as Contents;
  const sent = JSON.parse(readFileSync(join(root, 'sent.json'), 'utf8')) as readonly string[];
  for await (const line of createInterface(process.stdin)) {
    const { folder, fresh, ...one } = JSON.parse(line) as Case & { folder: string; fresh: boolean };
    process.stdout.write(`${JSON.stringify(await run(folder, fresh, one, expected, sent))}\n`);
  }
}
