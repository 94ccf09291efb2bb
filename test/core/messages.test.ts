// Why: repair, journal and chart all ask the same question of an answer - which of its calls run here - and usage is
// money. Both have to be answered the same way everywhere.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addUsage, localCalls, type Message, NO_USAGE, textOf, type Usage } from '../../src/core/messages.js';
import { messages } from './arbitraries.js';

const count = fc.option(fc.nat(1_000_000), { nil: undefined });
const usage: fc.Arbitrary<Usage> = fc
  .record({ total: count, cacheRead: count, cacheWrite: count, out: count, reasoning: count })
  .map(({ total, cacheRead, cacheWrite, out, reasoning }) =>
    JSON.parse(JSON.stringify({ input: { total, cacheRead, cacheWrite }, output: { total: out, reasoning } })),
  );

describe('localCalls', () => {
  it('are the calls of an answer that the provider does not run itself, in the order of the model', () => {
    const call = { type: 'tool-call', toolName: 'f', input: {} } as const;
    const answer: Message = {
      role: 'assistant',
      content: [
        { ...call, toolCallId: 'b' },
        { type: 'text', text: 'x' },
        { ...call, toolCallId: 'p', providerExecuted: true },
        { ...call, toolCallId: 'a', providerExecuted: false },
      ],
    };
    expect(localCalls(answer).map((part) => part.toolCallId)).toEqual(['b', 'a']);
  });

  it('are none in any other message', () => {
    fc.assert(
      fc.property(messages, (list) => {
        for (const message of list) if (message.role !== 'assistant') expect(localCalls(message)).toEqual([]);
      }),
    );
  });
});

describe('textOf', () => {
  it('is what a person reads: texts in their order, without reasoning, files and results', () => {
    expect(textOf({ role: 'system', content: 'be brief' })).toBe('be brief');
    expect(textOf({ role: 'tool', content: [] })).toBe('');
    const mixed: Message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'a' },
        { type: 'custom', kind: 'x.y' },
        { type: 'text', text: 'b' },
      ],
    };
    expect(textOf(mixed)).toBe('ab');
  });
});

describe('addUsage', () => {
  it('adds what was told, and does not take "not told" for zero', () => {
    const more: Usage = { input: { total: 3 }, output: { total: 2, reasoning: 0 }, raw: { id: 1 } };
    expect(addUsage(NO_USAGE, more)).toEqual({ input: { total: 3 }, output: { total: 2, reasoning: 0 } });
    expect(addUsage({ input: { cacheRead: 1 }, output: { total: 1 } }, more)).toEqual({
      input: { cacheRead: 1, total: 3 },
      output: { total: 3, reasoning: 0 },
    });
  });

  it('does not depend on the order of the answers, and changes neither side', () => {
    fc.assert(
      fc.property(usage, usage, usage, (a, b, c) => {
        const before = structuredClone([a, b, c]);
        expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(c, b)));
        expect(addUsage(NO_USAGE, a)).toEqual(a);
        expect([a, b, c]).toEqual(before);
      }),
    );
  });
});
