// Tools that throw, hang or return nonsense: their call has a result, and nothing else breaks (case C25).
import { expect, it, onTestFinished, vi } from 'vitest';
import { OutcomeUnknown, type Tool } from '../../src/index.js';
import { within } from './waiting.js';
import { act, calls, createWorld, hello, look } from './world.js';

const cycle: { self?: unknown } = {};
cycle.self = cycle;
const endless = (): unknown => {
  let value: unknown = 'x'.repeat(1_000_000);
  for (let level = 0; level < 40; level += 1) value = [value, value];
  return value;
};
/** Every question to it throws, `instanceof` included. */
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const returned: readonly (readonly [string, () => unknown, unknown])[] = [
  ['nothing', () => undefined, { type: 'json', value: null }],
  ['false', () => false, { type: 'json', value: false }],
  ['zero', () => 0, { type: 'json', value: 0 }],
  ['an empty text', () => '', { type: 'text', value: '' }],
  ['a text with half a character', () => 'a\ud800', { type: 'text', value: 'a\ufffd' }],
  ['an output of its own', () => ({ type: 'error-text', value: 'no' }), { type: 'error-text', value: 'no' }],
  ...[
    { type: 'text', value: 5 },
    { type: 'error-text', value: null },
    { type: 'content', value: 'a page' },
    { type: 'content', value: [null] },
    { type: 'content', value: [{ type: 'text' }] },
    { type: 'execution-denied', reason: 7 },
    { type: 'json' },
  ].map(
    (data) =>
      [`data with a type of its own, ${JSON.stringify(data)}`, () => data, { type: 'json', value: data }] as const,
  ),
  ['a cycle', () => cycle, { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['a bigint', () => ({ n: 1n }), { type: 'error-text', value: expect.stringContaining('output.n is a bigint') }],
  ['a date', () => new Date(0), { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['a map', () => new Map(), { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['a rejection of null', () => Promise.reject(null), { type: 'error-text', value: expect.stringContaining('null') }],
  ['a thrown text', () => Promise.reject('bad \ud800'), { type: 'error-text', value: 'bad \ufffd' }],
  [
    'an error that cannot be read',
    () =>
      Promise.reject({
        toString: () => {
          throw new Error('x');
        },
      }),
    { type: 'error-text', value: expect.any(String) },
  ],
  [
    'an error that cannot even be asked what it is',
    () => Promise.reject(revoked()),
    { type: 'error-text', value: expect.any(String) },
  ],
  [
    'a value that has no end as JSON',
    endless,
    { type: 'error-text', value: 'The call succeeded. Its result is too large to be stored.' },
  ],
];

it('whatever a tool returns or throws is a result that can be stored (case C25)', async () => {
  const world = createWorld();
  world.says(calls(...returned.map((_, n) => `t${n}`)));
  const tools = Object.fromEntries(returned.map(([, give], n) => [`t${n}`, look(give as never)]));
  await within((await world.boot({ tools }).startTurn(hello)).outcome);
  const results = await world.outputs();
  for (const [n, [what, , output]] of returned.entries()) expect(results[n], what).toEqual(output);
});

it('a modelOutput that throws does not undo the success of its call', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const send = act(() => 'sent', {
    modelOutput: () => {
      throw new Error('no template');
    },
  });
  await within((await world.boot({ tools: { send } }).startTurn(hello)).outcome);
  expect(await world.calls()).toMatchObject([{ state: 'succeeded' }]);
  expect(await world.outputs()).toEqual([{ type: 'error-text', value: expect.stringContaining('no template') }]);
});

it('a modelOutput that gives no output is read as data', async () => {
  const world = createWorld();
  world.says(calls('send', 'send'));
  const given = ['a text', { type: 'content', value: 'x' }];
  const send = act(() => 'sent', { modelOutput: () => given.shift() as never });
  await within((await world.boot({ tools: { send } }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'a text' },
    { type: 'json', value: { type: 'content', value: 'x' } },
  ]);
});

const preparing: readonly (readonly [string, Partial<Tool>])[] = [
  [
    'effect throws',
    {
      effect: () => {
        throw new Error('boom');
      },
    },
  ],
  ['effect gives nonsense', { effect: () => 'maybe' as never }],
  [
    'idempotencyKey throws',
    {
      idempotencyKey: () => {
        throw new Error('boom');
      },
    },
  ],
  ['idempotencyKey gives a number', { idempotencyKey: () => 7 as never }],
  ['idempotencyKey gives half a character', { idempotencyKey: () => 'k\ud800' }],
  [
    'exclusive throws',
    {
      exclusive: () => {
        throw new Error('boom');
      },
    },
  ],
  ['exclusive gives nothing', { exclusive: () => undefined as never }],
  ['exclusive gives half a character', { exclusive: () => 'x\ud800' }],
  [
    'timeoutMs throws',
    {
      timeoutMs: () => {
        throw new Error('boom');
      },
    },
  ],
  ['timeoutMs gives nonsense', { timeoutMs: () => 'soon' as never }],
  ['approval gives nonsense', { approval: () => 'perhaps' as never }],
  ['approval gives null', { approval: () => null as never }],
];

for (const [what, more] of preparing) {
  it(`a tool whose ${what} takes only its call along: its sibling runs and the turn completes`, async () => {
    const world = createWorld();
    world.says(calls('odd', 'good'), 'done');
    const engine = world.boot({ tools: { odd: act(() => 'odd ran', more as never), good: act(() => 'ok') } });
    const turn = await engine.startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'done' });
    const results = await world.outputs();
    expect(results).toHaveLength(2);
    expect(results[1]).toEqual({ type: 'text', value: 'ok' });
  });
}

const EXTERNAL = "It counts as 'external'.";
const NOT_RUN = 'The call did not run.';
const LIMIT = 'The limit toolMs counts instead';
const warned: readonly (readonly [keyof Tool, string, () => unknown, string])[] = [
  ['effect', 'gave "write"', () => 'write', EXTERNAL],
  ['effect', 'gave [object Promise]', async () => 'none', EXTERNAL],
  ['approval', 'gave true', () => true, NOT_RUN],
  ['approval', 'gave undefined', async () => undefined, NOT_RUN],
  ['approval', 'gave {"deny":5}', () => ({ deny: 5 }), NOT_RUN],
  ['timeoutMs', 'gave "x"', () => 'x', LIMIT],
  ['timeoutMs', 'threw "boom"', boom, LIMIT],
  ['exclusive', 'gave undefined', () => undefined, NOT_RUN],
  ['exclusive', 'gave 7', () => 7, NOT_RUN],
  ['idempotencyKey', 'gave undefined', () => undefined, "The engine's own key counts."],
  ['idempotencyKey', 'gave ""', () => '', NOT_RUN],
];

function boom(): never {
  throw new Error('boom');
}

for (const [field, did, given, instead] of warned) {
  it(`a tool whose ${field} ${did} has one warning that says what it must give, and what the engine does instead`, async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const world = createWorld();
    world.says(calls('odd'), 'done');
    const turn = await world.boot({ tools: { odd: act(() => 'ran', { [field]: given }) } }).startTurn(hello);
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
    expect(world.runsOf('odd')).toHaveLength(instead === NOT_RUN ? 0 : 1);
    expect(warn).toHaveBeenCalledOnce();
    const [text, name] = warn.mock.calls[0] as unknown as [string, string];
    expect(name).toBe('DurableTurnWarning');
    expect(text).toContain(`tools.odd.${field} ${did}; it must give `);
    expect(text).toContain(instead);
  });
}

it('the model reads that it was the approval which could not be decided, and by what', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const world = createWorld();
  world.says(calls('send'), 'done');
  const turn = await world
    .boot({ tools: { send: act(() => 'sent', { approval: () => true as never }) } })
    .startTurn(hello);
  await within(turn.outcome);
  expect(JSON.stringify(await world.outputs())).toContain('the approval of its tool gave true. It did not run.');
});

it('a reconcile that gives no settlement is a warning that names it, and a person is asked', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const world = createWorld();
  world.says(calls('send'));
  const send = act(() => Promise.reject(new OutcomeUnknown('no answer')), { reconcile: async () => 'landed' as never });
  const engine = world.boot({ tools: { send } });
  expect(await within((await engine.startTurn(hello)).rest)).toMatchObject({ status: 'parked' });
  expect(warn.mock.calls).toEqual([
    [
      expect.stringMatching(
        /^tools\.send\.reconcile gave "landed"; it must give \{ outcome: 'succeeded', output \}.* unknown\.$/,
      ),
      'DurableTurnWarning',
    ],
  ]);
});
