// Why: what the model reads of its calls decides what it does next. A result under the wrong call, or one that hides
// that something may have happened, is how effects get repeated; one without bound ends the session (cases C2, C23, C24).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/json.js';
import type { Message, ToolOutput } from '../../src/core/messages.js';
import { resultsOf } from '../../src/core/outputs.js';
import type { CallRecord } from '../../src/core/records.js';
import { callOf, json, text } from './arbitraries.js';

const answerOf = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'f', input: {} })),
});
const ended = (callId: string, output: ToolOutput, changes: Partial<CallRecord> = {}): CallRecord =>
  callOf(callId, { state: 'succeeded', dispatch: 1, output, ...changes });
const textOutput = (value: string): ToolOutput => ({ type: 'text', value });

/** The result of one call with this output. */
const told = (output: ToolOutput, bytes = 0, changes: Partial<CallRecord> = {}): ToolOutput => {
  const [part] = resultsOf(answerOf('a'), [ended('a', output, changes)], bytes);
  if (part === undefined) throw new Error('a call has a result');
  return part.output;
};

const bytesOf = (value: string): number => new TextEncoder().encode(value).length;
/** All text that the model reads of an output. */
function textIn(output: ToolOutput): string {
  if (output.type === 'execution-denied') return output.reason ?? '';
  if (output.type === 'content') return output.value.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const isText = output.type === 'text' || output.type === 'error-text';
  return isText ? output.value : JSON.stringify(output.value);
}

describe('the results of an answer', () => {
  it('are one for each of its calls, in the order of the model (I10, case C2)', () => {
    const batch = [ended('b', textOutput('2')), ended('c', textOutput('3')), ended('a', textOutput('1'))];
    const parts = resultsOf(answerOf('a', 'b', 'c'), batch, 0);
    expect(parts.map(({ toolCallId, toolName, output }) => [toolCallId, toolName, textIn(output)])).toEqual([
      ['a', 'f', '1'],
      ['b', 'f', '2'],
      ['c', 'f', '3'],
    ]);
  });

  it('are never those of another call, also where a record is missing', () => {
    const parts = resultsOf(answerOf('a', 'b'), [ended('b', textOutput('2'))], 0);
    expect(parts.map(({ output }) => textIn(output))).toEqual(['This call did not run.', '2']);
  });

  it('are none for calls that the provider ran', () => {
    const answer: Message = {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'p', toolName: 'f', input: {}, providerExecuted: true }],
    };
    expect(resultsOf(answer, [], 0)).toEqual([]);
  });

  it('say of a call without outcome whether it may have taken effect', () => {
    const tell = (record: CallRecord) => textIn(resultsOf(answerOf('a'), [record], 0)[0]?.output as ToolOutput);
    const unknown = /may have taken effect: check before you repeat it/;
    expect(tell(callOf('a', { state: 'inDoubt', dispatch: 1 }))).toMatch(unknown);
    expect(tell(callOf('a', { state: 'dispatched', dispatch: 1 }))).toMatch(unknown);
    expect(tell(callOf('a', { state: 'notStarted', dispatch: 1 }))).toBe('This call did not run.');
    expect(tell(callOf('a', { state: 'prepared' }))).toBe('This call did not run.');
  });
});

describe('an input that a person changed', () => {
  const edited = { editedInput: { to: 'ann' } };

  it('is told to the model with the result, and an error stays an error', () => {
    const note = 'A person changed the input before this call ran: {"to":"ann"}';
    const content = (value: string) => ({
      type: 'content',
      value: [
        { type: 'text', text: note },
        { type: 'text', text: value },
      ],
    });
    expect(told(textOutput('sent'), 0, edited)).toEqual(content('sent'));
    expect(told({ type: 'json', value: [1] }, 0, edited)).toEqual(content('[1]'));
    expect(told({ type: 'error-text', value: 'no' }, 0, edited)).toEqual({ type: 'error-text', value: `${note}\nno` });
    expect(told({ type: 'error-json', value: 0 }, 0, edited)).toEqual({ type: 'error-text', value: `${note}\n0` });
  });

  it('is not told of a call that never ran', () => {
    const denied: ToolOutput = { type: 'execution-denied', reason: 'no' };
    expect(told(denied, 0, edited)).toBe(denied);
    const [part] = resultsOf(answerOf('a'), [callOf('a', { state: 'failed', dispatch: 0, ...edited })], 0);
    expect(part?.output).toEqual({ type: 'error-text', value: 'This call did not run.' });
  });
});

const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'x'.repeat(500) } } as const;
const longText = fc.string({ unit: 'binary', maxLength: 80 });
const output: fc.Arbitrary<ToolOutput> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'error-text' as const), value: longText }),
  fc.record({ type: fc.constantFrom('json' as const, 'error-json' as const), value: json }),
  fc.record({ type: fc.constant('execution-denied' as const), reason: longText }),
  fc.record({
    type: fc.constant('content' as const),
    value: fc.array(
      fc.oneof(
        longText.map((value) => ({ type: 'text', text: value }) as const),
        fc.constant(file),
      ),
      { maxLength: 4 },
    ),
  }),
);

describe('a long result', () => {
  const NOTE = /\n\[cut: \d+ bytes in all, the rest is not shown\]/g;

  it('is cut to the bytes of one result, well formed, with a note; a short one is left as it is (cases C23, C24)', () => {
    fc.assert(
      fc.property(output, fc.integer({ min: 1, max: 120 }), (given, bytes) => {
        const cut = told(given, bytes);
        const isLong = bytesOf(textIn(given)) > bytes;
        if (!isLong) expect(cut).toEqual(given);
        expect(textIn(cut).isWellFormed()).toBe(true);
        expect(textIn(cut).includes('[cut: ')).toBe(isLong);
        expect(bytesOf(textIn(cut).replaceAll(NOTE, ''))).toBeLessThanOrEqual(bytes);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps its first bytes, and says how many there were', () => {
    expect(told(textOutput('aé€'), 4)).toEqual(textOutput('aé\n[cut: 6 bytes in all, the rest is not shown]'));
    expect(told(textOutput('aé€'), 6)).toEqual(textOutput('aé€'));
  });

  it('of JSON is cut as text, and an error stays an error', () => {
    const value: Json = ['x'.repeat(40)];
    expect(told({ type: 'json', value }, 10)).toMatchObject({
      type: 'text',
      value: expect.stringMatching(/^\["xxxxxxxx\n/),
    });
    expect(told({ type: 'error-json', value }, 10).type).toBe('error-text');
    expect(told({ type: 'json', value }, 100)).toEqual({ type: 'json', value });
  });

  it('of several parts shares the bytes among its texts, and keeps its files (case C24)', () => {
    const part = (value: string) => ({ type: 'text', text: value }) as const;
    const cut = told({ type: 'content', value: [part('abc'), file, part('defg'), part('hi'), file] }, 5);
    expect(cut).toEqual({
      type: 'content',
      value: [part('abc'), file, part('de\n[cut: 9 bytes in all, the rest is not shown]'), file],
    });
  });

  it('is whole where no limit is set, and the journal keeps it whole anyway', () => {
    const long = textOutput('x'.repeat(1000));
    const record = ended('a', long);
    expect(told(long, 0)).toBe(long);
    resultsOf(answerOf('a'), [record], 10);
    expect(record.output).toBe(long);
  });

  it('keeps what belongs to the provider', () => {
    const options = { p: { id: 'x' } };
    fc.assert(
      fc.property(text, (value) => {
        const cut = told({ type: 'text', value, providerOptions: options }, 3);
        expect(cut.providerOptions).toBe(options);
      }),
    );
  });
});
