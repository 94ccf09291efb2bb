// What comes back from a provider, over real HTTP and through the real packages of three generations.
import { describe, expect, it } from 'vitest';
import { type AnyLanguageModel, fromLanguageModel } from '../../src/ai-sdk/index.js';
import { anthropicAnswer, blocks, end, event, start } from './anthropic-wire.js';
import { ask, GENERATIONS, WEATHER } from './generations.js';
import { type Frame, loopback } from './loopback.js';
import { chunk, frames, openaiAnswer } from './openai-wire.js';

const weather = { tools: [WEATHER] };
const search = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query: 'oslo' } });
const found = (tool_use_id: string) => ({
  type: 'web_search_tool_result',
  tool_use_id,
  content: [
    {
      type: 'web_search_result',
      url: 'https://example.com/oslo',
      title: 'Oslo',
      encrypted_content: 'enc',
      page_age: null,
    },
  ],
});

describe.each(GENERATIONS)('an answer in specification $version', ({ version, openai, anthropic }) => {
  it('has text, reasoning, ids, usage and finish, and tells its pieces on the way (OpenAI-compatible)', async () => {
    const server = await loopback();
    server.says(openaiAnswer({ reasoning: ['Let me ', 'see.'], text: ['Hel', 'lo.'] }));
    const { answer, deltas } = await ask(fromLanguageModel(openai(server.url)));
    expect(answer.content).toEqual([
      { type: 'reasoning', text: 'Let me see.' },
      { type: 'text', text: 'Hello.' },
    ]);
    expect(answer).toMatchObject({
      finish: { reason: 'stop', raw: 'stop' },
      usage: { input: { total: 100, cacheRead: 60 }, output: { total: 20, reasoning: 5 } },
      modelId: 'm-2026',
      responseId: 'chatcmpl-1',
    });
    expect(answer.usage.raw).toMatchObject(version === 'v2' ? { inputTokens: 100 } : { prompt_tokens: 100 });
    expect(deltas.map(({ type, text }) => [type, text])).toEqual([
      ['reasoning', 'Let me '],
      ['reasoning', 'see.'],
      ['text', 'Hel'],
      ['text', 'lo.'],
    ]);
  });

  it('has the calls of one batch with their inputs, parsed, and tells them as they grow', async () => {
    const server = await loopback();
    const calls = [
      { id: 'a', name: 'weather', arguments: '{"city":"Oslo"}' },
      { id: 'b', name: 'weather', arguments: '{"city":"Bergen"}' },
    ];
    server.says(openaiAnswer({ calls }));
    const { answer, deltas } = await ask(fromLanguageModel(openai(server.url)), undefined, weather);
    expect(answer.content).toEqual([
      { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: { city: 'Oslo' } },
      { type: 'tool-call', toolCallId: 'b', toolName: 'weather', input: { city: 'Bergen' } },
    ]);
    expect(answer.finish).toEqual({ reason: 'tool-calls', raw: 'tool_calls' });
    const grown = deltas.flatMap((delta) =>
      delta.type === 'tool-input' && delta.toolCallId === 'b' ? [delta.text] : [],
    );
    expect(grown.join('')).toBe('{"city":"Bergen"}');
  });

  it('keeps a call whose input is no JSON, says so, and takes no input at all for an empty one', async () => {
    const server = await loopback();
    const call = (input: string) => ({ type: 'tool_use', id: 't', name: 'weather', input });
    server.says(anthropicAnswer([call('{"city": "Os')], 'max_tokens'), anthropicAnswer([call('')], 'tool_use'));
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)), undefined, weather);
    expect(answer.content).toMatchObject([{ input: { rawInvalidInput: '{"city": "Os' } }]);
    expect(answer.content[0]?.malformed).toContain('{"city": "Os');
    expect(answer.finish.reason).toBe('length');
    const empty = await ask(fromLanguageModel(anthropic(server.url)), undefined, weather);
    expect(empty.answer.content).toEqual([{ type: 'tool-call', toolCallId: 't', toolName: 'weather', input: {} }]);
  });

  it('keeps signatures, redacted data, citations, and blocks that are empty', async () => {
    const server = await loopback();
    const cited = {
      type: 'web_search_result_location',
      cited_text: 'x',
      url: 'https://example.com/oslo',
      title: 'Oslo',
      encrypted_index: 'enc',
    };
    const content = [
      { type: 'thinking', thinking: 'Let me see.', signature: 'sig1' },
      { type: 'thinking', thinking: '', signature: 'sig2' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'text', text: '' },
      { type: 'text', text: 'Hello.', citations: [cited] },
    ];
    server.says(anthropicAnswer(content));
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)));
    const options = (own: object) => ({ providerOptions: { anthropic: own } });
    const citations = options({ citations: [expect.objectContaining({ cited_text: 'x' })] });
    expect(answer.content).toEqual([
      { type: 'reasoning', text: 'Let me see.', ...options({ signature: 'sig1' }) },
      { type: 'reasoning', text: '', ...options({ signature: 'sig2' }) },
      { type: 'reasoning', text: '', ...options({ redactedData: 'xyz' }) },
      { type: 'text', text: '' },
      { type: 'text', text: 'Hello.', ...citations },
    ]);
  });

  it('keeps calls the provider ran with their results, and its sources with the facts of the answer', async () => {
    const server = await loopback();
    server.says(anthropicAnswer([search('s1'), found('s1'), { type: 'text', text: 'Rain.' }]));
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)));
    expect(answer.content).toMatchObject([
      { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', providerExecuted: true, input: { query: 'oslo' } },
      { type: 'tool-result', toolCallId: 's1', output: { type: 'json', value: [{ url: 'https://example.com/oslo' }] } },
      { type: 'text', text: 'Rain.' },
    ]);
    expect(answer.sources).toMatchObject([{ type: 'source', url: 'https://example.com/oslo', title: 'Oslo' }]);
  });

  it('keeps a result that the provider gives in a later answer, without its call', async () => {
    const server = await loopback();
    server.says(anthropicAnswer([found('s1'), { type: 'text', text: 'Rain.' }]));
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)));
    expect(answer.content).toMatchObject([{ type: 'tool-result', toolCallId: 's1' }, { type: 'text' }]);
  });

  it('tells an error of a call the provider ran as one', async () => {
    const server = await loopback();
    const content = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
    server.says(anthropicAnswer([search('s1'), { type: 'web_search_tool_result', tool_use_id: 's1', content }]));
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)));
    expect(answer.content[1]).toMatchObject({
      output: { type: 'error-json', value: { errorCode: 'max_uses_exceeded' } },
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool-calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content-filter'],
    ['pause_turn', 'continue'],
  ])('ends for the reason %s of Anthropic as %s, and keeps the word', async (raw, reason) => {
    const server = await loopback();
    server.says(anthropicAnswer([{ type: 'text', text: 'Well.' }], raw));
    expect((await ask(fromLanguageModel(anthropic(server.url)))).answer.finish).toEqual({ reason, raw });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content-filter'],
    ['tool_calls', 'tool-calls'],
    ['eos_token', 'other'],
  ])('ends for the reason %s of an OpenAI-compatible server as %s, and keeps the word', async (raw, reason) => {
    const server = await loopback();
    server.says(openaiAnswer({ text: ['Well.'], finish: raw }));
    expect((await ask(fromLanguageModel(openai(server.url)))).answer.finish).toEqual({ reason, raw });
  });

  it('counts cached tokens into the input, which the V2 package of Anthropic does not', async () => {
    const server = await loopback();
    server.says(anthropicAnswer([{ type: 'text', text: 'Hello.' }]));
    const { usage } = (await ask(fromLanguageModel(anthropic(server.url)))).answer;
    expect(usage.input).toEqual({ total: 180, cacheRead: 50, cacheWrite: 30 });
    expect(usage.output).toMatchObject({ total: 20 });
  });

  it('is whole however slowly it comes, and pings are no pieces of it', async () => {
    const server = await loopback();
    const slowly = async function* (): AsyncGenerator<Frame> {
      for (const frame of [start(), ...blocks({ type: 'text', text: 'Slow.' }), ...end('end_turn')]) {
        for (const byte of [event('ping'), frame]) {
          yield byte.slice(0, 7);
          await new Promise((resolve) => setImmediate(resolve));
          yield byte.slice(7);
        }
      }
    };
    server.says({ frames: slowly() });
    const { answer, deltas } = await ask(fromLanguageModel(anthropic(server.url)));
    expect(answer.content).toEqual([{ type: 'text', text: 'Slow.' }]);
    expect(deltas.map((delta) => delta.text).join('')).toBe('Slow.');
  });

  it('keeps what the provider warns of', async () => {
    const server = await loopback();
    server.says(openaiAnswer({ text: ['{}'] }));
    const settings = { responseSchema: { type: 'object' } };
    const { answer } = await ask(fromLanguageModel(openai(server.url)), undefined, { settings });
    expect(answer.warnings?.join()).toMatch(/responseFormat/);
  });
});

/** A provider that sends these parts, for what no package sends when it is asked to. */
const providerOf = (specificationVersion: 'v2' | 'v3' | 'v4', ...parts: readonly object[]): AnyLanguageModel => ({
  specificationVersion,
  provider: 'own',
  modelId: 'm',
  doStream: async () => ({
    stream: new ReadableStream({
      start(to) {
        for (const part of parts) to.enqueue(part);
        to.close();
      },
    }),
  }),
});
const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'x' },
  usage: { inputTokens: {}, outputTokens: {} },
};

describe('the stream of a provider', () => {
  it('has counts that its package calculated from what was not told: they are left out', async () => {
    const usage = { inputTokens: { total: Number.NaN, cacheRead: -5 }, outputTokens: { total: 1.5, reasoning: 4 } };
    const { answer } = await ask(fromLanguageModel(providerOf('v4', { ...finish, usage })));
    expect(answer.usage).toEqual({ input: {}, output: { reasoning: 4 } });
  });

  it('may use the id of a block again once it has ended', async () => {
    const server = await loopback();
    const text = (content: string) => chunk({ content });
    const think = (reasoning_content: string) => chunk({ reasoning_content });
    server.says({ frames: [text('One.'), think('Hm.'), text('Two.'), ...frames({}).slice(1)] });
    const { openai } = GENERATIONS[1] as (typeof GENERATIONS)[number];
    const { answer } = await ask(fromLanguageModel(openai(server.url)));
    expect(answer.content).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Two.' },
    ]);
  });

  it('gives files as bytes or text, generated in the answer or in its reasoning', async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const parts = [
      { type: 'file', mediaType: 'image/png', data: bytes },
      { type: 'file', mediaType: 'image/png', data: 'AQID' },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: bytes },
        providerMetadata: { own: { a: 1 } },
      },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://example.com/a.png') },
      },
    ];
    const { answer } = await ask(fromLanguageModel(providerOf('v4', ...parts, finish)));
    const data = { type: 'data', data: 'AQID' };
    expect(answer.content).toEqual([
      { type: 'file', mediaType: 'image/png', data },
      { type: 'file', mediaType: 'image/png', data },
      { type: 'file', mediaType: 'image/png', data, providerOptions: { own: { a: 1 } } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.com/a.png' } },
    ]);
  });

  it('gives metadata that takes the place of what was told before', async () => {
    const told = (own: object) => ({ providerMetadata: { own } });
    const parts = [
      { type: 'reasoning-start', id: 'r', ...told({ first: 1 }) },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r', ...told({ signature: 's' }) },
    ];
    const { answer } = await ask(fromLanguageModel(providerOf('v3', ...parts, finish)));
    expect(answer.content).toEqual([{ type: 'reasoning', text: 'Hm.', providerOptions: { own: { signature: 's' } } }]);
  });

  it('gives a preliminary result, whose place the last one takes', async () => {
    const result = (value: number, preliminary?: true) => ({
      type: 'tool-result',
      toolCallId: 'i',
      toolName: 'image',
      result: value,
      ...(preliminary && { preliminary }),
    });
    const { answer } = await ask(
      fromLanguageModel(providerOf('v3', result(1, true), result(2, true), result(3), finish)),
    );
    expect(answer.content).toMatchObject([{ toolCallId: 'i', output: { value: 3 } }]);
  });

  it('gives custom blocks and requests of approval whole, citations with the facts, and nothing unknown in silence', async () => {
    const citation = {
      source: { type: 'source', sourceType: 'url', id: '1', url: 'https://example.com' },
      startIndex: 0,
    };
    const parts = [
      { type: 'custom', kind: 'anthropic.message_start', providerMetadata: { anthropic: { id: 'msg_1' } } },
      { type: 'custom', kind: 'own.block', providerMetadata: { own: { block: { a: [1] } } } },
      { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c', providerMetadata: { own: { b: 2 } } },
      { type: 'text-start', id: '0' },
      { type: 'text-end', id: '0', citations: [citation] },
      { type: 'hologram' },
    ];
    const { answer } = await ask(fromLanguageModel(providerOf('v4', ...parts, finish)));
    expect(answer.content).toEqual([
      { type: 'custom', kind: 'own.block', providerOptions: { own: { block: { a: [1] } } } },
      { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c', providerOptions: { own: { b: 2 } } },
      { type: 'text', text: '' },
    ]);
    expect(answer.sources).toEqual([{ type: 'citation', part: 2, ...citation }]);
    expect(answer.warnings).toEqual(['unknown stream part: hologram']);
  });

  it('is of one of three specifications', () => {
    const other = { ...providerOf('v4'), specificationVersion: 'v5' } as unknown as AnyLanguageModel;
    expect(() => fromLanguageModel(other)).toThrow(/v2, v3 or v4.*got v5/);
    expect(() => fromLanguageModel('gpt' as unknown as AnyLanguageModel)).toThrow(TypeError);
  });
});
