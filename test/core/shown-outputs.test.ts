// Why: an output that the transcript holds whole is stored once, with its message. Left out where no message holds it,
// the outcome of a call would be lost; given back to the wrong call, the model's history would lie.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Message, StoredMessage, ToolOutput } from '../../src/core/messages.js';
import { resultsOf, withoutShown, withShown } from '../../src/core/outputs.js';
import type { CallRecord } from '../../src/core/records.js';
import { callOf, json } from './arbitraries.js';

const stored = (id: string, message: Message): StoredMessage => ({
  message,
  meta: { id, at: 0, turnId: 't', origin: message.role === 'tool' ? 'tool' : 'model' },
});

/** Batches as a turn makes them: the ids of their calls are the same in every answer, as some servers give them. */
function turnOf(batches: readonly (readonly ToolOutput[])[], outputBytes: number) {
  const calls: CallRecord[] = [];
  const messages: StoredMessage[] = [];
  batches.forEach((outputs, n) => {
    const answer: Message = {
      role: 'assistant',
      content: outputs.map((_, index) => ({
        type: 'tool-call',
        toolCallId: `call_${index}`,
        toolName: 'f',
        input: {},
      })),
    };
    const batch = outputs.map((output, index) =>
      callOf(`t.${n}.${index}`, {
        messageId: `m${n}`,
        toolCallId: `call_${index}`,
        state: 'succeeded',
        dispatch: 1,
        output,
      }),
    );
    calls.push(...batch);
    messages.push(stored(`m${n}`, answer));
    messages.push(stored(`r${n}`, { role: 'tool', content: resultsOf(answer, batch, outputBytes) }));
  });
  return { calls, messages };
}

const text = (value: string): ToolOutput => ({ type: 'text', value });
const outputs = fc.array(
  fc.array(
    json.map((value): ToolOutput => ({ type: 'json', value })),
    { minLength: 1, maxLength: 3 },
  ),
  { maxLength: 4 },
);
/** As it comes back from the disk: other objects with the same content. */
const reread = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

it('what is left out comes back with the messages, each output to its own call (I14)', () => {
  fc.assert(
    fc.property(outputs, fc.constantFrom(0, 20), (batches, outputBytes) => {
      const { calls, messages } = turnOf(batches, outputBytes);
      const written = reread(withoutShown(calls, messages));
      expect(withShown(written, reread(messages))).toEqual(reread(calls));
    }),
  );
});

it('an output that a message holds whole is not stored twice; one that was cut is whole with its call', () => {
  const { calls, messages } = turnOf([[text('short'), text('x'.repeat(500))]], 100);
  const [short, long] = withoutShown(calls, messages);
  expect(short?.output).toBeNull();
  expect(long?.output).toEqual(text('x'.repeat(500)));
});

it('nothing is left out where the message is not written along', () => {
  const { calls } = turnOf([[text('a')]], 0);
  expect(withoutShown(calls, [])).toEqual(calls);
});

it('a call that has not settled, and one whose message is gone, are left as they are', () => {
  const { calls, messages } = turnOf([[text('a')]], 0);
  const open = callOf('t.9.0', { messageId: 'm0', toolCallId: 'call_0', state: 'dispatched', output: null });
  expect(withShown([open], messages)).toEqual([open]);
  const [written] = withoutShown(calls, messages) as [CallRecord];
  expect(withShown([written], [])).toEqual([written]);
});
