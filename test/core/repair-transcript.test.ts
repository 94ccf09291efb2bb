// Why: providers refuse a list in which a call has no result, or a result no call - for ever, because the list is
// stored (I10, cases C1 and C2). Whatever stopped a turn and whatever was cut out, repair has to make the list whole,
// and change nothing else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message, StoredMessage, ToolCallPart, ToolMessage, ToolResultPart } from '../../src/core/messages.js';
import { localCalls } from '../../src/core/messages.js';
import { openAnswer, repairStored, repairTranscript } from '../../src/core/transcript.js';
import { messages } from './arbitraries.js';

const isLocal = (part: ToolMessage['content'][number]): part is ToolResultPart =>
  part.type === 'tool-result' && part.toolCallId.startsWith('call_');
const isMadeUp = (part: ToolResultPart): boolean => part.output.type === 'error-text';

const partsOf = (list: readonly Message[]) => list.flatMap((item) => (item.role === 'tool' ? item.content : []));

/** For each answer, the local results that stand right behind it. */
function resultsBehind(
  list: readonly Message[],
): readonly { calls: readonly ToolCallPart[]; results: ToolResultPart[] }[] {
  return list.flatMap((answer, index) => {
    if (answer.role !== 'assistant') return [];
    const rest = list.slice(index + 1);
    const end = rest.findIndex((item) => item.role !== 'tool');
    const behind = partsOf(end === -1 ? rest : rest.slice(0, end));
    return [{ calls: localCalls(answer), results: behind.filter(isLocal) }];
  });
}

/** What repair has no business with: approval responses, and results of calls that the provider ran itself. */
function foreignIn(list: readonly Message[]): readonly ToolMessage['content'][number][] {
  const asked = new Set<string>();
  const found: ToolMessage['content'][number][] = [];
  for (const { role, content } of list) {
    if (role === 'assistant') for (const part of content) if (part.type === 'tool-call') asked.add(part.toolCallId);
    if (role !== 'tool') continue;
    for (const part of content) {
      const isForeign = part.type === 'tool-result' && !part.toolCallId.startsWith('call_');
      if (part.type !== 'tool-result' || (isForeign && asked.has(part.toolCallId))) found.push(part);
    }
  }
  return found;
}

const idsOf = (parts: readonly { readonly toolCallId: string }[]) => parts.map((part) => part.toolCallId);

const call = (toolCallId: string): ToolCallPart => ({ type: 'tool-call', toolCallId, toolName: 'f', input: {} });
const answer = (...ids: string[]): Message => ({ role: 'assistant', content: ids.map(call) });
const resultPartOf = (toolCallId: string, value: string): ToolResultPart => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'f',
  output: { type: 'text', value },
});
const results = (...pairs: [id: string, value: string][]): Message => ({
  role: 'tool',
  content: pairs.map(([id, value]) => resultPartOf(id, value)),
});
const user: Message = { role: 'user', content: [{ type: 'text', text: 'hello' }] };

/** `role` of each message, with ids and outcomes where it is a tool message. */
const shapeOf = (list: readonly Message[]): string[] =>
  list.map((item) => {
    if (item.role !== 'tool') return item.role;
    const parts = item.content.map((part) => {
      if (part.type === 'tool-approval-response') return 'response';
      return `${part.toolCallId}=${part.output.type === 'text' ? part.output.value : part.output.type}`;
    });
    return `tool ${parts.join(' ')}`;
  });
const repaired = (...list: Message[]): string[] => shapeOf(repairTranscript(list));

describe('any list, after its repair', () => {
  it('holds exactly one result for each local call, in the order of the calls, right behind them (I10, cases C1, C2)', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const whole = repairTranscript(list);
        const behind = resultsBehind(whole);
        for (const { calls, results: found } of behind) expect(idsOf(found)).toEqual(idsOf(calls));
        // And there is no other result anywhere.
        expect(partsOf(whole).filter(isLocal)).toHaveLength(behind.flatMap(({ calls }) => calls).length);
      }),
      { numRuns: 300 },
    );
  });

  it('holds every other message and part as it was, in the same order', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const whole = repairTranscript(list);
        const others = (all: readonly Message[]) => all.filter((item) => item.role !== 'tool');
        expect(others(whole)).toEqual(others(list));
        expect(others(whole).every((item, index) => item === others(list)[index])).toBe(true);
        expect(foreignIn(whole)).toEqual(foreignIn(list));
        expect(partsOf(whole).filter((part) => !isLocal(part))).toEqual(foreignIn(list));
      }),
      { numRuns: 250 },
    );
  });

  it('has lost no result that a call still waited for: a made-up one stands only where there was none', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const whole = repairTranscript(list);
        const kept = new Set<unknown>(partsOf(whole));
        expect(partsOf(whole).filter((part) => isLocal(part) && !isMadeUp(part))).toHaveLength(
          partsOf(list).filter((part) => isLocal(part) && kept.has(part)).length,
        );
        let at = -1;
        for (const { calls, results: found } of resultsBehind(whole)) {
          at = list.findIndex((item, index) => index > at && item.role === 'assistant');
          const behind = partsOf(list.slice(at + 1)).filter(isLocal);
          for (const [index, part] of found.entries()) {
            if (!isMadeUp(part)) continue;
            const lost = behind.filter((other) => other.toolCallId === calls[index]?.toolCallId && !kept.has(other));
            expect(lost).toEqual([]);
          }
        }
      }),
      { numRuns: 250 },
    );
  });

  it('is in order, and a list in order is given back as it is', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const whole = repairTranscript(list);
        expect(repairTranscript(whole)).toBe(whole);
      }),
    );
  });

  it('is whole again when any part was cut out of it, as a compaction does (case C1)', () => {
    fc.assert(
      fc.property(messages, fc.nat(12), fc.nat(12), (list, from, count) => {
        const cut = repairTranscript(list).toSpliced(from, count);
        for (const { calls, results: found } of resultsBehind(repairTranscript(cut))) {
          expect(idsOf(found)).toEqual(idsOf(calls));
        }
      }),
    );
  });
});

describe('repairTranscript', () => {
  const NONE = 'error-text';

  it('gives a call without a result one that says so (case C2)', () => {
    expect(repaired(user, answer('a', 'b', 'c'), results(['a', '1'], ['c', '3']))).toEqual([
      'user',
      'assistant',
      `tool a=1 b=${NONE} c=3`,
    ]);
    const [, tool] = repairTranscript([answer('a')]) as [Message, ToolMessage];
    expect(JSON.stringify(tool)).toContain('interrupted');
  });

  it('puts results into the order of the calls', () => {
    expect(repaired(answer('a', 'b'), results(['b', '2'], ['a', '1']))).toEqual(['assistant', 'tool a=1 b=2']);
  });

  it('leaves results alone that are spread over several messages, in order', () => {
    const list = [answer('a', 'b'), results(['a', '1']), results(['b', '2']), user];
    expect(repairTranscript(list)).toBe(list);
  });

  it('fetches a result from behind a user message', () => {
    expect(repaired(answer('a'), user, results(['a', '1']), user)).toEqual(['assistant', 'tool a=1', 'user', 'user']);
  });

  it('drops results without a call, and second ones', () => {
    expect(repaired(results(['x', '0']), answer('a'), results(['a', '1'], ['a', '2'], ['y', '3']))).toEqual([
      'assistant',
      'tool a=1',
    ]);
  });

  it('gives a result to the nearest answer before it that waits for its id, where ids repeat', () => {
    expect(repaired(answer('a'), user, answer('a'), results(['a', '2'], ['a', '1']))).toEqual([
      'assistant',
      'tool a=1',
      'user',
      'assistant',
      'tool a=2',
    ]);
    expect(repaired(answer('a', 'a'), results(['a', '1'], ['a', '2']))).toEqual(['assistant', 'tool a=1 a=2']);
    expect(repaired(answer('a', 'a'), results(['a', '1']))).toEqual(['assistant', `tool a=1 a=${NONE}`]);
  });

  it('leaves calls that the provider runs alone, and their results wherever they stand', () => {
    const search: ToolCallPart = { ...call('srv'), providerExecuted: true };
    const inside: Message = { role: 'assistant', content: [search, resultPartOf('srv', 'found'), call('a')] };
    const list = [inside, results(['a', '1']), { role: 'assistant', content: [search] } as Message, user];
    expect(repairTranscript(list)).toBe(list);
    const outside: Message[] = [{ role: 'assistant', content: [search, call('a')] }, results(['srv', '0'], ['a', '1'])];
    expect(repairTranscript(outside)).toBe(outside);
    expect(repaired({ role: 'assistant', content: [search, call('a')] }, results(['srv', '0']))).toEqual([
      'assistant',
      `tool a=${NONE}`,
      'tool srv=0',
    ]);
  });

  it('keeps approval responses, alone where the results beside them moved', () => {
    const response = { type: 'tool-approval-response', approvalId: 'p', approved: true } as const;
    const mixed: Message = { role: 'tool', content: [response, resultPartOf('a', '1')] };
    expect(repaired(answer('a'), mixed)).toEqual(['assistant', 'tool response a=1']);
    expect(repaired(answer('a'), user, mixed)).toEqual(['assistant', 'tool a=1', 'user', 'tool response']);
    expect(repaired({ role: 'tool', content: [response] })).toEqual(['tool response']);
  });

  it('pairs the calls of an answer at the end of the list', () => {
    expect(repaired(user, answer('a', 'b'))).toEqual(['user', 'assistant', `tool a=${NONE} b=${NONE}`]);
  });
});

describe('repairStored', () => {
  const store = (message: Message, id: string): StoredMessage => ({
    message,
    meta: { id, at: 1, turnId: 't', origin: 'input' },
  });

  it('keeps the records of messages that stay, and makes one for each message that repair made', () => {
    const list = [
      store(user, 'm1'),
      store(answer('a', 'b'), 'm2'),
      store(results(['b', '2']), 'm3'),
      store(user, 'm4'),
    ];
    const asked: string[] = [];
    const whole = repairStored(list, (message, answered) => {
      asked.push(answered.meta.id);
      return store(message, `for ${answered.meta.id}`);
    });
    expect(whole.map(({ meta }) => meta.id)).toEqual(['m1', 'm2', 'for m2', 'm4']);
    expect(asked).toEqual(['m2']);
    expect([whole[0], whole[1], whole[3]].map((item, index) => item === [list[0], list[1], list[3]][index])).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('makes nothing for a list in order, and gives it back', () => {
    const list = [store(answer('a'), 'm1'), store(results(['a', '1']), 'm2')];
    const never = (): never => {
      throw new Error('nothing is to be made');
    };
    expect(repairStored(list, never)).toBe(list);
  });
});

describe('openAnswer', () => {
  const store = (message: Message): StoredMessage => ({
    message,
    meta: { id: 'm', at: 1, turnId: 't', origin: 'model' },
  });

  it('is the last message, where that asks for local calls, and nothing else', () => {
    const open = store(answer('a'));
    expect(openAnswer([store(user), open])).toBe(open);
    expect(openAnswer([open, store(results(['a', '1']))])).toBeUndefined();
    expect(openAnswer([open, store(user)])).toBeUndefined();
    expect(openAnswer([store({ role: 'assistant', content: [{ type: 'text', text: 'done' }] })])).toBeUndefined();
    const byProvider: ToolCallPart = { ...call('p'), providerExecuted: true };
    expect(openAnswer([store({ role: 'assistant', content: [byProvider] })])).toBeUndefined();
    expect(openAnswer([])).toBeUndefined();
  });
});
