// A message goes to a prompt and comes back without loss, or is refused with its path: for each specification, over the
// whole type of a message.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromModelMessages } from '../../src/ai-sdk/index.js';
import { toPrompt } from '../../src/ai-sdk/prompt.js';
import type { PromptMessage } from '../../src/ai-sdk/specification.js';
import { type Message, ModelError } from '../../src/index.js';
import { at, message } from './message-arbitraries.js';

const VERSIONS = ['v2', 'v3', 'v4'] as const;
type Version = (typeof VERSIONS)[number];

function promptOf(messages: readonly Message[], version: Version) {
  try {
    return toPrompt(messages, version);
  } catch (thrown) {
    if (thrown instanceof ModelError) return thrown;
    throw thrown;
  }
}

describe.each(VERSIONS)('a message in specification %s', (version) => {
  it('comes back as it was, or is refused with the path of a part it has', () => {
    let [sent, refused] = [0, 0];
    fc.assert(
      fc.property(fc.array(message, { maxLength: 3 }), (messages) => {
        const before = structuredClone(messages);
        const prompt = promptOf(messages, version);
        expect(messages).toEqual(before);
        if (prompt instanceof ModelError) {
          refused += 1;
          expect(prompt.kind).toBe('rejected');
          const path = /^(messages\S*): /.exec(prompt.message)?.[1] as string;
          expect(at(messages, path), `nothing at ${path}`).toBeDefined();
          return;
        }
        sent += 1;
        expect(fromModelMessages(prompt)).toEqual(messages);
      }),
      { numRuns: 1500 },
    );
    expect(Math.min(sent, refused)).toBeGreaterThan(100);
  });

  it('never has the shape of another specification', () => {
    fc.assert(
      fc.property(message, (one) => {
        const prompt = promptOf([one], version);
        if (prompt instanceof ModelError) return;
        for (const part of prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content))) {
          const { type, data } = part as { type: string; data?: { type?: unknown } };
          // Tagged data given to V2 or V3 becomes "[object Object]", untagged data given to V4 becomes nothing.
          if (type === 'file') expect(typeof data?.type === 'string').toBe(version === 'v4');
          const output = (part as { output?: { type: string; value?: any } }).output;
          if (version === 'v2') expect(output?.type).not.toBe('execution-denied');
          const kinds = output?.type === 'content' ? output.value.map((value: { type: string }) => value.type) : [];
          const known = {
            v2: /^(text|media)$/,
            v3: /^(text|custom|(file|image)-(data|url)|file-id|image-file-id)$/,
            v4: /^(text|custom|file)$/,
          }[version];
          expect(kinds.filter((kind: string) => !known.test(kind))).toEqual([]);
        }
      }),
      { numRuns: 800 },
    );
  });
});

const assistant = (...content: readonly object[]): Message => ({ role: 'assistant', content: content as never });
const results = (output: object): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'f', output: output as never }],
});
const fileOf = (data: object, mediaType = 'image/png'): object => ({ type: 'file', mediaType, data });
const user = (part: object): Message => ({ role: 'user', content: [part as never] });

describe('what a specification has no form for', () => {
  const refused: readonly (readonly [Version, Message, string])[] = [
    ['v4', user({ type: 'custom', kind: 'own.block' }), 'messages[0].content[0]'],
    [
      'v4',
      assistant({ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'text', text: 'x' } }),
      'messages[0].content[0].data',
    ],
    ['v4', user(fileOf({ type: 'url', url: '/relative' })), 'messages[0].content[0].data'],
    ['v4', user(fileOf({ type: 'url', url: 'data:image/png;base64,AAAA' })), 'messages[0].content[0].data'],
    ['v3', assistant({ type: 'text', text: '' }, { type: 'custom', kind: 'own.block' }), 'messages[0].content[1]'],
    [
      'v3',
      assistant({ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: '' } }),
      'messages[0].content[0]',
    ],
    ['v3', user(fileOf({ type: 'reference', reference: { anthropic: 'f' } })), 'messages[0].content[0].data'],
    [
      'v3',
      results({ type: 'content', value: [fileOf({ type: 'text', text: 'x' })] }),
      'messages[0].content[0].output.value[0].data',
    ],
    [
      'v2',
      results({ type: 'content', value: [fileOf({ type: 'url', url: 'https://example.com' })] }),
      'messages[0].content[0].output.value[0].data',
    ],
    ['v2', results({ type: 'content', value: [{ type: 'custom' }] }), 'messages[0].content[0].output.value[0]'],
    ['v2', assistant({ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'a' }), 'messages[0].content[0]'],
    [
      'v2',
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a', approved: true }] },
      'messages[0].content[0]',
    ],
  ];
  it.each(refused)('%s: %j is refused at %s', (version, one, path) => {
    const error = promptOf([one], version);
    expect(error).toBeInstanceOf(ModelError);
    expect((error as ModelError).message).toMatch(`${path}: `);
    expect((error as ModelError).message).toContain(version);
  });

  it('is refused where our own name is taken in its options', () => {
    const taken = {
      ...(results({ type: 'execution-denied' }).content[0] as object),
      providerOptions: { 'durable-turn': {} },
    };
    const error = promptOf([{ role: 'tool', content: [taken as never] }], 'v2');
    expect((error as ModelError).message).toContain('providerOptions');
  });
});

/** The first part of a message of a prompt. */
const firstOf = (prompt: readonly PromptMessage[], index: number): any => prompt[index]?.content[0];

describe('the prompt', () => {
  it('tells a V2 model why a call was denied', () => {
    const [told] = toPrompt([results({ type: 'execution-denied', reason: 'not at night' })], 'v2');
    expect(told?.content[0]).toMatchObject({ output: { type: 'error-text', value: 'not at night' } });
    const [bare] = toPrompt([results({ type: 'execution-denied' })], 'v2');
    expect(bare?.content[0]).toMatchObject({ output: { type: 'error-text', value: expect.stringMatching(/denied/) } });
  });

  it('has texts as base64 before V4, and URLs as URLs with the text they were', () => {
    const messages = [
      user(fileOf({ type: 'text', text: 'Grüße' }, 'text/plain')),
      user(fileOf({ type: 'url', url: 'https://EXAMPLE.com' })),
    ];
    for (const version of ['v2', 'v3'] as const) {
      const prompt = toPrompt(messages, version);
      expect(firstOf(prompt, 0).data).toBe(Buffer.from('Grüße').toString('base64'));
      const url = { data: new URL('https://example.com'), originalUrl: 'https://EXAMPLE.com' };
      expect(firstOf(prompt, 1)).toMatchObject(url);
    }
    const prompt = toPrompt(messages, 'v4');
    expect(firstOf(prompt, 0).data).toEqual({ type: 'text', text: 'Grüße' });
    expect(firstOf(prompt, 1).data.url).toEqual(new URL('https://example.com'));
  });

  it('has bytes as each specification writes them, in a message and in an output', () => {
    const image = fileOf({ type: 'data', data: 'AAAA' });
    const messages = [user(image), results({ type: 'content', value: [image] })];
    const bytes = { mediaType: 'image/png', data: 'AAAA' };
    for (const [version, type] of [
      ['v2', 'media'],
      ['v3', 'image-data'],
    ] as const) {
      const prompt = toPrompt(messages, version);
      expect(firstOf(prompt, 0)).toEqual({ type: 'file', ...bytes });
      expect(firstOf(prompt, 1).output.value).toEqual([{ type, ...bytes }]);
    }
    const tagged = toPrompt(messages, 'v4');
    expect([firstOf(tagged, 0), firstOf(tagged, 1).output.value[0]]).toEqual([image, image]);
  });
});
