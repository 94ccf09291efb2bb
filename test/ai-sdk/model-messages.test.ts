// Histories of applications on the AI SDK 5, 6 and 7 come in: what they hold in memory becomes what can be stored.
import type { ModelMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { fromModelMessages } from '../../src/ai-sdk/index.js';
import { checkJson } from '../../src/core/json.js';
import { TurnError } from '../../src/index.js';

const bytes = new Uint8Array([1, 2, 3]);
const data = { type: 'data', data: 'AQID' };

describe('messages of the AI SDK', () => {
  it('become canonical: short texts, images in every form, options verbatim', () => {
    const options = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    const messages: ModelMessage[] = [
      { role: 'system', content: 'Be brief.', providerOptions: options },
      { role: 'user', content: 'hi' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look', providerOptions: options },
          { type: 'image', image: bytes, mediaType: 'image/png' },
          { type: 'image', image: Buffer.from(bytes) },
          { type: 'image', image: new URL('https://example.com/a.png') },
          { type: 'image', image: 'https://example.com/a.png' },
          { type: 'image', image: 'data:image/gif;base64,AQID' },
          { type: 'file', data: bytes.buffer, mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: 'AQID', mediaType: 'text/plain' },
        ],
      },
      { role: 'assistant', content: 'Well.' },
      {
        role: 'assistant',
        content: [{ type: 'reasoning', text: '', providerOptions: { anthropic: { signature: 's' } } }],
      },
    ];
    const read = fromModelMessages(messages);
    checkJson(read, 'read');
    const url = { type: 'url', url: 'https://example.com/a.png' };
    expect(read).toEqual([
      messages[0],
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look', providerOptions: options },
          { type: 'file', mediaType: 'image/png', data },
          { type: 'file', mediaType: 'image/*', data },
          { type: 'file', mediaType: 'image/*', data: url },
          { type: 'file', mediaType: 'image/*', data: url },
          { type: 'file', mediaType: 'image/gif', data },
          { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data },
          { type: 'file', mediaType: 'text/plain', data },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Well.' }] },
      messages[4],
    ]);
  });

  it('have outputs in the forms of each generation', () => {
    const result = (output: object) => ({ type: 'tool-result', toolCallId: 'a', toolName: 'f', output });
    const content = (...value: object[]) => result({ type: 'content', value });
    const file = (given: object, mediaType = 'image/png') => ({ type: 'file', mediaType, data: given });
    const pairs: readonly (readonly [object, object])[] = [
      [{ type: 'media', data: 'AQID', mediaType: 'image/png' }, file(data)],
      [{ type: 'image-data', data: 'AQID', mediaType: 'image/png' }, file(data)],
      [
        { type: 'file-data', data: 'AQID', mediaType: 'image/png', filename: 'a' },
        { ...file(data), filename: 'a' },
      ],
      [{ type: 'image-url', url: 'https://example.com' }, file({ type: 'url', url: 'https://example.com' }, 'image/*')],
      [
        { type: 'file-url', url: 'https://example.com' },
        file({ type: 'url', url: 'https://example.com' }, 'application/octet-stream'),
      ],
      [
        { type: 'image-file-id', fileId: { openai: 'f' } },
        file({ type: 'reference', reference: { openai: 'f' } }, 'image/*'),
      ],
      [
        { type: 'file-id', fileId: { openai: 'f' } },
        file({ type: 'reference', reference: { openai: 'f' } }, 'application/octet-stream'),
      ],
      [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } }, file(data)],
      [
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/') } },
        file({ type: 'url', url: 'https://example.com/' }),
      ],
      [
        { type: 'custom', providerOptions: { own: { a: 1 } } },
        { type: 'custom', providerOptions: { own: { a: 1 } } },
      ],
    ];
    for (const [given, expected] of pairs) {
      expect(fromModelMessages([{ role: 'tool', content: [content(given)] }])).toEqual([
        { role: 'tool', content: [content(expected)] },
      ]);
    }
    for (const output of [
      { type: 'error-json', value: { a: 1 } },
      { type: 'execution-denied', reason: 'no' },
    ]) {
      const message = { role: 'tool', content: [result(output)] };
      expect(fromModelMessages([message])).toEqual([message]);
    }
  });

  it('lose approvals of local calls, whose fate is in their result, and keep those of the provider', () => {
    const call = (toolCallId: string, providerExecuted?: true) => ({
      type: 'tool-call',
      toolCallId,
      toolName: 'f',
      input: {},
      ...(providerExecuted && { providerExecuted }),
    });
    const ask = (toolCallId: string) => ({ type: 'tool-approval-request', approvalId: `of ${toolCallId}`, toolCallId });
    const decide = (toolCallId: string, approved: boolean, reason?: string) => ({
      type: 'tool-approval-response',
      approvalId: `of ${toolCallId}`,
      approved,
      ...(reason && { reason }),
    });
    const done = { type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'text', value: 'done' } };
    const read = fromModelMessages([
      { role: 'assistant', content: [call('a'), call('b'), call('p', true), ask('a'), ask('b'), ask('p')] },
      { role: 'tool', content: [decide('a', true), decide('b', false, 'not at night'), decide('p', true)] },
      { role: 'tool', content: [done] },
    ]);
    const denied = { type: 'execution-denied', reason: 'not at night' };
    expect(read).toEqual([
      { role: 'assistant', content: [call('a'), call('b'), call('p', true), ask('p')] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'b', toolName: 'f', output: denied }, decide('p', true)],
      },
      { role: 'tool', content: [done] },
    ]);
    expect(
      fromModelMessages([
        { role: 'assistant', content: [call('a'), ask('a')] },
        { role: 'tool', content: [decide('a', true)] },
      ]),
    ).toEqual([{ role: 'assistant', content: [call('a')] }]);
  });
});

describe('what has no canonical form', () => {
  const refused: readonly (readonly [object, string])[] = [
    [{ role: 'user', content: 7 }, 'messages[0].content must be a text or an array'],
    [{ role: 'robot', content: [] }, 'messages[0].role must be'],
    [{ role: 'user', content: [{ type: 'image', image: 7 }] }, 'messages[0].content[0].image must be base64'],
    [{ role: 'user', content: [{ type: 'reasoning', text: 'x' }] }, 'messages[0].content[0].type must be'],
    [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f' }] },
      'messages[0].content[0].input must be given',
    ],
    [
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'f', result: 1 }] },
      'messages[0].content[0].output must be',
    ],
    [
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'f',
            output: { type: 'content', value: [{ type: 'file-id', fileId: 'f' }] },
          },
        ],
      },
      'messages[0].content[0].output.value[0].fileId must name its provider',
    ],
  ];
  it.each(refused)('%j is refused: %s', (message, told) => {
    expect(() => fromModelMessages([message])).toThrow(told);
    expect(() => fromModelMessages([message])).toThrow(TypeError);
  });

  it('is refused with its path where it is no JSON', () => {
    const input = { when: new Date(0) };
    const message = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input }] };
    expect(() => fromModelMessages([message])).toThrow(TurnError);
    expect(() => fromModelMessages([message])).toThrow(/messages\[0\]\.content\[0\]\.input\.when/);
    expect(() => fromModelMessages('hi' as never)).toThrow(TypeError);
  });
});
