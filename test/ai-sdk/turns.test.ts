// Whole turns over the wire: the engine, the adapter, the real packages and a server that speaks the protocol.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AnyLanguageModel, fromLanguageModel } from '../../src/ai-sdk/index.js';
import { createTurnEngine, type EngineOptions, jsonSchema, type TurnEvent, tool } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { simulatedClock } from '../../src/testing/index.js';
import { anthropicAnswer, anthropicError, blocks, event, PING, start } from './anthropic-wire.js';
import { GENERATIONS } from './generations.js';
import { CUT, type Loopback, loopback, type Reply, SILENCE } from './loopback.js';
import { frames, openaiAnswer, openaiError } from './openai-wire.js';

/** A service of one process, on a clock that moves when told to. */
function serviceOf(model: AnyLanguageModel, options: Partial<EngineOptions<any, any>> = {}) {
  const store = options.store ?? memoryStore();
  const clock = simulatedClock();
  const events: TurnEvent[] = [];
  const ran: string[] = [];
  const weather = tool({
    description: 'Tells the weather.',
    input: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
    effect: 'external',
    execute: ({ city }) => {
      ran.push(city);
      return `rain in ${city}`;
    },
  });
  const onEvent = (one: TurnEvent) => void events.push(one);
  const port = fromLanguageModel(model);
  const engine = createTurnEngine({ agent: 'a', store, clock, tools: { weather }, onEvent, model: port, ...options });
  onTestFinished(() => engine.close());
  const begin = async (input = 'go', more: object = {}) =>
    (await engine.sendMessage({ sessionId: 's', input, attended: true, ...more })).turn;
  const seen = async <T extends TurnEvent['type']>(type: T): Promise<TurnEvent & { type: T }> => {
    for (;;) {
      const found = events.find((one): one is TurnEvent & { type: T } => one.type === type);
      if (found !== undefined) return found;
      await sleep(1);
    }
  };
  return { store, clock, events, ran, engine, begin, seen };
}

const call = (id: string, city: string) => ({ type: 'tool_use', id, name: 'weather', input: { city } });
const text = (value: string) => ({ type: 'text', text: value });
const done = anthropicAnswer([text('Done.')]);
const lists = (server: Loopback) => server.asked.map(({ body }) => body.messages);

describe.each(GENERATIONS)('a turn in specification $version', ({ openai, anthropic }) => {
  it('calls, runs what the model asks for, and tells it the results (Anthropic)', async () => {
    const thinking = { type: 'thinking', thinking: 'Both.', signature: 'sig' };
    const asks = [thinking, call('a', 'Oslo'), call('b', 'Bergen')];
    const server = await loopback();
    server.says(anthropicAnswer(asks, 'tool_use'), done);
    const { begin, ran, events } = serviceOf(anthropic(server.url));
    const outcome = await (await begin()).outcome;
    expect(outcome).toMatchObject({
      status: 'completed',
      text: 'Done.',
      usage: { input: { total: 360 }, output: { total: 40 } },
    });
    expect(ran.sort()).toEqual(['Bergen', 'Oslo']);
    expect(lists(server)[1].slice(1)).toEqual([
      { role: 'assistant', content: asks },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'rain in Oslo' },
          { type: 'tool_result', tool_use_id: 'b', content: 'rain in Bergen' },
        ],
      },
    ]);
    expect(events.some((one) => one.type === 'delta' && one.delta.type === 'tool-input')).toBe(true);
  });

  it('does the same over an OpenAI-compatible server that numbers its calls anew in every answer', async () => {
    const asks = (city: string): Reply =>
      openaiAnswer({ calls: [{ id: 'call_0', name: 'weather', arguments: JSON.stringify({ city }) }] });
    const server = await loopback();
    server.says(asks('Oslo'), asks('Bergen'), openaiAnswer({ text: ['Done.'] }));
    const { begin, ran } = serviceOf(openai(server.url));
    expect(await (await begin()).outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ran).toEqual(['Oslo', 'Bergen']);
    expect(lists(server)[2].map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
  });

  it('waits as long as a limited provider asks for, and asks again', async () => {
    const server = await loopback();
    server.says(openaiError(429, { message: 'slow down' }, { 'retry-after': '7' }), openaiAnswer({ text: ['Done.'] }));
    const { begin, seen, clock } = serviceOf(openai(server.url));
    const turn = await begin();
    expect(await seen('retry')).toMatchObject({ kind: 'rateLimited', delayMs: 7000 });
    expect(server.asked).toHaveLength(1);
    await clock.advance(7000);
    expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(server.asked).toHaveLength(2);
  });

  it('runs nothing of a stream that is cut behind a whole call, and runs it once when it comes again', async () => {
    const server = await loopback();
    const asks = anthropicAnswer([call('a', 'Oslo')], 'tool_use');
    server.says({ frames: [start(), ...blocks(call('a', 'Oslo')), CUT] }, asks, done);
    const { begin, seen, clock, ran } = serviceOf(anthropic(server.url));
    const turn = await begin();
    expect(await seen('retry')).toMatchObject({ kind: 'network' });
    expect(ran).toEqual([]);
    await clock.advance(60_000);
    expect(await turn.outcome).toMatchObject({ status: 'completed' });
    expect(ran).toEqual(['Oslo']);
  });

  it('fails by its watchdog when a provider sends nothing but pings, and hangs up', async () => {
    const server = await loopback();
    server.says({ frames: [start(), PING, PING, ...blocks(text('Well.')).slice(0, 2), PING, SILENCE] });
    const { begin, seen, clock } = serviceOf(anthropic(server.url), { limits: { idleSoftMs: 1000, idleHardMs: 5000 } });
    const turn = await begin();
    await seen('delta');
    await clock.advance(1000);
    await seen('softIdle');
    await clock.advance(5000);
    expect(await turn.outcome).toMatchObject({ status: 'failed' });
    await seen('hardIdle');
    await server.gone[0];
    expect(server.asked).toHaveLength(1);
  });

  it('hangs up when a person cancels, and keeps what was said', async () => {
    const server = await loopback();
    server.says({ frames: [start(), ...blocks(text('As I said')), SILENCE] });
    const { begin, engine, events } = serviceOf(anthropic(server.url));
    const turn = await begin();
    const whole = () =>
      events.flatMap((one) => (one.type === 'delta' ? [one.delta.text] : [])).join('') === 'As I said';
    while (!whole()) await sleep(1);
    expect(await turn.cancel({ keepPartialText: true })).toMatchObject({ status: 'cancelled' });
    await server.gone[0];
    const messages = await (await engine.session('s'))?.messages();
    expect(messages?.at(-1)?.message).toMatchObject({ role: 'assistant', content: [{ text: 'As I said' }] });
  });

  it('goes on where the provider paused, with what it said so far', async () => {
    const server = await loopback();
    const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'oslo' } };
    server.says(anthropicAnswer([search], 'pause_turn'), done);
    const { begin } = serviceOf(anthropic(server.url));
    expect(await (await begin()).outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lists(server)[1].at(-1)).toMatchObject({
      role: 'assistant',
      content: [{ type: 'server_tool_use', id: 's1' }],
    });
  });

  it('makes the list shorter when the provider says it is too long', async () => {
    const server = await loopback();
    const tooLong = anthropicError(400, 'invalid_request_error', 'prompt is too long: 3 tokens > 2 maximum');
    server.says(done, done, done, done, tooLong, anthropicAnswer([text('What was said.')]), done);
    const { begin, events } = serviceOf(anthropic(server.url));
    for (const input of ['one', 'two', 'three', 'four', 'five']) {
      const { outcome } = await begin(`${input} `.repeat(500));
      expect(await outcome).toMatchObject({ status: 'completed' });
    }
    expect(events.some(({ type }) => type === 'compacted')).toBe(true);
    expect(JSON.stringify(lists(server).at(-1))).toContain('What was said.');
  });

  it('ends with a last answer behind calls, whose request still has the tools', async () => {
    const server = await loopback();
    server.says(anthropicAnswer([call('a', 'Oslo')], 'tool_use'), anthropicAnswer([text('That is all.')]));
    const { begin, ran } = serviceOf(anthropic(server.url), { limits: { maxModelCalls: 1 } });
    expect(await (await begin()).outcome).toMatchObject({ status: 'stopped', text: 'That is all.' });
    expect(ran).toEqual(['Oslo']);
    expect(server.lastAsked.body.tools).toHaveLength(1);
  });

  it('fails where the provider refuses, with its words', async () => {
    const server = await loopback();
    server.says(anthropicError(401, 'authentication_error', 'invalid x-api-key'));
    const { begin } = serviceOf(anthropic(server.url));
    expect(await (await begin()).outcome).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('invalid x-api-key'),
    });
    expect(server.asked).toHaveLength(1);
  });
});

it('a session moves between providers and generations, and each reads all of it', async () => {
  const store = memoryStore();
  const [claude, open] = [await loopback(), await loopback()];
  const thinking = { type: 'thinking', thinking: 'Rain?', signature: 'sig' };
  claude.says(anthropicAnswer([thinking, call('a', 'Oslo')], 'tool_use'), done);
  for (const { anthropic, openai } of GENERATIONS) {
    open.says({ frames: frames({ text: ['And more.'] }) });
    for (const model of [anthropic(claude.url), openai(open.url)]) {
      const { begin, engine } = serviceOf(model, { store });
      expect(await (await begin()).outcome).toMatchObject({ status: 'completed' });
      await engine.close();
    }
  }
  const last = claude.lastAsked.body.messages as readonly { role: string; content: any }[];
  expect(last[1]?.content).toEqual([thinking, call('a', 'Oslo')]);
  expect(last.filter(({ role }) => role === 'assistant').length).toBe(5);
  expect(open.lastAsked.body.messages.map(({ role }: { role: string }) => role).slice(0, 5)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
});

it('a stream that fails with an event of its own is tried again', async () => {
  const server = await loopback();
  server.says({ frames: [start(), event('error', { error: { type: 'overloaded_error', message: 'busy' } })] }, done);
  const { begin, seen, clock } = serviceOf(GENERATIONS[2]?.anthropic(server.url) as AnyLanguageModel);
  const turn = await begin();
  expect(await seen('retry')).toMatchObject({ kind: 'overloaded', delayMs: 1000 });
  await clock.advance(1000);
  expect(await turn.outcome).toMatchObject({ status: 'completed' });
});
