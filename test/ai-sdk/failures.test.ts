// How a call of a provider fails, over real HTTP and through the real packages: the kind tells the turn what to do.
import { describe, expect, it } from 'vitest';
import { type AnyLanguageModel, fromLanguageModel } from '../../src/ai-sdk/index.js';
import { anthropicAnswer, anthropicError, blocks, event, start } from './anthropic-wire.js';
import { ask, failureOf, GENERATIONS, WEATHER } from './generations.js';
import { CUT, type Frame, loopback, type Reply, SILENCE } from './loopback.js';
import { chunk, openaiError } from './openai-wire.js';

const NOW = 'Tue, 01 Dec 2026 10:00:00 GMT';
const SOON = 'Tue, 01 Dec 2026 10:00:12 GMT';
const call = { type: 'tool_use', id: 't', name: 'weather', input: { city: 'Oslo' } };

/** What providers say of a list that is too long, as they say it. */
const TOO_LONG: readonly (readonly [number, object])[] = [
  [400, { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' }],
  [400, { message: 'the request exceeds the available context size', type: 'exceed_context_size_error' }],
  [400, { message: 'Input is too long for requested model.' }],
  [400, { message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' }],
  [422, { message: 'This model only supports a maximum prompt length of 131072.' }],
  [413, { message: 'Payload Too Large' }],
];

describe.each(GENERATIONS)('a call in specification $version', ({ version, openai, anthropic }) => {
  const failing = async (reply: Reply, make: (url: string) => AnyLanguageModel) => {
    const server = await loopback();
    server.says(reply);
    const error = await failureOf(ask(fromLanguageModel(make(server.url)), undefined, { tools: [WEATHER] }));
    // The turn retries; a provider that did it too would multiply its attempts and hide how long to wait.
    expect(server.asked).toHaveLength(1);
    return error;
  };

  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': SOON, date: NOW }, 12_000],
    [{ 'retry-after': NOW, date: SOON }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ] as const)('that is limited with %j is told so, with the wait', async (headers, retryAfterMs) => {
    const limited = { type: 'rate_limit_error', message: 'slow down' };
    const error = await failing(openaiError(429, limited, headers), openai);
    expect({ kind: error.kind, retryAfterMs: error.retryAfterMs }).toEqual({ kind: 'rateLimited', retryAfterMs });
    const other = await failing(anthropicError(429, 'rate_limit_error', 'slow down', headers), anthropic);
    expect({ kind: other.kind, retryAfterMs: other.retryAfterMs }).toEqual({ kind: 'rateLimited', retryAfterMs });
  });

  it.each([
    [529, 'overloaded_error', 'overloaded'],
    [503, 'api_error', 'overloaded'],
    [500, 'api_error', 'network'],
    [504, 'timeout_error', 'network'],
    [408, 'timeout_error', 'network'],
    [401, 'authentication_error', 'auth'],
    [403, 'permission_error', 'auth'],
    [404, 'not_found_error', 'rejected'],
    [400, 'invalid_request_error', 'rejected'],
    [413, 'request_too_large', 'contextLength'],
  ])('that gets status %i with %s failed as it says: %s', async (status, type, kind) => {
    expect((await failing(anthropicError(status, type, 'no'), anthropic)).kind).toBe(kind);
    expect((await failing(openaiError(status, { message: 'no' }), openai)).kind).toBe(kind);
  });

  it.each(TOO_LONG)('whose list is too long is told so (%i, %j)', async (status, error) => {
    expect((await failing(openaiError(status, error), openai)).kind).toBe('contextLength');
  });

  it('whose list is too long is told so by Anthropic', async () => {
    const message = 'prompt is too long: 210000 tokens > 200000 maximum';
    const error = await failing(anthropicError(400, 'invalid_request_error', message), anthropic);
    expect(error).toMatchObject({ kind: 'contextLength', message: expect.stringContaining('prompt is too long') });
  });

  it('whose account is empty is not worth another try', async () => {
    const error = { message: 'You exceeded your current quota', code: 'insufficient_quota' };
    expect((await failing(openaiError(429, error, { 'retry-after': '1' }), openai)).kind).toBe('rejected');
  });

  it('that meets a proxy instead of a provider is worth another try', async () => {
    const page = { status: 502, headers: { 'content-type': 'text/html' }, body: '<html>Bad gateway</html>' };
    expect((await failing(page, openai)).kind).toBe('network');
    expect((await failing(page, anthropic)).kind).toBe('network');
  });

  it('that nobody answers is worth another try', async () => {
    const server = await loopback();
    const models = [openai(server.url), anthropic(server.url)];
    await server.close();
    for (const model of models) expect((await failureOf(ask(fromLanguageModel(model)))).kind).toBe('network');
  });

  const anthropicStreams: readonly (readonly [string, readonly Frame[]])[] = [
    ['before it began', []],
    [
      'behind its first word',
      [start(), event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })],
    ],
    ['within a text', [start(), ...blocks({ type: 'text', text: 'Well.' }).slice(0, 2)]],
    ['within a call', [start(), ...blocks(call).slice(0, 2)]],
    ['behind a whole call', [start(), ...blocks(call)]],
  ];
  it.each(anthropicStreams)('whose stream is cut %s gives no answer (Anthropic)', async (_where, frames) => {
    expect((await failing({ frames: [...frames, CUT] }, anthropic)).kind).toBe('network');
    // A proxy can also close it politely.
    expect((await failing({ frames }, anthropic)).kind).toBe('network');
  });

  const args = (text: string) => ({
    tool_calls: [{ index: 0, id: 't', function: { name: 'weather', arguments: text } }],
  });
  const openaiStreams: readonly (readonly [string, readonly Frame[]])[] = [
    ['before it began', []],
    ['within a text', [chunk({ content: 'Well.' })]],
    ['within a call', [chunk(args('{"city":'))]],
    ['behind a whole call', [chunk(args('{"city":"Oslo"}'))]],
  ];
  it.each(openaiStreams)('whose stream is cut %s gives no answer (OpenAI-compatible)', async (_where, frames) => {
    expect((await failing({ frames: [...frames, CUT] }, openai)).kind).toBe('network');
    expect((await failing({ frames }, openai)).kind).toBe('network');
  });

  it('is told an error that comes within the stream', async () => {
    const fails = (type: string, message = 'no') => event('error', { error: { type, message } });
    const within = [start(), ...blocks({ type: 'text', text: 'Well.' })];
    expect((await failing({ frames: [fails('overloaded_error')] }, anthropic)).kind).toBe('overloaded');
    expect((await failing({ frames: [...within, fails('overloaded_error')] }, anthropic)).kind).toBe('overloaded');
    expect((await failing({ frames: [...within, fails('api_error')] }, anthropic)).kind).toBe('network');
    const error = { message: 'the model is busy', type: 'overloaded_error', code: null, param: null };
    const busy = `data: ${JSON.stringify({ error })}\n\n`;
    expect((await failing({ frames: [chunk({ content: 'Well.' }), busy] }, openai)).kind).toBe('overloaded');
  });

  it('says what a provider said, and not what it was asked', async () => {
    const error = await failing(anthropicError(400, 'invalid_request_error', 'temperature: too hot'), anthropic);
    expect(error.message).toContain('temperature: too hot');
    expect(error.message).not.toContain('hello');
    expect(error.cause).toBeDefined();
  });

  it('does not take a block it has never seen for an answer', async () => {
    const error = await failing(anthropicAnswer([{ type: 'hologram', data: 'x' }]), anthropic);
    expect(error.kind).toBe('other');
  });

  describe('that is aborted', () => {
    const reason = new Error('the person pressed stop');

    it.each([
      ['before its headers', (): Reply => ({ silent: true })],
      ['within its stream', (): Reply => ({ frames: [start(), ...blocks({ type: 'text', text: 'Well.' }), SILENCE] })],
    ])('%s ends with the reason of its own signal, and so does the connection', async (where, reply) => {
      const server = await loopback();
      const stop = new AbortController();
      server.says(() => {
        if (where === 'before its headers') setImmediate(() => stop.abort(reason));
        return reply();
      });
      const onDelta = () => stop.abort(reason);
      const asked = ask(fromLanguageModel(anthropic(server.url)), undefined, { signal: stop.signal, onDelta });
      await expect(asked).rejects.toBe(reason);
      await server.gone[0];
    });

    it('before it began asks nobody', async () => {
      const server = await loopback();
      server.says({ frames: [] });
      const asked = ask(fromLanguageModel(openai(server.url)), undefined, { signal: AbortSignal.abort(reason) });
      await expect(asked).rejects.toBe(reason);
      expect(server.asked).toEqual([]);
    });
  });

  it('over a provider that does not look at its signal ends all the same', async () => {
    const reason = new Error('enough');
    const stop = new AbortController();
    let left: unknown;
    const deaf: AnyLanguageModel = {
      specificationVersion: version,
      provider: 'own',
      modelId: 'deaf',
      doStream: async () => ({
        stream: new ReadableStream({
          start: (to) => to.enqueue({ type: 'text-delta', id: '0', delta: 'Well.' }),
          cancel: (why) => {
            left = why;
          },
        }),
      }),
    };
    const onDelta = () => stop.abort(reason);
    await expect(ask(fromLanguageModel(deaf), undefined, { signal: stop.signal, onDelta })).rejects.toBe(reason);
    expect(left).toBe(reason);
  });
});
