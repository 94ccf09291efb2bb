// Misuse is a TypeError that names the field; nothing of it is written.
import { expect, it } from 'vitest';
import { createTurnEngine, type EngineOptions } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { act, createWorld, hello } from './world.js';

const inputs: readonly (readonly [RegExp, unknown])[] = [
  [/sendMessage needs/, undefined],
  [/sendMessage needs/, null],
  [/sendMessage needs/, 'hello'],
  [/^sessionId/, { ...hello, sessionId: undefined }],
  [/^sessionId/, { ...hello, sessionId: '' }],
  [/^sessionId/, { ...hello, sessionId: 's\ud800' }],
  [/^sessionId/, { ...hello, sessionId: 'ü'.repeat(257) }],
  [/^sessionId/, { ...hello, sessionId: 7 }],
  [/^attended/, { ...hello, attended: undefined }],
  [/^attended/, { ...hello, attended: 'yes' }],
  [/^messageId/, { ...hello, messageId: '' }],
  [/^messageId/, { ...hello, messageId: 5 }],
  [/^routeKey/, { ...hello, routeKey: '' }],
  [/^input/, { ...hello, input: undefined }],
  [/^input/, { ...hello, input: '' }],
  [/^input/, { ...hello, input: [] }],
  [/^input/, { ...hello, input: 5 }],
  [/^input\[0\]/, { ...hello, input: [null] }],
  [/^input\[0\]\.type/, { ...hello, input: [{ type: 'tool-call' }] }],
  [/^input\[1\]\.text/, { ...hello, input: [{ type: 'text', text: 'a' }, { type: 'text' }] }],
  [/^input\[0\]\.text/, { ...hello, input: [{ type: 'text', text: 5 }] }],
  [/^input\[0\]/, { ...hello, input: [{ type: 'file', data: new Uint8Array(3) }] }],
  [/^context/, { ...hello, context: () => 1 }],
  [/^context\.when/, { ...hello, context: { when: new Date(0) } }],
  [/^context\.list\[1\]/, { ...hello, context: { list: [1, undefined] } }],
  [/^context\.n/, { ...hello, context: { n: Number.NaN } }],
  [/^limits\.maxMagic/, { ...hello, limits: { maxMagic: 1 } }],
  [/^limits\.toolMs/, { ...hello, limits: { toolMs: 0 } }],
  [/^limits\.idleSoftMs/, { ...hello, limits: { idleSoftMs: -1 } }],
  [/^limits\.idleSoftMs/, { ...hello, limits: { idleSoftMs: 2 ** 31 } }],
  [/^limits\.maxTokens/, { ...hello, limits: { maxTokens: 1.5 } }],
  [/^limits\.maxTokens/, { ...hello, limits: { maxTokens: '5' } }],
  [/^limits/, { ...hello, limits: null }],
  [/^limits/, { ...hello, limits: 5 }],
];

for (const way of ['sendMessage', 'startTurn'] as const) {
  it(`${way} names each field that is wrong, and writes nothing`, async () => {
    const world = createWorld();
    const engine = world.boot();
    for (const [message, input] of inputs) {
      const refused = await engine[way](input as never).then(
        () => expect.fail(`${JSON.stringify(input)} is accepted`),
        (thrown: unknown) => thrown,
      );
      const what = `${JSON.stringify(input)}: ${String(refused)}`;
      expect(refused, what).toSatisfy(
        (thrown) => thrown instanceof TypeError || (thrown as { code?: string }).code === 'TURN_INVALID_VALUE',
      );
      expect((refused as Error).message, what).toMatch(message);
    }
    expect(world.process.store.commits).toBe(0);
    expect(world.requests).toEqual([]);
  });
}

it('input that is too large is refused with a code, and nothing of it is written', async () => {
  const world = createWorld();
  const engine = world.boot();
  const input = 'x'.repeat(17 * 1024 * 1024);
  await expect(engine.sendMessage({ ...hello, input })).rejects.toMatchObject({
    code: 'TURN_TOO_LARGE',
    retryable: false,
  });
  expect(world.process.store.commits).toBe(0);
});

it('a session of another agent is not touched', async () => {
  const world = createWorld();
  await (await world.boot({ agent: 'other' }).startTurn(hello)).outcome;
  const engine = world.boot();
  await expect(engine.sendMessage(hello)).rejects.toThrow(/^sessionId: session "s" belongs to agent "other"/);
  await expect(engine.startTurn(hello)).rejects.toThrow(TypeError);
});

it('recover() leaves the turns of other agents alone', async () => {
  const world = createWorld();
  world.says({ hang: true });
  await world.boot({ agent: 'other' }).startTurn(hello);
  const engine = await world.reboot();
  expect(await engine.recover()).toEqual({ resumed: [], held: [], parked: [], abandoned: [], damaged: [] });
  expect(await engine.interrupted()).toEqual([]);
  expect(await world.head()).toMatchObject({ inProgress: true, agent: 'other' });
  await expect(engine.recover({ concurrency: 0 })).rejects.toThrow(/^concurrency/);
});

it('another agent’s turns are not for this engine to cancel, settle, resume or abandon', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const { turnId } = await world.boot({ agent: 'other' }).startTurn(hello);
  const engine = await world.reboot();
  await expect(engine.cancelTurn(turnId)).rejects.toThrow();
  await expect(engine.abandonTurn(turnId, 'x')).rejects.toThrow();
  await expect(engine.resumeTurn(turnId, { person: 'ann' })).rejects.toThrow();
  expect(await world.head()).toMatchObject({ inProgress: true, agent: 'other' });
});

const right: EngineOptions = { agent: 'a', store: memoryStore(), model: scriptedModel([]) };
const engines: readonly (readonly [RegExp, object])[] = [
  [/^agent/, { agent: '' }],
  [/^agent/, { agent: undefined }],
  [/^store/, { store: {} }],
  [/^model/, { model: {} }],
  [/^tools\.bad\.execute/, { tools: { bad: { ...act(() => 1), execute: 1 } } }],
  [/^tools\.bad\.description/, { tools: { bad: { ...act(() => 1), description: undefined } } }],
  [/^tools\.bad\.input/, { tools: { bad: { ...act(() => 1), input: {} } } }],
  [/^tools\.bad\.effect/, { tools: { bad: act(() => 1, { effect: 'some' as never }) } }],
  [/^tools\.bad\.unattended/, { tools: { bad: act(() => 1, { unattended: 'wait' as never }) } }],
  [/^onEvent/, { onEvent: 1 }],
  [/^onOutcome/, { onOutcome: {} }],
  [/^dependencies/, { dependencies: {} }],
  [/^limits\.nothing/, { limits: { nothing: 1 } }],
  [/^recovery\.stalenessMs/, { recovery: { stalenessMs: -1 } }],
  [/^recovery\.forever/, { recovery: { forever: 1 } }],
];

it('createTurnEngine names each option that is wrong', () => {
  expect(() => createTurnEngine(right)).not.toThrow();
  expect(() => createTurnEngine(undefined as never)).toThrow(TypeError);
  for (const [message, wrong] of engines) {
    const make = (): unknown => createTurnEngine({ ...right, ...wrong } as EngineOptions);
    expect(make, JSON.stringify(wrong)).toThrow(TypeError);
    expect(make, JSON.stringify(wrong)).toThrow(message);
  }
});

it('settleCall names what is missing, and settles no call of another turn or session', async () => {
  const world = createWorld();
  const engine = world.boot();
  const settle = engine.settleCall.bind(engine) as (...given: unknown[]) => Promise<void>;
  await expect(settle('s.x', 's.x.00001.0000', { outcome: 'notStarted' })).rejects.toThrow(/\{ by \}/);
  await expect(settle('s.x', 's.x.00001.0000', { outcome: 'maybe', by: 'ann' })).rejects.toThrow(/outcome must be/);
  await expect(settle('nonsense', 'x', { outcome: 'notStarted', by: 'ann' })).rejects.toThrow(/"nonsense"/);
});
