// What the model reads of long results, and where the whole of them is (cases C23, C24).
import { expect, it } from 'vitest';
import type { ToolOutput } from '../../src/index.js';
import { until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, look, only, type WholeWorld } from './world.js';

const limits = { outputBytes: 1_000 };
const bytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

async function run(world: WholeWorld, ...results: readonly unknown[]) {
  world.says(calls(...results.map((_, n) => `t${n}`)));
  const tools = Object.fromEntries(results.map((result, n) => [`t${n}`, look(() => result as string)]));
  const engine = world.boot({ tools, limits });
  const turn = await engine.startTurn(hello);
  await within(turn.outcome);
  const whole = async (n: number) =>
    (await engine.session('s'))?.output(`${turn.turnId}.00001.${String(n).padStart(4, '0')}`);
  return { engine, turn, shown: await world.outputs(), whole };
}

it('a long text is cut with a note that says how much there was, and is whole by its call (case C24)', async () => {
  const world = createWorld();
  const { shown, whole } = await run(world, 'x'.repeat(5_000));
  const { value } = shown[0] as { value: string };
  expect(value).toMatch(/^x+\n\[cut: 5000 bytes in all, the rest is not shown\]$/);
  expect(bytes(value)).toBeLessThan(1_200);
  expect(await whole(0)).toEqual({ type: 'text', value: 'x'.repeat(5_000) });
});

it('a text is never cut within a character, wherever the limit falls (case C23)', async () => {
  for (let lead = 0; lead < 4; lead += 1) {
    const world = createWorld();
    const { shown, whole } = await run(world, 'y'.repeat(lead) + '🦆'.repeat(500));
    const { value } = shown[0] as { value: string };
    expect(value.isWellFormed()).toBe(true);
    expect(value).not.toContain('\ufffd');
    expect(value.startsWith(`${'y'.repeat(lead)}🦆🦆`)).toBe(true);
    expect(((await whole(0)) as { value: string }).value).toHaveLength(1_000 + lead);
  }
});

it('what fits is left as it is, to the byte', async () => {
  const world = createWorld();
  const { shown } = await run(world, 'x'.repeat(1_000), 'x'.repeat(1_001));
  expect(shown[0]).toEqual({ type: 'text', value: 'x'.repeat(1_000) });
  expect((shown[1] as { value: string }).value).toContain('[cut: 1001 bytes');
});

it('JSON over the limit is cut as text, an error stays an error, a file in content is kept', async () => {
  const world = createWorld();
  const list = Array.from({ length: 500 }, (_, n) => n);
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'a'.repeat(2_000) } };
  const content = {
    type: 'content',
    value: [{ type: 'text', text: 'a'.repeat(800) }, file, { type: 'text', text: 'b'.repeat(800) }],
  };
  const { shown, whole } = await run(world, list, { type: 'error-text', value: 'e'.repeat(3_000) }, content);
  expect(shown[0]).toMatchObject({ type: 'text', value: expect.stringContaining('[cut: ') });
  expect(shown[1]).toMatchObject({ type: 'error-text', value: expect.stringContaining('[cut: 3000') });
  const parts = (shown[2] as unknown as { value: { type: string; text: string }[] }).value;
  expect(parts[0]?.text).toBe('a'.repeat(800));
  expect(parts[1]).toEqual(file);
  expect(parts[2]?.text).toMatch(/^b{200}\n\[cut: 1600 bytes/);
  expect(await whole(0)).toEqual({ type: 'json', value: list });
  expect(await whole(2)).toEqual(content);
});

it('content of very many small texts is bound as well', async () => {
  const world = createWorld();
  const value = Array.from({ length: 5_000 }, (_, n) => ({ type: 'text', text: `${n}` }));
  const { shown, whole } = await run(world, { type: 'content', value });
  expect(bytes(shown[0])).toBeLessThan(20_000);
  expect(((await whole(0)) as unknown as { value: unknown[] }).value).toHaveLength(5_000);
});

it('many medium results of one batch are at most four times the limit together (case C24)', async () => {
  const world = createWorld();
  const { shown, whole } = await run(world, ...Array.from({ length: 20 }, (_, n) => `${n % 10}`.repeat(900)));
  const total = shown.reduce((sum, output) => sum + bytes((output as { value: string }).value), 0);
  // The notes come on top.
  expect(total).toBeLessThan(4 * 1_000 + 20 * 100);
  for (const output of shown) expect((output as { value: string }).value).toContain('[cut: 900 bytes');
  for (let n = 0; n < 20; n += 1) expect(((await whole(n)) as { value: string }).value).toHaveLength(900);
});

it('short results of a batch keep what they have, the long ones share the rest', async () => {
  const world = createWorld();
  const short = Array.from({ length: 10 }, (_, n) => `short ${n}`);
  const { shown } = await run(world, ...short, ...Array.from({ length: 5 }, () => 'x'.repeat(2_000)));
  const values = shown.map((output) => (output as { value: string }).value);
  expect(values.slice(0, 10)).toEqual(short);
  const long = values.slice(10).map((value) => /^x+/.exec(value)?.[0].length as number);
  expect(new Set(long).size).toBe(1);
  expect(long[0]).toBeGreaterThan(700);
  expect(long[0]).toBeLessThanOrEqual(800);
});

it('outputBytes 0 cuts nothing', async () => {
  const world = createWorld();
  world.says(calls('t'));
  const engine = world.boot({ tools: { t: look(() => 'x'.repeat(200_000)) }, limits: { outputBytes: 0 } });
  await within((await engine.startTurn(hello)).outcome);
  expect((only(await world.outputs()) as { value: string }).value).toHaveLength(200_000);
});

it('a result that was cut before a kill is the same behind it, and its whole is still there (case C24)', async () => {
  const world = createWorld();
  world.says(calls('send'), { hang: true });
  const tools = { send: act(() => '🦆'.repeat(1_000)) };
  const turn = await world.boot({ tools, limits }).startTurn(hello);
  await until(() => world.requests.length === 2, 'the model is asked again');
  const before = JSON.stringify(world.requests[1]?.messages.at(-1));
  const engine = await world.reboot({ tools, limits });
  await within(only((await engine.recover()).resumed).outcome);
  expect(JSON.stringify(world.requests[2]?.messages)).toContain(before);
  const output = await (await engine.session('s'))?.output(`${turn.turnId}.00001.0000`);
  expect(output).toEqual({ type: 'text', value: '🦆'.repeat(1_000) });
  expect(world.runs).toHaveLength(1);
});

it('session.output knows the calls of its own session only, and says undefined for everything else', async () => {
  const world = createWorld();
  world.says(calls('t'), 'a', calls('t'), 'b');
  const engine = world.boot({ tools: { t: look(() => 'secret of a') } });
  const a = await engine.startTurn({ ...hello, sessionId: 'a' });
  await within(a.outcome);
  await within((await engine.startTurn({ ...hello, sessionId: 'b' })).outcome);
  const callId = `${a.turnId}.00001.0000`;
  const of = async (sessionId: string, id: string): Promise<ToolOutput | undefined> =>
    (await engine.session(sessionId))?.output(id);
  expect(await of('a', callId)).toEqual({ type: 'text', value: 'secret of a' });
  expect(await of('b', callId)).toBeUndefined();
  expect(await of('a', `${a.turnId}.00001.0009`)).toBeUndefined();
  expect(await of('a', 'nonsense')).toBeUndefined();
});

it('an output that the transcript holds whole is stored once, with its message, and is read as before', async () => {
  const world = createWorld();
  const { whole, turn } = await run(world, 'short', 'x'.repeat(5_000));
  const { store } = world.process;
  const stored = async (n: number) => (await store.call(`${turn.turnId}.00001.000${n}`))?.output;
  expect(await stored(0)).toBeNull();
  expect(await whole(0)).toEqual({ type: 'text', value: 'short' });
  expect(await stored(1)).toEqual({ type: 'text', value: 'x'.repeat(5_000) });
});
