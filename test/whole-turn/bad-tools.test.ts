// What tools do at their worst, over a restart where that is the point.
import { expect, it } from 'vitest';
import type { Tool } from '../../src/index.js';
import { never, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, look, MINUTE_MS, only } from './world.js';

const boom = (thrown: unknown) => () => Promise.reject(thrown);

it.each<[string, unknown, RegExp]>([
  ['null', null, /null/],
  ['undefined', undefined, /undefined/],
  ['a text', 'out of paper', /out of paper/],
  ['a number', 7, /7/],
  ['an object', { code: 1 }, /not an Error/],
  ['an error without a message', new TypeError(), /TypeError/],
])('a tool that throws %s has a result the model can read, whatever its effect', async (_what, thrown, text) => {
  for (const effect of ['none', 'idempotent', 'external'] as const) {
    const world = createWorld();
    world.says(calls('t', 'ok'), 'went on');
    const tools = { t: act(boom(thrown), { effect }), ok: look(() => 'fine') };
    expect(await within((await world.boot({ tools }).startTurn(hello)).outcome)).toMatchObject({ text: 'went on' });
    const [output, sibling] = (await world.outputs()) as unknown as [{ type: string; value: string }, object];
    expect(output.type).toBe('error-text');
    expect(output.value).toMatch(text);
    expect(output.value.includes('may have taken effect')).toBe(effect !== 'none');
    expect(sibling).toEqual({ type: 'text', value: 'fine' });
    expect((await world.calls())[0]).toMatchObject({ state: 'failed' });
  }
});

const cycle: { self?: unknown } = {};
cycle.self = cycle;

it.each<[string, unknown, object]>([
  ['nothing', undefined, { type: 'json', value: null }],
  ['a cycle', cycle, { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['a BigInt', 10n, { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['a function', () => 1, { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
  ['NaN', Number.NaN, { type: 'error-text', value: expect.stringContaining('The call succeeded') }],
])(
  'a tool that did its work and returns %s is not run again for it, also after a restart',
  async (_what, value, output) => {
    const world = createWorld();
    world.says(calls('send'), { hang: true });
    const tools = { send: act(() => value as null) };
    await world.boot({ tools }).startTurn(hello);
    await until(() => world.requests.length === 2, 'the model is asked again');
    const engine = await world.reboot({ tools });
    await within(only((await engine.recover()).resumed).outcome);
    expect(await world.outputs()).toEqual([output]);
    expect((await world.calls())[0]).toMatchObject({ state: 'succeeded' });
    expect(world.runs).toHaveLength(1);
  },
);

it('fifty megabytes are a success that says it was too large to be stored, and the turn goes on', async () => {
  const world = createWorld();
  world.says(calls('dump', 'read'), 'went on');
  const tools = { dump: act(() => 'x'.repeat(50 * 1024 * 1024)), read: look(() => 'fine') };
  expect(await within((await world.boot({ tools }).startTurn(hello)).outcome)).toMatchObject({ text: 'went on' });
  const output = (await world.outputs())[0] as { value: string };
  expect(output.value).toContain('The call succeeded. Its result is too large');
  expect((await world.calls())[0]).toMatchObject({ state: 'succeeded' });
});

it('an error of any size fails its call, and nothing else', async () => {
  const world = createWorld();
  world.says(calls('dump'), 'went on');
  // As JSON each of these characters takes six bytes: more than one record may have.
  const tools = { dump: act(boom(new Error('\u0001'.repeat(12 * 1024 * 1024)))) };
  expect(await within((await world.boot({ tools }).startTurn(hello)).outcome)).toMatchObject({ text: 'went on' });
  expect(JSON.stringify(await world.messages()).length).toBeLessThan(400_000);
});

it('however long an error is and however little of it is shown, the model reads that it may have taken effect', async () => {
  const world = createWorld();
  world.says(calls('send'), 'went on');
  const tools = { send: act(boom(new Error('x'.repeat(100_000)))) };
  await within((await world.boot({ tools, limits: { outputBytes: 100 } }).startTurn(hello)).outcome);
  expect(world.lastRead).toContain('may have taken effect');
});

it('a tool that never returns and ignores its signal ends with its time-out, by what it may have done', async () => {
  const ends: [NonNullable<Tool['effect']>, Partial<Tool>, RegExp][] = [
    ['none', {}, /^The call timed out after 60000 ms\.$/],
    ['idempotent', {}, /timed out.*may have taken effect/],
    ['external', { reconcile: async () => ({ outcome: 'failed', error: 'never arrived' }) }, /never arrived/],
  ];
  for (const [effect, more, text] of ends) {
    const world = createWorld();
    world.says(calls('t'), 'went on');
    const t = act(() => never(), { effect: effect as 'none', timeoutMs: MINUTE_MS, ...(more as object) });
    const turn = await world.boot({ tools: { t } }).startTurn(hello);
    await until(() => world.runs.length === 1, 'it runs');
    await world.advance(MINUTE_MS);
    expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'went on' });
    expect(((await world.outputs())[0] as { value: string }).value).toMatch(text);
    expect(world.runs[0]?.call.signal.aborted).toBe(true);
  }
});

it('a tool that ignores its signal does not keep a cancel, a close or the next turn waiting', async () => {
  const world = createWorld();
  world.says(calls('t'), 'next');
  const engine = world.boot({ tools: { t: act(() => never(), { effect: 'idempotent' }) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  expect(await within(turn.cancel())).toMatchObject({ status: 'cancelled' });
  expect(await within((await engine.startTurn({ ...hello, input: 'next' })).outcome)).toMatchObject({ text: 'next' });
  await within(engine.close({ graceMs: 0 }));
});

it('note() of what is no JSON rejects in the tool; progress(), which is never stored, only warns', async () => {
  const world = createWorld();
  world.says(calls('t', 'ok'), 'went on');
  const t = act(async (_input, call) => {
    await call.note(1n as never);
    return 'never comes here';
  });
  const p = act((_input, call) => {
    call.progress(cycle as never);
    return 'goes on';
  });
  const engine = world.boot({ tools: { t, ok: p } });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ text: 'went on' });
  const outputs = await world.outputs();
  expect(outputs.map((output) => output.type)).toEqual(['error-text', 'text']);
});

it('a tool that changes the input it was given changes nothing of what is stored or shown', async () => {
  const world = createWorld();
  world.says(calls(['t', { list: [1] }]));
  const t = act((input) => {
    (input as { list: number[] }).list.push(2);
    return 'ok';
  });
  await within((await world.boot({ tools: { t } }).startTurn(hello)).outcome);
  expect((await world.calls())[0]?.input).toEqual({ list: [1] });
  const answer = (await world.messages()).find(({ message }) => message.role === 'assistant');
  expect(answer?.message.content).toMatchObject([{ input: { list: [1] } }]);
  expect(JSON.stringify(world.requests.at(-1)?.messages)).not.toContain('[1,2]');
});
