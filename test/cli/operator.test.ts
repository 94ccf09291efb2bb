// The commands of the operator as a person runs them: the built command line, on folders with sessions of every kind.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Level } from 'level';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { VERBS } from '../../src/cli/operator/command.js';
import { createTurnEngine, type TurnOutcome } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { AGENT, contentsOf } from '../store/fixtures/contents.js';
import { copyOfFixture, expectedOf, printOf } from '../store/fixtures/folders.js';
import { type Ran, ranHere, toldHere } from './operate.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const main = join(root, 'dist', 'bundle', 'main.js');
const expected = expectedOf();
const ids = Object.keys(expected.sessions);

let scratch = '';
/** Where the command keeps what it needs while it runs. */
let temporary = '';
let folder = '';

function makeScratch(): void {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-operator-'));
  temporary = join(scratch, 'tmp');
  folder = join(scratch, 'turns');
  mkdirSync(temporary);
  copyOfFixture(folder);
}
const removeScratch = () => rmSync(scratch, { recursive: true, force: true });

function run(...args: readonly string[]): Promise<Ran> {
  const env = { ...process.env, TMPDIR: temporary };
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, errors })));
}

/** With the folder for temporary files that `run` has. */
async function inScratch<T>(work: () => Promise<T>): Promise<T> {
  vi.stubEnv('TMPDIR', temporary);
  try {
    return await work();
  } finally {
    vi.unstubAllEnvs();
  }
}
const here = (...args: readonly string[]): Promise<Ran> => inScratch(() => ranHere(...args));
const told = (...args: readonly string[]): Promise<any[]> => inScratch(() => toldHere(...args));

const engineOn = (store: Awaited<ReturnType<typeof openLevelStore>>, onOutcome?: (outcome: TurnOutcome) => void) =>
  createTurnEngine({
    agent: AGENT,
    store,
    model: scriptedModel(() => ({ hang: true })),
    ...(onOutcome === undefined ? {} : { onOutcome }),
  });

describe('commands that only look', () => {
  let before: unknown;
  beforeAll(() => {
    makeScratch();
    before = printOf(folder);
  });
  // Checked behind all of them: none has written a byte, made a file or left anything elsewhere.
  afterAll(() => {
    expect(printOf(folder)).toEqual(before);
    expect(readdirSync(temporary)).toEqual([]);
    removeScratch();
  });

  it('list: every session with where it is', async () => {
    const listed = await told('list', folder);
    expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual([...ids].sort());
    const of = (id: string) => listed.find(({ sessionId }) => sessionId === id);
    expect(of('completed')).toMatchObject({ state: 'completed', messages: 8, agent: AGENT });
    expect(of('long')).toMatchObject({ messages: 13, archived: 12 });
    expect(of('queued')).toMatchObject({ state: 'input waits', waitingInput: 1 });
    expect(of('undelivered')).toMatchObject({ state: 'completed, outcome due' });
    const { out } = await run('list', folder, '--agent', AGENT);
    expect(out.trim().split('\n')).toHaveLength(ids.length);
    expect(out).toMatch(/^review +\S+ +2 messages +waits for a person: awaitingReview +fixture$/m);
    // The longest state makes its column no wider than the others are.
    expect(out).toMatch(/ waits for a person: awaitingApproval /);
    expect(
      new Set(
        out
          .trim()
          .split('\n')
          .map((line) => line.lastIndexOf(AGENT)),
      ).size,
    ).toBe(1);
  });

  it('show: transcript, journal of all turns and timeline of a session', async () => {
    const [sheet] = await told('show', folder, 'completed');
    expect(sheet.messages).toEqual(expected.sessions.completed?.messages);
    expect(sheet.head).toEqual(expected.sessions.completed?.head);
    expect(sheet.calls).toMatchObject([{ toolName: 'send', state: 'succeeded', notes: [{ outbox: 7 }] }]);
    expect(sheet.outcomes).toHaveLength(3);
    expect(sheet.damaged).toEqual([]);
    const moments = sheet.timeline.map(({ at }: { at: number }) => at);
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    const { out, code } = await run('show', folder, 'completed');
    expect(code).toBe(0);
    for (const line of ['Transcript (8 messages)', 'Journal (1 call)', 'Timeline', 'calls send {"to":"ann"}']) {
      expect(out).toContain(line);
    }
    expect(out).toMatch(/ {2}send completed\.p1id\d+\.00001\.0000 succeeded$/m);
  });

  it('show: cuts a long text for a person and says so', async () => {
    const { out } = await run('show', folder, 'large');
    expect(out).toContain('--json has them all');
    expect(out.length).toBeLessThan(20_000);
    const [{ calls }] = await told('show', folder, 'large');
    expect(calls[0].output.value).toHaveLength(920_000);
  });

  it('interrupted: the turns that a start-up will find, parked ones included', async () => {
    const found = await told('interrupted', folder);
    const inProgress = ids.filter((id) => expected.sessions[id]?.head.inProgress);
    expect(found.map(({ sessionId }) => sessionId).sort()).toEqual(inProgress.sort());
    const text = (await run('interrupted', folder)).out;
    expect(text).toMatch(/^in%20doubt\.p2id\d+ +in progress: executingTools/m);
    expect(text).toMatch(/^approval\.p1id\d+ +waits for a person: awaitingApproval/m);
    // The longest state makes its column no wider than the others are.
    const states = text.match(/(in progress|waits for a person): .*?(?=\d{4}-\d\d-\d\dT)/g) ?? [];
    expect([states.length, new Set(states.map((state) => state.length)).size]).toEqual([inProgress.length, 1]);
  });

  it('reviews: what a person has to settle, with key and input', async () => {
    const found = await told('reviews', folder);
    const byId = (a: any, b: any) => (a.callId < b.callId ? -1 : 1);
    expect(found.map(({ agent, ...review }) => review).sort(byId)).toEqual([...expected.reviews].sort(byId));
    expect((await run('reviews', folder)).out).toContain('input  {"to":"dan"}');
  });

  it('stats: how many records of which size, and whose', async () => {
    const [stats] = await told('stats', folder, '--top', '2');
    expect(stats.sessions).toBe(ids.length);
    expect(stats.kinds.head.records).toBe(ids.length);
    expect(stats.kinds.marker.records).toBe(expected.markers.length);
    expect(stats.largest.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(['large', 'long']);
    expect(stats.largest[0].bytes).toBeGreaterThan(920_000);
    expect(stats.parts).toEqual({ parts: 0, bytes: 0 });
    expect((await run('stats', folder)).out).toMatch(/^head +17 records/m);
  });

  it('export: the same lines as the engine writes, of one session or of all', async () => {
    cpSync(folder, join(scratch, 'copy'), { recursive: true });
    const store = await openLevelStore({ path: join(scratch, 'copy') });
    const engine = engineOn(store);
    const lines: string[] = [];
    for await (const line of engine.exportSession('long')) lines.push(line);
    await engine.close();
    await store.close();
    expect((await run('export', folder, 'long')).out).toBe(lines.join(''));
    const all = (await here('export', folder)).out;
    expect(all).toContain(lines.join(''));
    expect(all.match(/^\{"type":"session"/gm)).toHaveLength(ids.length);
  });

  it('verify: a folder that is as it was written is sound', async () => {
    const [report] = await told('verify', folder);
    expect(report).toMatchObject({ sound: true, files: [], records: [] });
    expect(report.bytes).toBeGreaterThan(100_000);
    expect((await here('verify', folder)).out).toMatch(/turns is sound \(\d+\.\d kB verified\)\n$/);
  });

  it('say what is not there, and what they do not understand', async () => {
    writeFileSync(join(scratch, 'file'), '');
    mkdirSync(join(scratch, 'empty'));
    const refusals: readonly (readonly [string[], number, RegExp])[] = [
      [['list', join(scratch, 'nowhere')], 1, /There is no database in ".*nowhere"\.$/],
      [['list', join(scratch, 'file')], 1, /file" cannot be read/],
      [['list', join(scratch, 'empty')], 1, /There is no database in .*empty/],
      [['compact', join(scratch, 'nowhere')], 1, /There is no database in/],
      [['abandon', join(scratch, 'nowhere'), 's.t', '--reason', 'r'], 1, /There is no database in/],
      [['show', folder, 'nobody'], 1, /there is no session "nobody"/],
      [['export', folder, 'nobody'], 1, /there is no session "nobody"/],
      [['list'], 2, /<folder> is missing: durable-turn list <folder>/],
      [['show', folder], 2, /<session> is missing/],
      [['list', folder, 'more'], 2, /more is too much/],
      [['list', '.'], 1, /There is no database in "\."\.$/],
      [['list', folder, '--colour'], 2, /list: Unknown option '--colour'; list has --agent <name>, --json, --help$/],
      [['stats', folder, '--top'], 2, /'--top <value>' argument missing; stats has --top <n>, --json, --help$/],
      [
        ['abandon', folder, 's.t', '--reason', '-x'],
        2,
        /ambiguous\. .*use '--reason=-XYZ'; abandon has --reason <text>,/,
      ],
      [['stats', folder, '--top', 'some'], 2, /--top must be a whole number, not "some"$/],
      [['stats', folder, '--top', ''], 2, /--top must be a whole number, not ""$/],
    ];
    for (const [args, code, words] of refusals) {
      const ran = await here(...args);
      expect({ args, code: ran.code, out: ran.out }).toEqual({ args, code, out: '' });
      expect(ran.errors.trimEnd()).toMatch(words);
      expect(ran.errors.trimEnd().split('\n')).toHaveLength(1);
    }
    expect(existsSync(join(scratch, 'nowhere'))).toBe(false);
    const { code, errors } = await here('show', folder, 'nobody', '--json');
    expect({ code, ...JSON.parse(errors) }).toEqual({ code: 1, exitCode: 1, error: 'there is no session "nobody"' });
    const misspelt = await here('list', folder, '--json', '--colour');
    expect(JSON.parse(misspelt.errors)).toMatchObject({ exitCode: 2, error: expect.stringContaining('--colour') });
    const unknown = await run('lits', folder, '--json');
    const error = 'there is no command or option lits';
    expect({ ...unknown, errors: JSON.parse(unknown.errors) }).toEqual({
      code: 2,
      out: '',
      errors: { error, exitCode: 2 },
    });
    expect((await run('lits', folder)).errors).toMatch(`durable-turn: ${error}\n\nUsage: `);
  });

  it('explain themselves, and the command line lists them all', async () => {
    const { out } = await run('--help');
    for (const { name, summary } of VERBS) expect(out).toContain(`  ${name.padEnd(11)}  ${summary}\n`);
    const help = await here('abandon', '--help');
    expect(help.code).toBe(0);
    expect(help.out).toContain('durable-turn abandon <folder> <turn>');
    expect(help.out).toContain('Exit codes: 0');
  });
});

describe('on a folder of its own', () => {
  beforeEach(makeScratch);
  afterEach(removeScratch);

  it('say that there is nothing, to a person and on stderr; in JSON it is no line', async () => {
    const path = join(scratch, 'new');
    await (await openLevelStore({ path })).close();
    const nothing = {
      list: 'there is no session',
      export: 'there is no session',
      interrupted: 'no turn is in progress',
      reviews: 'no call waits for a person',
    };
    for (const [name, errors] of Object.entries(nothing)) {
      expect({ name, ...(await here(name, path)) }).toEqual({ name, code: 0, out: '', errors: `${errors}\n` });
      expect({ name, ...(await here(name, path, '--json')) }).toEqual({ name, code: 0, out: '', errors: '' });
    }
    expect(await here('list', folder, '--agent', 'nobody')).toEqual({
      code: 0,
      out: '',
      errors: 'there is no session of agent "nobody"\n',
    });
  });

  it('while a service has it open, every command refuses, and the service keeps it', async () => {
    const store = await openLevelStore({ path: folder });
    const [turnId] = expected.markers.map((marker) => marker.turnId);
    const more: Record<string, string[]> = { show: ['completed'], abandon: [turnId, '--reason', 'r'] };
    for (const { name } of VERBS) {
      const args = [name, folder, ...(more[name] ?? [])];
      // One that looks and one that writes from another process; the rest where it is quicker to ask.
      const elsewhere = name === 'list' || name === 'compact';
      const { code, out, errors } = await (elsewhere ? run : here)(...args);
      expect({ name, code, out }).toEqual({ name, code: 3, out: '' });
      expect(errors).toMatch(/turns" is in use: stop the service that has it open.*\n$/);
      expect(errors.trimEnd().split('\n')).toHaveLength(1);
    }
    expect(await contentsOf(store)).toEqual(expected);
    await store.close();
    expect((await here('list', folder)).code).toBe(0);
  });

  it('abandon ends one turn, keeps its input and its doubts, and leaves its outcome to the service', async () => {
    const turnId = expected.sessions['in doubt']?.head.turnId as string;
    expect((await here('abandon', folder, turnId)).errors).toMatch(/give --reason <text>/);
    expect((await here('abandon', folder, 'nonsense', '--reason', 'r')).code).toBe(2);
    const never = await here('abandon', folder, 'completed.none', '--reason', 'r');
    expect(never).toEqual({ code: 1, out: '', errors: 'durable-turn abandon: there is no turn "completed.none"\n' });
    const { code, out } = await run('abandon', folder, turnId, '--reason', 'nobody knows it any more');
    expect({ code, out }).toEqual({ code: 0, out: `${turnId} is abandoned: nobody knows it any more\n` });
    const again = await here('abandon', folder, turnId, '--reason', 'r');
    expect(again).toMatchObject({ code: 1, errors: expect.stringContaining(`turn "${turnId}" is not under way`) });

    const store = await openLevelStore({ path: folder });
    const outcomes: TurnOutcome[] = [];
    const engine = engineOn(store, (outcome) => void outcomes.push(outcome));
    expect((await engine.reviews({ sessionId: 'in doubt' })).map(({ toolName }) => toolName)).toEqual(['stuck']);
    await engine.recover();
    await expect
      .poll(() => outcomes)
      .toContainEqual(expect.objectContaining({ status: 'abandoned', reason: 'nobody knows it any more' }));
    await engine.close({ graceMs: 0 });
    await store.close();
  });

  it('abandon without an outcome leaves no marker, and starts nothing that waits behind the turn', async () => {
    const path = join(scratch, 'own');
    const first = await openLevelStore({ path });
    const engine = engineOn(first);
    const turn = await engine.startTurn({ sessionId: 's', input: 'one', attended: false });
    await engine.sendMessage({ sessionId: 's', input: 'two', attended: false });
    await engine.close({ graceMs: 0 });
    await first.close();
    expect((await here('abandon', path, turn.turnId, '--reason', 'r', '--no-outcome')).code).toBe(0);
    const store = await openLevelStore({ path });
    expect(await store.markers(AGENT)).toEqual([]);
    expect(await store.head('s')).toMatchObject({ inProgress: false, waitingInput: 1, outcomesDue: [] });
    await store.close();
  });

  it('compact gives room back and changes nothing that is stored', async () => {
    const store = await openLevelStore({ path: folder });
    const engine = engineOn(store);
    await engine.importSession('gone', [
      { role: 'user', content: Array.from({ length: 1_000 }, () => ({ type: 'text' as const, text: noise() })) },
    ]);
    await engine.deleteSession('gone');
    await engine.close();
    await store.close();
    const [{ before, after }] = await told('compact', folder);
    expect(after).toBeLessThan(before - 500_000);
    const reopened = await openLevelStore({ path: folder });
    expect(await contentsOf(reopened)).toEqual(expected);
    await reopened.close();
    // Large records are in parts since the store opened the folder; nothing is left of those of the deleted session.
    const [stats] = await told('stats', folder);
    expect(stats.parts).toMatchObject({ parts: 4, bytes: expect.any(Number) });
    expect((await here('stats', folder)).out).toMatch(/^part +4 parts +\d+\.\d kB, of the records above$/m);
    expect((await here('verify', folder)).code).toBe(0);
  });

  it('verify names a damaged file, the others refuse to guess, and repair keeps the originals', async () => {
    const table = join(folder, '000005.ldb');
    const bytes = readFileSync(table);
    bytes.writeUInt8(bytes.readUInt8(3_000) ^ 4, 3_000);
    writeFileSync(table, bytes);
    const before = printOf(folder);
    const verified = await run('verify', folder);
    expect(verified).toMatchObject({ code: 1, errors: '' });
    expect(verified.out).toMatch(/^000005\.ldb: .+\n.*turns is damaged: 1 finding; durable-turn repair/);
    for (const args of [
      ['list', folder],
      ['stats', folder],
      ['show', folder, 'completed'],
      // To open it would repair it, which nobody has asked for.
      ['compact', folder],
      ['abandon', folder, expected.markers[0].turnId, '--reason', 'r'],
    ]) {
      const refused = await here(...args);
      expect({ args, code: refused.code }).toEqual({ args, code: 1 });
      expect(refused.errors).toMatch(/000005\.ldb .*npx durable-turn repair/);
    }
    expect(printOf(folder)).toEqual(before);

    const { code, out } = await here('repair', folder, '--json');
    // Repaired, and something is lost: neither all is well nor did it fail.
    expect(code).toBe(4);
    const repaired = JSON.parse(out);
    expect(repaired.findings.map(({ file }: { file: string }) => file)).toEqual(['000005.ldb']);
    expect(readFileSync(join(repaired.originals, '000005.ldb'))).toEqual(bytes);
    expect((await here('stats', folder)).out).toMatch(/^of that \d+\.\d kB of damaged files that repairs have kept$/m);
    expect(await here('repair', folder)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/is not damaged; nothing was done/),
    });
    // The files are whole now; of the session that had a record in the damaged block something is missing.
    const { records, files } = JSON.parse((await here('verify', folder, '--json')).out);
    const damaged = repaired.sessions.map(({ sessionId }: { sessionId: string }) => sessionId);
    expect(files).toEqual([]);
    expect(records.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(damaged);
    const [sheet] = await told('show', folder, 'in doubt');
    expect(sheet.messages).toEqual(expected.sessions['in doubt']?.messages);
  });

  it('repair that loses nothing says so, and all is well', async () => {
    writeFileSync(join(folder, 'CURRENT'), 'junk');
    const { code, out } = await here('repair', folder);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^Nothing is lost\.$/m) });
    expect(out).toMatch(/The damaged files are in ".*damaged-\d+"\.$/m);
  });

  it('show lists what is damaged beside what is not, and fails', async () => {
    const level = new Level<string, Buffer>(folder, { valueEncoding: 'buffer' });
    await level.sublevel<string, Buffer>('turn', { valueEncoding: 'buffer' }).put('interrupted', Buffer.from('junk'));
    await level.sublevel<string, Buffer>('head', { valueEncoding: 'buffer' }).put('failed', Buffer.from('junk'));
    await level.close();
    const { code: verdict, out: found } = await here('verify', folder);
    expect(verdict).toBe(1);
    expect(found).toContain('session interrupted: the turn record interrupted has too short');
    expect(found).toMatch(/turns are whole, and 2 records or sessions in it damaged: the service goes on/);
    const shown = await run('show', folder, 'interrupted');
    expect(shown.code).toBe(1);
    expect(shown.out).toMatch(/^DAMAGED +turn interrupted: too short$/m);
    expect(shown.out).toContain('Transcript (1 message)');
    expect((await here('show', folder, 'failed')).out).toContain('there is none, or it cannot be read');
    const listed = await here('list', folder);
    expect(listed).toMatchObject({ code: 1, errors: '1 head cannot be read; see durable-turn verify\n' });
    expect(await here('export', folder)).toMatchObject({ code: 1, errors: listed.errors });
    expect(listed.out.trim().split('\n')).toHaveLength(ids.length - 1);
  });

  it('stored text reaches a terminal without control characters, and a program as it is', async () => {
    const nasty = 'red \u001b[31m, title \u001b]0;x\u0007, hidden \u202e, \u009b2J';
    const store = await openLevelStore({ path: folder });
    const engine = engineOn(store);
    await engine.importSession('nasty', [{ role: 'user', content: [{ type: 'text', text: nasty }] }]);
    await engine.importSession('two\nlines \u009b2J', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]);
    await engine.close();
    await store.close();
    const { out } = await run('show', folder, 'nasty');
    expect(out).toContain('red \\u001b[31m');
    const [sheet] = await told('show', folder, 'nasty');
    expect(sheet.messages[0].message.content[0].text).toBe(nasty);
    for (const form of [out, (await here('show', folder, 'nasty', '--json')).out]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
      expect(form).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    // Nor does an id make a line of a list, and errors are no way around.
    expect((await here('list', folder)).out).toMatch(/^two\\nlines \\u009b2J /m);
    for (const json of [[], ['--json']]) {
      expect((await here('show', folder, 'none \u009b2J', ...json)).errors).toMatch(
        /there is no session .*none \\u009b2J/,
      );
    }
  });
});

/** Text that does not compress. */
function noise(): string {
  return Array.from({ length: 100 }, () => Math.random().toString(36).slice(2)).join('');
}
