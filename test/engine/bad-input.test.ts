// Misuse is a TypeError that names the field; nothing of it is written.
import { expect, it } from 'vitest';
import { createTurnEngine, describeTools, type EngineOptions, jsonSchema, tool, toolFor } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { until, within } from './waiting.js';
import { act, createWorld, HOUR_MS, hello } from './world.js';

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
  [/^input is text with a lone surrogate/, { ...hello, input: 'cut \ud83d' }],
  [/^input\[0\]\.text is text with a lone surrogate/, { ...hello, input: [{ type: 'text', text: 'cut \ud83d' }] }],
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
  [/^limits\.maxTokens .*, not "5"\.$/, { ...hello, limits: { maxTokens: '5' } }],
  [/^answer 5 is none of the engine's answers\.$/, { ...hello, answer: 5 }],
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
  [/^model must have a call/, { model: { ...scriptedModel([]), call: 'x' } }],
  [/^model\.id must be a text that names the model, not undefined/, { model: { ...scriptedModel([]), id: undefined } }],
  [/^model\.id .*not ""/, { model: { ...scriptedModel([]), id: '' } }],
  [
    /^tools\.bad\.reconcile must be a function, not "yes"/,
    { tools: { bad: act(() => 1, { reconcile: 'yes' as never }) } },
  ],
  [/^tools\.bad\.execute/, { tools: { bad: { ...act(() => 1), execute: 1 } } }],
  [/^tools\.bad\.description/, { tools: { bad: { ...act(() => 1), description: undefined } } }],
  [/^tools\.bad\.input/, { tools: { bad: { ...act(() => 1), input: {} } } }],
  [/^tools\.bad\.effect/, { tools: { bad: act(() => 1, { effect: 'some' as never }) } }],
  [/^tools\.bad\.unattended/, { tools: { bad: act(() => 1, { unattended: 'wait' as never }) } }],
  [/^tools\.bad\.strict/, { tools: { bad: act(() => 1, { strict: 'yes' as never }) } }],
  [/^tools\.bad\.inputExamples must be/, { tools: { bad: act(() => 1, { inputExamples: {} as never }) } }],
  [
    /^tools\.bad\.inputExamples cannot.*inputExamples\[0\]/,
    { tools: { bad: act(() => 1, { inputExamples: [() => 1] as never }) } },
  ],
  [/^onEvent/, { onEvent: 1 }],
  [/^onOutcome/, { onOutcome: {} }],
  [/^dependencies/, { dependencies: {} }],
  [/^limits\.nothing/, { limits: { nothing: 1 } }],
  [/^recovery\.stalenessMs/, { recovery: { stalenessMs: -1 } }],
  [/^recovery\.stalenessMs .*, not "5"\.$/, { recovery: { stalenessMs: '5' } }],
  [/^recovery\.forever/, { recovery: { forever: 1 } }],
  [/^model\.contextTokens/, { model: { ...scriptedModel([]), contextTokens: -5 } }],
  [/^model\.contextTokens .*, not "200000";/, { model: { ...scriptedModel([]), contextTokens: '200000' } }],
  [/^tools must be/, { tools: 'x' }],
  [/^tools must be/, { tools: null }],
  [/^answers must be/, { answers: 5 }],
  [/^compact/, { compact: 'x' }],
  [/^loopDetector/, { loopDetector: true }],
  [/^machine/, { machine: {} }],
  [/^clock/, { clock: Date }],
  [/^ids/, { ids: 'x' }],
];

/** What a plan of `prepareModelCall` may hold as well. */
const plans: readonly (readonly [RegExp, object])[] = [
  [/settings\.maxTokens is unknown/, { settings: { maxTokens: 5 } }],
  [/settings must be/, { settings: 'x' }],
  [/settings\.maxOutputTokens/, { settings: { maxOutputTokens: '5' } }],
  [/settings\.temperature/, { settings: { temperature: Number.NaN } }],
  [/settings\.stopSequences/, { settings: { stopSequences: 'x' } }],
  [/settings\.reasoning/, { settings: { reasoning: 5 } }],
  [/settings\.headers/, { settings: { headers: { a: 5 } } }],
  [/toolChoice must be/, { toolChoice: 'any' }],
  [/toolChoice must be/, { toolChoice: {} }],
  [/toolChoice\.tool names "nope", which is no tool; there are good/, { toolChoice: { tool: 'nope' } }],
  [/activeTools names "nope", which is no tool; there are good/, { activeTools: ['good', 'nope'] }],
  [/activeTools must be/, { activeTools: 'x' }],
  [/instructions must be/, { instructions: 5 }],
  [/instructions must be/, { instructions: [{ role: 'user', content: 'x' }] }],
  [/providerOptions must be/, { providerOptions: { a: 5 } }],
];

it('createTurnEngine names each option that is wrong', () => {
  expect(() => createTurnEngine(right)).not.toThrow();
  expect(() => createTurnEngine(undefined as never)).toThrow(TypeError);
  for (const [message, wrong] of [...engines, ...plans]) {
    const make = (): unknown =>
      createTurnEngine({ ...right, tools: { good: act(() => 1) }, ...wrong } as EngineOptions);
    expect(make, JSON.stringify(wrong)).toThrow(TypeError);
    expect(make, JSON.stringify(wrong)).toThrow(message);
  }
});

it('createTurnEngine takes every right value of what a model call is made with', () => {
  const tools = { good: act(() => 1) };
  const values: readonly Partial<EngineOptions>[] = [
    { instructions: 'x', activeTools: [], toolChoice: 'required', settings: {}, providerOptions: { a: { b: 1 } } },
    { instructions: [{ role: 'system', content: 'x' }], activeTools: ['good'], toolChoice: { tool: 'good' } },
    { settings: { maxOutputTokens: 1, temperature: 0, stopSequences: ['x'], reasoning: 'high', headers: { a: 'b' } } },
    { compact: false, loopDetector: false, model: { ...scriptedModel([]), contextTokens: 200_000 } },
    // The names of a set that is built for each turn are known only there.
    { tools: () => tools, activeTools: ['good'], toolChoice: { tool: 'good' } },
  ];
  for (const value of values) {
    const store = memoryStore();
    expect(() => createTurnEngine({ ...right, store, tools, ...value })).not.toThrow();
  }
});

it('a plan of prepareModelCall is checked like the options, and a wrong one fails the call', async () => {
  const wrong = [
    ...plans,
    [/model\.contextTokens/, { model: { ...scriptedModel([]), contextTokens: 0 } }],
    [/model must have/, { model: 'gpt' }],
    [/messages must be/, { messages: 'x' }],
    [/toolChoce is unknown/, { toolChoce: 'auto' }],
    [/it must give an object/, 'auto'],
  ] as const;
  for (const [message, plan] of wrong) {
    const world = createWorld();
    const engine = world.boot({ tools: { good: act(() => 1) }, prepareModelCall: () => plan as never });
    const turn = await engine.startTurn(hello);
    await world.advance(HOUR_MS);
    const outcome = await within(turn.outcome);
    expect(outcome, JSON.stringify(plan)).toMatchObject({ status: 'failed', reason: expect.stringMatching(message) });
    expect(outcome.reason).toMatch(/^network: prepareModelCall failed: /);
    expect(world.requests).toEqual([]);
  }
});

it('a turn or call that is not there, or has ended, is told as that', async () => {
  const world = createWorld();
  const engine = world.boot();
  const { turnId, outcome } = await engine.startTurn(hello);
  await within(outcome);
  const settle = (turn: string) => engine.settleCall(turn, `${turn}.00001.0000`, { outcome: 'notStarted', by: 'ann' });
  const told = (code: string, message: RegExp): object => ({ code, message: expect.stringMatching(message) });
  await expect(settle('s.unknown')).rejects.toMatchObject(told('TURN_NOT_FOUND', /no call "s\.unknown\.00001/));
  await expect(settle('other.unknown')).rejects.toMatchObject(told('TURN_NOT_FOUND', /no call/));
  await expect(engine.abandonTurn(turnId, 'x')).rejects.toMatchObject(told('TURN_NOT_FOUND', /ended as completed/));
  await expect(engine.abandonTurn('s.unknown', 'x')).rejects.toMatchObject(told('TURN_NOT_FOUND', /there is no turn/));
  const resumed = engine.resumeTurn(turnId, { person: 'ann' });
  await expect(resumed).rejects.toMatchObject(told('TURN_NOT_RESUMABLE', /: it has ended as completed$/));
  for (const never of ['s.unknown', 'other.unknown']) {
    const unknown = engine.resumeTurn(never, { person: 'ann' });
    await expect(unknown).rejects.toMatchObject(told('TURN_NOT_FOUND', /there is no turn ".*\.unknown"/));
  }
});

it('resumeTurn speaks of the turn it was asked about, not of another one that runs', async () => {
  const world = createWorld();
  world.says('done', { hang: true });
  const engine = world.boot();
  const ended = await engine.startTurn(hello);
  await within(ended.outcome);
  await engine.startTurn(hello);
  await until(() => world.requests.length === 2, 'another turn runs');
  const waiting = await engine.sendMessage({ ...hello, sessionId: 't', routeKey: 'session s' });
  expect(waiting.accepted).toBe('queued');
  for (const [turnId, code, message] of [
    ['s.unknown', 'TURN_NOT_FOUND', /there is no turn/],
    [ended.turnId, 'TURN_NOT_RESUMABLE', /: it has ended as completed$/],
    [waiting.turn.turnId, 'TURN_NOT_RESUMABLE', /: its input waits, it has not begun$/],
  ] as const) {
    const resumed = engine.resumeTurn(turnId, { person: 'ann' });
    await expect(resumed).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  }
});

it('what makes tools, schemas and scripts names what is wrong', () => {
  const wrong: readonly (readonly [RegExp, () => unknown])[] = [
    [/^describeTools needs/, () => describeTools(undefined as never)],
    [/^tools\.a must be a tool/, () => describeTools({ a: 5 } as never)],
    [/^tool needs an object/, () => tool(undefined as never)],
    [/^tool needs an object/, () => toolFor()(undefined as never)],
    [/^jsonSchema needs/, () => jsonSchema('x' as never)],
    [/^the check of jsonSchema/, () => jsonSchema({}, 'x' as never)],
    [/^scriptedModel needs/, () => scriptedModel(undefined as never)],
    [/^script\[0\] must be/, () => scriptedModel([5] as never)],
  ];
  for (const [message, call] of wrong) {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
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
