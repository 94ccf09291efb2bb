// A shorter list: what a compactor may decide, and what it can never touch (I10, cases C1, C22).
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { applyCompaction, sizeOf } from '../../src/core/compaction.js';
import type { Message, StoredMessage, UserMessage } from '../../src/core/messages.js';
import { repairTranscript } from '../../src/core/transcript.js';
import { messages } from './arbitraries.js';

const stored = (list: readonly Message[]): readonly StoredMessage[] =>
  list.map((message, index) => ({
    message,
    meta: {
      id: `m${index}`,
      at: index,
      turnId: 's.t',
      origin: 'input',
      ...(index % 2 ? { answer: facts(index) } : {}),
    },
  }));
const facts = (n: number) => ({ finish: { reason: 'stop' as const }, usage: { input: { total: n }, output: {} } });

const summaryOf = (message: UserMessage): StoredMessage => ({
  message,
  meta: { id: 'summary', at: 99, turnId: 's.t', origin: 'summary' },
});

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const asks = (id: string): Message => ({
  role: 'assistant',
  content: [
    { type: 'reasoning', text: '', providerOptions: { p: { signature: `of ${id}` } } },
    { type: 'tool-call', toolCallId: id, toolName: 'f', input: {} },
  ],
});
const gets = (id: string, value = 'r'): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: id, toolName: 'f', output: { type: 'text', value } }],
});
const long = 'x'.repeat(1_000);

const ids = (list: readonly StoredMessage[]): readonly string[] => list.map(({ meta }) => meta.id);

it('the first user message and everything from keepFrom on stay, the rest becomes one summary', () => {
  const list = stored([user('task'), says(long), user('more'), says(long), user('now'), says('ok')]);
  const result = applyCompaction(list, { summary: 'did things', keepFrom: 'm4' }, summaryOf);
  expect(result).toMatchObject({ ok: true });
  if (!result.ok) return;
  expect(ids(result.list)).toEqual(['m0', 'summary', 'm4', 'm5']);
  expect(ids(result.removed)).toEqual(['m1', 'm2', 'm3']);
  expect(JSON.stringify(result.list[1]?.message)).toContain('did things');
  expect(result.list[1]?.message.role).toBe('user');
});

it('results are kept with the answer that asked for them, reasoning and signature included', () => {
  const list = stored([user('task'), says(long), asks('a'), gets('a'), says('ok')]);
  const result = applyCompaction(list, { summary: 's', keepFrom: 'm3' }, summaryOf);
  expect(result.ok && ids(result.list)).toEqual(['m0', 'summary', 'm2', 'm3', 'm4']);
  expect(result.ok && result.list[2]).toBe(list[2]);
});

it('a result that the provider gives many messages later keeps the call it belongs to', () => {
  const call = { type: 'tool-call', toolCallId: 'srv', toolName: 'search', input: {}, providerExecuted: true } as const;
  const result = {
    type: 'tool-result',
    toolCallId: 'srv',
    toolName: 'search',
    output: { type: 'text', value: 'r' },
  } as const;
  const list = stored([
    user('task'),
    says(long),
    { role: 'assistant', content: [call] },
    user('and?'),
    { role: 'assistant', content: [result, { type: 'text', text: 'found' }] },
  ]);
  const compacted = applyCompaction(list, { summary: 's', keepFrom: 'm4' }, summaryOf);
  expect(compacted.ok && ids(compacted.list)).toEqual(['m0', 'summary', 'm2', 'm3', 'm4']);
});

it('without a user message there is nothing in front of the summary', () => {
  const list = stored([says(long), says(long), says('ok')]);
  const result = applyCompaction(list, { summary: 's', keepFrom: 'm2' }, summaryOf);
  expect(result.ok && ids(result.list)).toEqual(['summary', 'm2']);
});

it('a first user message that is in the kept part is not moved', () => {
  const list = stored([says(long), says(long), user('late'), says('ok')]);
  const result = applyCompaction(list, { summary: 's', keepFrom: 'm2' }, summaryOf);
  expect(result.ok && ids(result.list)).toEqual(['summary', 'm2', 'm3']);
});

it.each([
  ['an empty summary', '', 'm2', 'the summary is empty'],
  ['a blank summary', ' \n', 'm2', 'the summary is empty'],
  ['a summary that is no text', 5 as never, 'm2', 'the summary is empty'],
  ['an id of no message', 's', 'nope', 'keepFrom names no message of the list: "nope"'],
  ['an id that is none', 's', undefined as never, 'keepFrom names no message of the list: undefined'],
  ['nothing to remove', 's', 'm1', 'nothing would be removed'],
  ['a list that is not shorter by a tenth', long.repeat(5), 'm2', 'not shorter by a tenth'],
])('%s is refused with a reason', (_name, summary, keepFrom, reason) => {
  const list = stored([user('task'), says(long), says('ok')]);
  expect(applyCompaction(list, { summary, keepFrom }, summaryOf)).toEqual({ ok: false, reason });
});

it('what is no compaction at all is refused with a reason as well', () => {
  const list = stored([user('task'), says(long), says('ok')]);
  for (const given of [undefined, null, 'summary', 5, []]) {
    const result = applyCompaction(list, given as never, summaryOf);
    expect(result).toMatchObject({ ok: false, reason: expect.stringMatching(/./) });
  }
});

it('a summary with half a character is made well formed (case C23)', () => {
  const list = stored([user('task'), says(long), says('ok')]);
  const result = applyCompaction(list, { summary: 'half \ud83e', keepFrom: 'm2' }, summaryOf);
  expect(result.ok && JSON.stringify(result.list[1]?.message).isWellFormed()).toBe(true);
});

/** Every local call has exactly one result: a repair finds nothing to do. */
const isWhole = (list: readonly Message[]): boolean => {
  const repaired = repairTranscript(list);
  return repaired.length === list.length && repaired.every((message, index) => message === list[index]);
};

it('whatever list, wherever it is cut: calls are paired afterwards, kept messages are the same objects, none is lost (I10)', () => {
  const lists = messages.map((list) => stored(repairTranscript(list))).filter((list) => list.length > 0);
  fc.assert(
    fc.property(lists, fc.nat(), (list, at) => {
      const keepFrom = list[at % list.length]?.meta.id as string;
      const result = applyCompaction(list, { summary: '.', keepFrom }, summaryOf);
      if (!result.ok) return;
      expect(isWhole(result.list.map(({ message }) => message))).toBe(true);
      const kept = result.list.filter(({ meta }) => meta.id !== 'summary');
      for (const message of kept) expect(list).toContain(message);
      expect(new Set([...kept, ...result.removed])).toEqual(new Set(list));
      expect(kept.length + result.removed.length).toBe(list.length);
      expect(ids(result.removed)).toEqual(ids(list.filter((message) => result.removed.includes(message))));
      const first = list.find(({ message }) => message.role === 'user');
      if (first !== undefined) expect(result.list).toContain(first);
      expect(kept.map(({ meta }) => meta.at)).toEqual(kept.map(({ meta }) => meta.at).sort((a, b) => a - b));
      expect(sizeOf(result.list)).toBeLessThanOrEqual(sizeOf(list) * 0.9);
    }),
    { numRuns: 2_000 },
  );
});

it('a compacted list is compacted again the same way: the summary of a summary, first message and tail whole', () => {
  const list = stored([user('task'), says(long), says(long), says('a'), asks('b'), gets('b')]);
  const once = applyCompaction(list, { summary: long, keepFrom: 'm3' }, summaryOf);
  if (!once.ok) throw new Error(once.reason);
  const twice = applyCompaction(once.list, { summary: 'short', keepFrom: 'm5' }, summaryOf);
  expect(twice.ok && ids(twice.list)).toEqual(['m0', 'summary', 'm4', 'm5']);
  expect(twice.ok && ids(twice.removed)).toEqual(['summary', 'm3']);
});
