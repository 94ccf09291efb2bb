// The port over the Anthropic SDK, copied by those who move a loop of their own, against a server that speaks the protocol.
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { createTurnEngine, jsonSchema, type Message, type Model, tool } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { anthropicAnswer, anthropicError, blocks, event, PING, start } from '../ai-sdk/anthropic-wire.js';
import { ask, failureOf, user, WEATHER } from '../ai-sdk/generations.js';
import { CUT, type Loopback, loopback, type Reply, SILENCE } from '../ai-sdk/loopback.js';
import { fromHistory, toParam } from './anthropic-blocks.js';
import { anthropicModel } from './anthropic-model.js';

const clientOf = (server: Loopback) => new Anthropic({ apiKey: 'key', baseURL: server.url.replace('/v1', '') });
const modelOf = (server: Loopback): Model => anthropicModel(clientOf(server), 'claude-opus-4-1');
const done = anthropicAnswer([{ type: 'text', text: 'Done.' }]);
const call = { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } };

/** One of each kind, with fields and a type that nobody knows yet. */
const EVERYTHING = [
  { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
  { type: 'redacted_thinking', data: 'xyz', shade: 'dark' },
  { type: 'text', text: 'I look.' },
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'oslo' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 's1',
    content: [
      { type: 'web_search_result', url: 'https://example.com', title: 'x', encrypted_content: 'e', page_age: null },
    ],
  },
  { type: 'hologram', depth: 3, layers: [{ z: 1 }] },
  { ...call, caller: { type: 'direct' }, priority: 'high' },
];

describe('the port over the Anthropic SDK', () => {
  it('sends every block back as it came, in a turn: block types and fields it has never heard of included', async () => {
    const server = await loopback();
    server.says(anthropicAnswer(EVERYTHING, 'tool_use'), done);
    const execute = ({ city }: { city: string }) => `rain in ${city}`;
    const weather = tool({
      description: 'Tells.',
      input: jsonSchema<{ city: string }>(WEATHER.inputSchema),
      effect: 'none',
      execute,
    });
    const engine = createTurnEngine({ agent: 'a', store: memoryStore(), model: modelOf(server), tools: { weather } });
    const { turn } = await engine.sendMessage({ sessionId: 's', input: 'go', attended: true });
    expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    await engine.close();
    expect(server.lastAsked.body.messages[1]).toEqual({ role: 'assistant', content: EVERYTHING });
    expect(server.lastAsked.body.messages[2].content).toEqual([
      { type: 'tool_result', tool_use_id: 'a', content: 'rain in Oslo', cache_control: { type: 'ephemeral' } },
    ]);
  });

  it('gives text, usage, finish and pieces that tell their parts apart', async () => {
    const server = await loopback();
    server.says(
      anthropicAnswer(
        [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, { type: 'text', text: 'Hello.' }, call],
        'tool_use',
      ),
    );
    const { answer, deltas } = await ask(modelOf(server), undefined, { tools: [WEATHER] });
    expect(answer).toMatchObject({
      finish: { reason: 'tool-calls', raw: 'tool_use' },
      usage: { input: { total: 180, cacheRead: 50, cacheWrite: 30 }, output: { total: 20 } },
      modelId: 'claude-2026',
      responseId: 'msg_1',
    });
    const said = (type: string) => deltas.flatMap((delta) => (delta.type === type ? [delta.text] : [])).join('');
    expect([said('reasoning'), said('text'), said('tool-input')]).toEqual(['Hm.', 'Hello.', '{"city":"Oslo"}']);
    expect(new Set(deltas.map((delta) => ('id' in delta ? delta.id : delta.toolCallId))).size).toBe(3);
  });

  it('has the breakpoint on the last block and nowhere else, and keeps the tools for the choice none', async () => {
    const server = await loopback();
    server.says(done);
    const old: Anthropic.MessageParam[] = [
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'weather', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'rain', is_error: true },
          { type: 'text', text: 'and?' },
        ],
      },
      { role: 'assistant', content: 'Well.' },
    ];
    const list = fromHistory(old);
    expect(list.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
    await ask(modelOf(server), [...list, user('go on')], { tools: [WEATHER], toolChoice: 'none' });
    const { messages, tools, tool_choice } = server.lastAsked.body;
    expect(JSON.stringify(messages).match(/cache_control/g)).toHaveLength(1);
    expect(messages.at(-1).content).toEqual([{ type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } }]);
    expect(messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: 'rain', is_error: true }]);
    expect([tools.length, tool_choice]).toEqual([1, { type: 'none' }]);
  });

  const failures: readonly (readonly [string, Reply, object])[] = [
    [
      '429',
      anthropicError(429, 'rate_limit_error', 'no', { 'retry-after': '7' }),
      { kind: 'rateLimited', retryAfterMs: 7000 },
    ],
    [
      '429 in ms',
      anthropicError(429, 'rate_limit_error', 'no', { 'retry-after-ms': '70' }),
      { kind: 'rateLimited', retryAfterMs: 70 },
    ],
    ['529', anthropicError(529, 'overloaded_error', 'no'), { kind: 'overloaded' }],
    ['500', anthropicError(500, 'api_error', 'no'), { kind: 'network' }],
    ['401', anthropicError(401, 'authentication_error', 'no'), { kind: 'auth' }],
    ['400', anthropicError(400, 'invalid_request_error', 'no'), { kind: 'rejected' }],
    [
      'a long list',
      anthropicError(400, 'invalid_request_error', 'prompt is too long: 3 > 2'),
      { kind: 'contextLength' },
    ],
    [
      'an error in the stream',
      { frames: [start(), event('error', { error: { type: 'overloaded_error', message: 'no' } })] },
      { kind: 'overloaded' },
    ],
    ['a stream cut behind a call', { frames: [start(), ...blocks(call), CUT] }, { kind: 'network' }],
    ['a stream closed behind a call', { frames: [start(), ...blocks(call)] }, { kind: 'network' }],
    ['a stream that never began', { frames: [] }, { kind: 'network' }],
  ];
  it.each(failures)('tells %s by its kind, and asks once', async (_what, reply, kind) => {
    const server = await loopback();
    server.says(reply);
    expect(await failureOf(ask(modelOf(server)))).toMatchObject(kind);
    expect(server.asked).toHaveLength(1);
  });

  it('ends with the reason of its own signal', async () => {
    const server = await loopback();
    const reason = new Error('the person pressed stop');
    const stop = new AbortController();
    server.says({ frames: [start(), PING, ...blocks({ type: 'text', text: 'Well.' }), SILENCE] });
    const asked = ask(modelOf(server), undefined, { signal: stop.signal, onDelta: () => stop.abort(reason) });
    await expect(asked).rejects.toBe(reason);
    await server.gone[0];
  });

  it('has images in results, and refuses parts of another provider', async () => {
    const png = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } } as const;
    const output = { type: 'content', value: [{ type: 'text', text: 'look' }, png] } as const;
    const message: Message = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'f', output }],
    };
    expect(toParam(message).content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
    ]);
    expect(() => toParam({ role: 'user', content: [{ type: 'custom', kind: 'other.block' }] })).toThrow(TypeError);
  });
});
