// Whole sessions: deleted, pruned, exported and imported.
import { expect, it } from 'vitest';
import type { Message, TurnEngine } from '../../src/index.js';
import { never, until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { act, brief, calls, createWorld, HOUR_MS, hello, only, parking, type WholeWorld } from './world.js';

async function exported(engine: TurnEngine, sessionId = 's'): Promise<Record<string, any>[]> {
  let text = '';
  for await (const line of engine.exportSession(sessionId)) text += line;
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const ended = async (world: WholeWorld, sessionId: string, options = {}) =>
  within((await world.process.engine.startTurn({ ...hello, sessionId, ...options })).outcome);

it('deleteSession takes everything: list, journal, outputs; and its id begins anew', async () => {
  const world = createWorld();
  world.says(calls('t'), 'old', 'new');
  const engine = world.boot({ tools: { t: act(() => 'T') } });
  await ended(world, 's');
  await engine.deleteSession('s');
  expect(await engine.session('s')).toBeUndefined();
  expect(await world.store.messages('s')).toEqual([]);
  await engine.deleteSession('s');
  world.takenOut.add((world.eventsOf('message')[0] as { meta: { id: string } }).meta.id);
  await ended(world, 's');
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: new']);
});

it('deleteSession refuses a session that somebody waits for, with what it waits for, and changes nothing', async () => {
  const world = createWorld();
  world.says(calls('deploy'), { hang: true });
  const engine = world.boot({
    tools: { deploy: act(() => 'x', parking) },
    onOutcome: () => Promise.reject(new Error('no')),
  });
  await within((await engine.startTurn({ ...hello, sessionId: 'parked' })).rest);
  await engine.startTurn({ ...hello, sessionId: 'running', routeKey: 'r' });
  await engine.sendMessage({ ...hello, sessionId: 'queued', routeKey: 'r' });
  await ended(world, 'due');
  for (const [sessionId, what] of [
    ['parked', /turn in progress/],
    ['running', /turn in progress/],
    ['queued', /input waiting/],
    ['due', /outcome/],
  ] as const) {
    const refused = engine.deleteSession(sessionId);
    await expect(refused).rejects.toMatchObject({ code: 'TURN_BUSY', message: expect.stringMatching(what) });
    expect(await engine.session(sessionId)).toBeDefined();
  }
  await expect(engine.deleteSession('')).rejects.toThrow(TypeError);
});

it('a deleted session is gone after a restart as well, and recovery has nothing to do for it', async () => {
  const world = createWorld();
  const engine = world.boot();
  await ended(world, 's');
  await engine.deleteSession('s');
  const next = await world.reboot();
  expect(await next.recover()).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  expect(await next.session('s')).toBeUndefined();
});

it('pruneSessions deletes what has been idle for longer, and says how many', async () => {
  const world = createWorld();
  const engine = world.boot();
  await ended(world, 'old');
  await ended(world, 'older');
  await world.advance(2 * HOUR_MS);
  await ended(world, 'fresh');
  expect(await engine.pruneSessions({ olderThanMs: 2 * HOUR_MS + 1 })).toBe(0);
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(2);
  expect(await engine.session('old')).toBeUndefined();
  expect(await engine.session('fresh')).toBeDefined();
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(0);
});

it('pruneSessions leaves alone what anybody waits for: parked turns, doubts, waiting input, outcomes due', async () => {
  const world = createWorld();
  const tools = { deploy: act(() => 'x', parking), send: act(() => never()) };
  const engine = world.boot({ tools });
  world.says(calls('deploy'), calls('send'));
  await within((await engine.startTurn({ ...hello, sessionId: 'parked' })).rest);
  const cancelled = await engine.startTurn({ ...hello, sessionId: 'doubtful' });
  await until(() => world.runs.length === 1, 'it runs');
  await cancelled.cancel();
  await ended(world, 'plain');
  await world.advance(100 * HOUR_MS);
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(1);
  expect(await engine.session('parked')).toBeDefined();
  expect(await engine.session('doubtful')).toBeDefined();
  const { turnId, callId } = only(await engine.reviews());
  await engine.settleCall(turnId, callId, { outcome: 'notStarted', by: 'ann' });
  expect(await engine.pruneSessions({ olderThanMs: HOUR_MS })).toBe(1);
});

it('pruneSessions names a bad age, and prunes no session of another agent', async () => {
  const world = createWorld();
  const other = world.boot({ agent: 'other' });
  await within((await other.startTurn({ ...hello, sessionId: 'theirs' })).outcome);
  const engine = world.boot();
  await world.advance(100 * HOUR_MS);
  expect(await engine.pruneSessions({ olderThanMs: 0 })).toBe(0);
  expect(await other.session('theirs')).toBeDefined();
  for (const olderThanMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, '1' as never])
    await expect(engine.pruneSessions({ olderThanMs })).rejects.toThrow(/olderThanMs/);
});

it('exportSession gives JSON lines: the session, what was archived, and the list, with their metadata', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(2), reads(NEAR), 'end \u2028 of it');
  const engine = world.boot({ tools: readTools, compact: keepLast(2) });
  await ended(world, 's', { context: { tenant: 't' } });
  const [head, ...rest] = await exported(engine);
  expect(head).toMatchObject({ type: 'session', sessionId: 's', agent: 'agent', context: { tenant: 't' } });
  expect(head?.usage).toEqual((await engine.session('s'))?.usage);
  const archive = (await (await engine.session('s'))?.archive()) ?? [];
  expect(rest).toEqual([
    ...archive.map((stored) => ({ type: 'archived', ...stored })),
    ...(await world.messages()).map((stored) => ({ type: 'message', ...stored })),
  ]);
  await expect(exported(engine, 'nobody')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
});

it('what was exported can be imported, and the conversation goes on there (I10)', async () => {
  const world = createWorld();
  world.says(calls('t'), 'end', 'and on');
  const engine = world.boot({ tools: { t: act(() => 'T') } });
  await ended(world, 's');
  const lines = await exported(engine);
  const list = lines.flatMap((line) => (line.type === 'message' ? [line.message as Message] : []));
  await engine.importSession('copy', list);
  expect((await world.messages('copy')).map(({ message }) => message)).toEqual(list);
  expect(await engine.session('copy')).toMatchObject({ inProgress: false, turnId: null });
  await ended(world, 'copy', { input: 'go on' });
  expect(brief(await world.messages('copy'))).toEqual([
    ...brief(await world.messages('s')),
    'input: go on',
    'model: and on',
  ]);
});

it('an imported list survives a restart before its first turn', async () => {
  const world = createWorld();
  await world.boot().importSession('i', [{ role: 'user', content: [{ type: 'text', text: 'before' }] }]);
  const engine = await world.reboot();
  await engine.recover();
  await ended(world, 'i');
  expect(brief(await world.messages('i'))).toEqual(['input: before', 'input: hello', 'model: done']);
});

it('an imported history with unpaired calls is repaired before it is stored (I10, case C1)', async () => {
  const world = createWorld();
  const engine = world.boot();
  const call = (id: string) => ({ type: 'tool-call', toolCallId: id, toolName: 't', input: {} }) as const;
  const result = (id: string) =>
    ({ type: 'tool-result', toolCallId: id, toolName: 't', output: { type: 'text', value: 'r' } }) as const;
  await engine.importSession('i', [
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
    { role: 'assistant', content: [call('a'), call('b')] },
    { role: 'tool', content: [result('b')] },
    { role: 'tool', content: [result('orphan')] },
    { role: 'assistant', content: [call('c')] },
  ]);
  expect(brief(await world.messages('i'))).toEqual([
    'input: x',
    'model: calls t + calls t',
    'tool: t gave error-text + t gave text',
    'model: calls t',
    'tool: t gave error-text',
  ]);
  await ended(world, 'i');
  expect(world.requests).toHaveLength(1);
});

it('importSession names what is wrong, refuses a session that exists, and writes nothing', async () => {
  const world = createWorld();
  const engine = world.boot();
  const user = { role: 'user', content: [{ type: 'text', text: 'x' }] };
  const bad: [unknown, RegExp][] = [
    ['text', /messages/],
    [[user, null], /messages\[1\]/],
    [[user, { role: 'robot', content: [] }], /messages\[1\]\.role/],
    [[{ role: 'user', content: 'x' }], /messages\[0\]\.content/],
    [[{ role: 'system', content: [] }], /messages\[0\]\.content/],
    [[{ role: 'user', content: [null] }], /messages\[0\]\.content\[0\]/],
    [[{ role: 'user', content: [{ type: 'text' }] }], /messages\[0\]\.content\[0\]/],
    [[{ role: 'assistant', content: [{ type: 'tool-call' }] }], /messages\[0\]\.content\[0\]/],
    [[{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a' }] }], /messages\[0\]\.content\[0\]/],
    [[{ role: 'user', content: [{ type: 'text', text: 'half \ud800' }] }], /messages\[0\]/],
    [[{ role: 'user', content: [{ type: 'text', text: 1n }] }], /messages\[0\]/],
  ];
  for (const [messages, field] of bad) {
    const thrown = await engine.importSession('i', messages as never).catch((error: unknown) => error);
    expect(thrown, String(field)).toBeInstanceOf(Error);
    expect((thrown as Error).message).toMatch(field);
    expect(await engine.session('i')).toBeUndefined();
  }
  await engine.importSession('i', [user as never]);
  await expect(engine.importSession('i', [user as never])).rejects.toMatchObject({ code: 'TURN_BUSY' });
});

it('an import of thousands of messages is whole or not there when the process is killed at any commit', async () => {
  const list = Array.from(
    { length: 2_000 },
    (_, n): Message => ({ role: 'user', content: [{ type: 'text', text: `${n}` }] }),
  );
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = createWorld();
    const engine = world.boot();
    world.process.store.fate = () => fate;
    void engine.importSession('i', list);
    await world.death();
    await world.reboot();
    expect((await world.store.messages('i')).length).toBe(fate === 'dieBefore' ? 0 : 2_000);
  }
});
