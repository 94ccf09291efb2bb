// What a provider is asked, as bytes on a real connection: histories that come back verbatim, tools, settings, caches.
import { describe, expect, it } from 'vitest';
import { fromLanguageModel } from '../../src/ai-sdk/index.js';
import type { AssistantMessage, Message, ModelAnswer } from '../../src/index.js';
import { anthropicAnswer } from './anthropic-wire.js';
import { ask, GENERATIONS, user, WEATHER } from './generations.js';
import { loopback } from './loopback.js';
import { openaiAnswer } from './openai-wire.js';

const tools = [WEATHER];
const said = ({ content }: ModelAnswer): AssistantMessage => ({ role: 'assistant', content });
const resultOf = (toolCallId: string, output: object): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'weather', output: output as never }],
});
const png = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } };
const done = anthropicAnswer([{ type: 'text', text: 'Done.' }]);

describe.each(GENERATIONS)('a request in specification $version', ({ version, openai, anthropic }) => {
  it('brings thinking, calls and results back to Anthropic as they came', async () => {
    const content = [
      { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Bergen' } },
    ];
    const server = await loopback();
    server.says(anthropicAnswer(content, 'tool_use'), done);
    const model = fromLanguageModel(anthropic(server.url));
    const { answer } = await ask(model, [user('hi')], { tools });
    const results: Message = {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'a', toolName: 'weather', output: { type: 'text', value: 'rain' } },
        { type: 'tool-result', toolCallId: 'b', toolName: 'weather', output: { type: 'error-text', value: 'down' } },
      ],
    };
    await ask(model, [user('hi'), said(answer), results], { tools });
    expect(server.lastAsked.body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'rain' },
          { type: 'tool_result', tool_use_id: 'b', content: 'down', is_error: true },
        ],
      },
    ]);
  });

  it('brings calls the provider ran back with their results', async () => {
    const server = await loopback();
    const ran = [
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'oslo' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 's1',
        content: [
          {
            type: 'web_search_result',
            url: 'https://example.com',
            title: 'Oslo',
            encrypted_content: 'enc',
            page_age: null,
          },
        ],
      },
      { type: 'text', text: 'Rain.' },
    ];
    server.says(anthropicAnswer(ran), done);
    const model = fromLanguageModel(anthropic(server.url), {
      providerTools: { web_search: { id: 'anthropic.web_search_20250305', args: { maxUses: 3 } } },
    });
    const { answer } = await ask(model);
    expect(server.lastAsked.body.tools).toMatchObject([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    ]);
    await ask(model, [user('hello'), said(answer), user('and Bergen?')]);
    expect(server.lastAsked.body.messages[1].content).toMatchObject(ran);
  });

  it('has images in results where the provider reads them', async () => {
    const server = await loopback();
    server.says(done);
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: {} } as const;
    const output = { type: 'content', value: [{ type: 'text', text: 'look' }, png] };
    const list = [user('hi'), { role: 'assistant', content: [call] } as const, resultOf('a', output)];
    await ask(fromLanguageModel(anthropic(server.url)), list, { tools });
    expect(server.lastAsked.body.messages[2].content[0].content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
    expect(JSON.stringify(server.lastAsked.body)).not.toContain('[object Object]');
  });

  it('tells the model why a call was denied, in every specification', async () => {
    const server = await loopback();
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: {} } as const;
    const denied = { type: 'execution-denied', reason: 'not at night' };
    const list = [user('hi'), { role: 'assistant', content: [call] } as const, resultOf('a', denied)];
    server.says(done);
    await ask(fromLanguageModel(anthropic(server.url)), list, { tools });
    expect(JSON.stringify(server.lastAsked.body.messages[2])).toContain('not at night');
    server.says(openaiAnswer({ text: ['Well.'] }));
    const open = await loopback();
    open.says(openaiAnswer({ text: ['Well.'] }));
    await ask(fromLanguageModel(openai(open.url)), list, { tools });
    expect(open.lastAsked.body.messages[2]).toMatchObject({ role: 'tool', tool_call_id: 'a', content: 'not at night' });
  });

  it('keeps the tools when none may be called: a history with calls is refused without them', async () => {
    const open = await loopback();
    open.says(openaiAnswer({ text: ['Well.'] }));
    await ask(fromLanguageModel(openai(open.url)), undefined, { tools, toolChoice: 'none' });
    expect(open.lastAsked.body).toMatchObject({ tool_choice: 'none', tools: [{ function: { name: 'weather' } }] });
    for (const [choice, told] of [
      ['required', 'required'],
      [{ tool: 'weather' }, { type: 'function', function: { name: 'weather' } }],
    ] as const) {
      await ask(fromLanguageModel(openai(open.url)), undefined, { tools, toolChoice: choice });
      expect(open.lastAsked.body.tool_choice).toEqual(told);
    }
  });

  it('keeps the tools for Anthropic too, whose V2 package would leave them out with that choice', async () => {
    const server = await loopback();
    server.says(done);
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: {} } as const;
    const list = [
      user('hi'),
      { role: 'assistant', content: [call] } as const,
      resultOf('a', { type: 'text', value: 'x' }),
    ];
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)), list, { tools, toolChoice: 'none' });
    expect(server.lastAsked.body).toMatchObject({ tools: [{ name: 'weather' }] });
    expect(server.lastAsked.body.tool_choice).toEqual({ type: version === 'v2' ? 'auto' : 'none' });
    expect(answer.warnings?.join() ?? '').toMatch(version === 'v2' ? /"none" is sent as "auto"/ : /^$/);
  });

  it('has instructions in front, settings, headers and options, those of the call on top', async () => {
    const server = await loopback();
    server.says(openaiAnswer({ text: ['Well.'] }));
    const model = fromLanguageModel(openai(server.url), { providerOptions: { loopback: { user: 'ann', extra: 1 } } });
    await ask(model, [user('hi')], {
      instructions: [{ role: 'system', content: 'Be brief.' }],
      settings: { maxOutputTokens: 9, temperature: 0.5, stopSequences: ['###'], headers: { 'x-tenant': 't1' } },
      providerOptions: { loopback: { user: 'bob' } },
    });
    expect(server.lastAsked.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 9,
      temperature: 0.5,
      stop: ['###'],
      user: 'bob',
      extra: 1,
    });
    expect(server.lastAsked.headers['x-tenant']).toBe('t1');
  });

  it('asks for JSON where the answer has a schema', async () => {
    const server = await loopback();
    server.says(openaiAnswer({ text: ['{}'] }));
    const settings = { responseSchema: { type: 'object' } };
    await ask(fromLanguageModel(openai(server.url)), undefined, { settings });
    expect(server.lastAsked.body.response_format).toMatchObject({ type: 'json_object' });
  });

  it('says how strictly a schema counts and what inputs look like, where the specification has a place for it', async () => {
    const server = await loopback();
    server.says(done);
    const told = { ...WEATHER, strict: true, inputExamples: [{ city: 'Oslo' }] };
    const { answer } = await ask(fromLanguageModel(anthropic(server.url)), undefined, { tools: [told] });
    const [sent] = server.lastAsked.body.tools;
    expect(sent.input_examples).toEqual(version === 'v2' ? undefined : [{ city: 'Oslo' }]);
    const open = await loopback();
    open.says(openaiAnswer({ text: ['Well.'] }));
    await ask(fromLanguageModel(openai(open.url)), undefined, { tools: [told] });
    expect(open.lastAsked.body.tools[0].function.strict).toBe(version === 'v2' ? undefined : true);
    const warned = answer.warnings?.filter((warning) => warning.includes('tools.weather.')) ?? [];
    expect(warned).toHaveLength(version === 'v2' ? 2 : 0);
  });

  it('takes an effort where the specification has one, and warns where it has none', async () => {
    const server = await loopback();
    server.says(openaiAnswer({ text: ['Well.'] }));
    const { answer } = await ask(fromLanguageModel(openai(server.url)), undefined, { settings: { reasoning: 'low' } });
    const warned = answer.warnings?.some((warning) => warning.includes('settings.reasoning')) === true;
    expect(warned).toBe(version !== 'v4');
    expect(server.lastAsked.body.reasoning_effort).toBe(version === 'v4' ? 'low' : undefined);
  });

  it('has one cache breakpoint in the list, on its last message, however long the history is', async () => {
    const server = await loopback();
    server.says(done);
    const mark = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    const model = fromLanguageModel(anthropic(server.url), { cacheBreakpoint: mark });
    const list: Message[] = [];
    for (let round = 0; round < 6; round += 1) {
      // As an application that stored its breakpoints would have it.
      list.push({
        role: 'user',
        content: [{ type: 'text', text: `${round}`, providerOptions: { anthropic: { ...mark.anthropic, kept: 1 } } }],
      });
      const before = structuredClone(list);
      const instructions = [{ role: 'system', content: 'Be brief.', providerOptions: mark } as const];
      const { answer } = await ask(model, list, { instructions, tools });
      expect(list).toEqual(before);
      const { messages, system } = server.lastAsked.body;
      expect(JSON.stringify(messages).match(/cache_control/g)).toHaveLength(1);
      expect(messages.at(-1).content.at(-1).cache_control).toEqual({ type: 'ephemeral' });
      expect(system[0].cache_control).toEqual({ type: 'ephemeral' });
      list.push(said(answer));
      expect(JSON.stringify(answer.content)).not.toContain('cacheControl');
    }
  });

  it('puts the breakpoint on results, and takes it out of outputs', async () => {
    const server = await loopback();
    server.says(done);
    const mark = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: { cacheControl: 'data' } } as const;
    const output = {
      type: 'content',
      value: [{ type: 'text', text: 'rain', providerOptions: mark }],
      providerOptions: mark,
    };
    const list = [
      user('hi'),
      { role: 'assistant', content: [call], providerOptions: mark } as const,
      resultOf('a', output),
    ];
    await ask(fromLanguageModel(anthropic(server.url), { cacheBreakpoint: mark }), list, { tools });
    const { messages } = server.lastAsked.body;
    expect(JSON.stringify(messages).match(/cache_control/g)).toHaveLength(1);
    expect(messages.at(-1).content[0].cache_control).toEqual({ type: 'ephemeral' });
    // Data of the application is data, whatever it is called.
    expect(messages[1].content[0].input).toEqual({ cacheControl: 'data' });
  });

  it('has no text that says nothing: providers refuse it', async () => {
    const server = await loopback();
    server.says(done);
    const empty = { type: 'text', text: '' } as const;
    const list: readonly Message[] = [
      user('hi'),
      { role: 'assistant', content: [empty] },
      user('again'),
      { role: 'assistant', content: [empty, { type: 'text', text: 'Well.' }] },
      user('go on'),
    ];
    await ask(fromLanguageModel(anthropic(server.url)), list);
    const texts = server.lastAsked.body.messages.flatMap((message: any) =>
      message.content.map((part: any) => part.text),
    );
    expect(texts).toEqual(['hi', 'again', 'Well.', 'go on']);
  });

  it('is not made where the specification cannot carry the list', async () => {
    const server = await loopback();
    const custom = { role: 'user', content: [{ type: 'custom', kind: 'own.block' }] } as const;
    await expect(ask(fromLanguageModel(anthropic(server.url)), [custom])).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('messages[0].content[0]'),
    });
    expect(server.asked).toEqual([]);
  });
});

describe('tools of a provider', () => {
  it('take the place of a tool of the same name, which runs here', async () => {
    const server = await loopback();
    server.says(done);
    const { anthropic } = GENERATIONS[1] as (typeof GENERATIONS)[number];
    const model = fromLanguageModel(anthropic(server.url), {
      providerTools: { bash: { id: 'anthropic.bash_20250124' } },
    });
    await ask(model, undefined, { tools: [...tools, { ...WEATHER, name: 'bash' }] });
    expect(server.lastAsked.body.tools.map((tool: any) => tool.type ?? tool.name)).toEqual([
      'weather',
      'bash_20250124',
    ]);
  });

  it('take no place for a name that every object knows', async () => {
    const server = await loopback();
    server.says(done);
    const { anthropic } = GENERATIONS[1] as (typeof GENERATIONS)[number];
    await ask(fromLanguageModel(anthropic(server.url)), undefined, { tools: [{ ...WEATHER, name: 'constructor' }] });
    expect(server.lastAsked.body.tools).toMatchObject([{ name: 'constructor' }]);
  });

  it('are told by their id', () => {
    const { anthropic } = GENERATIONS[1] as (typeof GENERATIONS)[number];
    const model = anthropic('http://127.0.0.1:9');
    expect(() => fromLanguageModel(model, { providerTools: { search: { name: 'search' } } })).toThrow(
      /providerTools\.search/,
    );
  });
});
