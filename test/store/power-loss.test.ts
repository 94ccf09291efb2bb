// Power loss, simulated. A real run is recorded: what was durable when each commit was acknowledged, and the bytes that
// were written from there on. A disk without power may keep any of those later bytes and must keep the earlier ones; so
// images are made that are cut everywhere, and opened.
//
// What is known of LevelDB's writes: the log and the manifest only grow, and are synced before a commit or a change of
// files counts; a table is synced before a manifest names it; CURRENT is renamed into place; what is obsolete is deleted
// without a sync, so it may come back. The run file is never synced: it may be missing, empty, zeros or older. It gets its
// length before its first byte and lies in one sector, so it is never cut, nor mixed of two states.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Commit, TurnStore } from '../../src/core/ports.js';
import { checkRecords, type Disagreement } from '../../src/store/check.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { RUN_FILE } from '../../src/store/run-file.js';
import { Tables } from '../../src/store/tables.js';
import { viewFolder } from '../../src/store/view.js';
import { appended, checkpointOf, commitAfter, compacted, inputOf, rewritten } from './fixtures.js';

type Files = ReadonlyMap<string, Buffer>;

let scratch = '';
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-power-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** LOCK is left out: to read it would give the lock of this process away. */
function filesOf(path: string): Files {
  const names = readdirSync(path).filter((name) => name !== 'LOCK' && statSync(join(path, name)).isFile());
  return new Map(names.map((name) => [name, readFileSync(join(path, name))]));
}

const newest = (files: Files, kind: RegExp): string =>
  [...files.keys()]
    .filter((name) => kind.test(name))
    .sort()
    .at(-1) as string;
const LOG = /^\d+\.log$/;
const TABLE = /^\d+\.ldb$/;
const MANIFEST = /^MANIFEST-/;

/** Bytes that are the same in every run. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed + 1;
  for (let at = 0; at < length; at += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    bytes[at] = state >>> 16;
  }
  return bytes;
}

/** What is stored, as the port tells it. */
async function told(store: TurnStore): Promise<string> {
  const sessions: unknown[] = [];
  for await (const { sessionId } of store.sessions('agent')) {
    sessions.push(await store.load(sessionId), await store.archive(sessionId));
  }
  const markers = (await store.markers('agent')).map(({ sessionId, turnId }) => `${sessionId} ${turnId}`).sort();
  return JSON.stringify({ sessions, markers, waiting: await store.waitingInput('agent') });
}

/** Commits of every kind, of three sessions: small and large ones, staged rewrites, input, an end. */
function life(): readonly Commit[] {
  const commits: Commit[] = [];
  const heads = new Map<string, Commit['head']>();
  const add = (id: string, commit: Commit): void => {
    commits.push({ ...commit, checkpoint: checkpointOf(commit.head) });
    heads.set(id, commit.head);
  };
  const texts = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  const large = noise(12_000, 1).toString('base64');
  for (const id of ['a', 'b', 'c']) add(id, appended(undefined, id, texts(id, 3)));
  add('a', appended(heads.get('a'), 'a', [large]));
  add('b', rewritten(heads.get('b'), 'b', texts('staged', 620)));
  const input = commitAfter(heads.get('c'), 'c', { waitingInput: 1 });
  add('c', { ...input, inbox: { put: [inputOf('c', 0)], remove: [] } });
  add('a', compacted(heads.get('a'), 'a', texts('short', 2), texts('a', 3)));
  add('b', appended(heads.get('b'), 'b', [large, 'behind']));
  add('c', commitAfter(heads.get('c'), 'c', { inProgress: false }));
  add('b', appended(heads.get('b'), 'b', ['last']));
  return commits;
}

interface Acknowledged {
  /** Bytes of the log that were durable then. */
  readonly log: number;
  readonly told: string;
}

interface Recording {
  readonly files: Files;
  readonly log: string;
  /** Before the first commit, then behind each. */
  readonly acknowledged: readonly Acknowledged[];
  /** The ends of all batches: between two of them a staged rewrite is half written. */
  readonly batches: readonly number[];
  /** The run file before the first commit. */
  readonly older: Buffer;
  /** What the next process writes when it opens the folder, before it commits anything. */
  readonly reopened: Files;
}

async function record(commits: readonly Commit[]): Promise<Recording> {
  const path = join(scratch, 'recorded');
  const batches: number[] = [];
  const sizeOfLog = () => statSync(join(path, newest(filesOf(path), LOG))).size;
  const write = Tables.prototype.write;
  const store = await openLevelStore({ path });
  const spy = vi.spyOn(Tables.prototype, 'write').mockImplementation(async function (this: Tables, ops) {
    await write.call(this, ops);
    batches.push(sizeOfLog());
  });
  const acknowledged = [{ log: sizeOfLog(), told: await told(store) }];
  const older = readFileSync(join(path, RUN_FILE));
  for (const commit of commits) {
    await store.commit(commit);
    const log = sizeOfLog();
    acknowledged.push({ log, told: await told(store) });
  }
  spy.mockRestore();
  const files = filesOf(path);
  await store.close();
  await (await openLevelStore({ path })).close();
  return { files, log: newest(files, LOG), acknowledged, batches, older, reopened: filesOf(path) };
}

let images = 0;
let kept = 0;

/** Opens what is left on the disk: what it tells has to be one of these, and its records have to agree. */
async function expectToTell(files: Files, allowed: readonly string[], label: string): Promise<void> {
  images += 1;
  const path = join(scratch, `image-${images}`);
  mkdirSync(path);
  for (const [name, bytes] of files) writeFileSync(join(path, name), bytes);
  const store = await openLevelStore({ path });
  expect(allowed.includes(await told(store)), label).toBe(true);
  await store.close();
  // What is told has the markers in it; every few images, each record is looked at as well.
  if (images % 8 === 0) expect(await disagreementsIn(path), label).toEqual([]);
  rmSync(path, { recursive: true, force: true });
  kept += 1;
}

async function disagreementsIn(path: string): Promise<readonly Disagreement[]> {
  const view = await viewFolder(path);
  const found: Disagreement[] = [];
  for await (const one of checkRecords(view.tables)) found.push(one);
  await view.close();
  return found;
}

const changed = (files: Files, changes: Record<string, Buffer | null>): Files => {
  const result = new Map(files);
  for (const [name, bytes] of Object.entries(changes)) {
    if (bytes === null) result.delete(name);
    else result.set(name, bytes);
  }
  return result;
};

describe('a power loss', () => {
  let run: Recording;
  let warnings: string[] = [];
  const listen = (warning: Error) => warnings.push(warning.message);
  beforeAll(async () => {
    run = await record(life());
    process.on('warning', listen);
  });
  afterAll(() => {
    process.off('warning', listen);
    console.log(`power loss: ${images} images opened, ${kept} kept all that was acknowledged`);
  });
  afterEach(() => {
    // What a power loss leaves is no damage: nobody is told of any.
    expect(warnings).toEqual([]);
    warnings = [];
  });

  /** What may be told of a log that is whole up to here. */
  const allowedAt = (length: number): readonly string[] => {
    const done = run.acknowledged.filter(({ log }) => log <= length).length - 1;
    // Behind an acknowledged commit the next one may be there already, whole.
    return run.acknowledged.slice(done, done + 2).map((state) => state.told);
  };
  const whole = () => run.files.get(run.log) as Buffer;

  it('keeps what was acknowledged, wherever the log is cut behind it', async () => {
    for (const [nth, end] of run.batches.entries()) {
      const begin = run.batches[nth - 1] ?? run.acknowledged[0]?.log ?? 0;
      const inside = [1, 8, Math.floor((end - begin) / 2), end - begin - 1].map((more) => begin + more);
      for (const cut of new Set([begin, ...inside.filter((at) => at > begin && at < end), end])) {
        const files = changed(run.files, { [run.log]: whole().subarray(0, cut), [RUN_FILE]: null });
        await expectToTell(files, allowedAt(cut), `cut at ${cut}, batch ${nth} from ${begin} to ${end}`);
      }
    }
  });

  it('keeps it where the file has grown and its last pages never came: zeros, and pages out of order', async () => {
    const PAGE = 4096;
    for (const [nth, end] of run.batches.entries()) {
      const begin = run.batches[nth - 1] ?? run.acknowledged[0]?.log ?? 0;
      const zeros = Buffer.concat([whole().subarray(0, begin), Buffer.alloc(end - begin)]);
      const label = `batch ${nth} from ${begin} to ${end}`;
      await expectToTell(
        changed(run.files, { [run.log]: zeros, [RUN_FILE]: null }),
        allowedAt(begin),
        `${label}: zeros`,
      );
      if (end - begin < 2 * PAGE) continue;
      // The last page came, the ones before it did not.
      const last = Buffer.concat([zeros.subarray(0, end - PAGE), whole().subarray(end - PAGE, end)]);
      await expectToTell(
        changed(run.files, { [run.log]: last, [RUN_FILE]: null }),
        allowedAt(begin),
        `${label}: pages`,
      );
    }
  });

  it('keeps it whatever became of the run file, which is never synced', async () => {
    const current = run.files.get(RUN_FILE) as Buffer;
    const forms = [null, Buffer.alloc(0), Buffer.alloc(current.length), run.older, current];
    for (const form of forms) {
      const label = form?.toString('hex') ?? 'none';
      await expectToTell(changed(run.files, { [RUN_FILE]: form }), allowedAt(whole().length), label);
    }
  });

  it('keeps it wherever an opening is cut, which makes a table, a manifest and a log of the old log', async () => {
    const last = [run.acknowledged.at(-1)?.told as string];
    const [before, after] = [run.files, run.reopened];
    const table = newest(after, TABLE);
    const manifest = newest(after, MANIFEST);
    const log = newest(after, LOG);
    const [tableBytes, manifestBytes] = [after.get(table) as Buffer, after.get(manifest) as Buffer];
    const cuts = (bytes: Buffer) => [0, 1, 7, Math.floor(bytes.length / 2), bytes.length - 1];
    const currentOf = (name: string) => Buffer.from(`${name}\n`);
    const images: [string, Files][] = [];
    // The table grows; nothing names it.
    for (const cut of cuts(tableBytes))
      images.push([`table ${cut}`, changed(before, { [table]: tableBytes.subarray(0, cut) })]);
    const withTable = changed(before, { [table]: tableBytes, [log]: Buffer.alloc(0) });
    // The manifest grows; CURRENT names the old one.
    for (const cut of cuts(manifestBytes)) {
      images.push([`manifest ${cut}`, changed(withTable, { [manifest]: manifestBytes.subarray(0, cut) })]);
    }
    const withManifest = changed(withTable, { [manifest]: manifestBytes });
    images.push(['the new manifest is whole', withManifest]);
    images.push(['CURRENT is drafted', changed(withManifest, { '000099.dbtmp': currentOf(manifest).subarray(0, 5) })]);
    // CURRENT is switched; what is obsolete goes, and may come back.
    const switched = changed(withManifest, { CURRENT: currentOf(manifest) });
    const obsolete = [...before.keys()].filter((name) => (LOG.test(name) || MANIFEST.test(name)) && !after.has(name));
    expect(obsolete).toHaveLength(2);
    images.push(['switched, nothing deleted', switched]);
    for (const name of obsolete) images.push([`switched, ${name} deleted`, changed(switched, { [name]: null })]);
    images.push(['all deleted', changed(switched, Object.fromEntries(obsolete.map((name) => [name, null])))]);
    images.push(['reopened', after]);
    for (const [label, files] of images) await expectToTell(changed(files, { [RUN_FILE]: null }), last, label);
  });
});
