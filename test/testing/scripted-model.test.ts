// The scripted model alone, and with an engine that is interrupted.
import { describe, expect, it } from 'vitest';
import { createTurnEngine, type ModelCall, type ModelDelta, type ModelRequest } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { type Script, scriptedModel, simulatedClock } from '../../src/testing/index.js';

const asked = (answers: number): ModelRequest => ({
  instructions: [],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'go' }] },
    ...Array.from({ length: answers }, () => ({ role: 'assistant', content: [] }) as const),
  ],
  tools: [],
  toolChoice: 'auto',
  settings: {},
});

function callOf(over: Partial<ModelCall> = {}): ModelCall & { readonly deltas: ModelDelta[] } {
  const deltas: ModelDelta[] = [];
  const signal = new AbortController().signal;
  const emit = (delta: ModelDelta) => deltas.push(delta);
  return { signal, emit, sessionId: 's', turnId: 's.t', modelCall: 0, attempt: 0, deltas, ...over };
}

async function said(script: Script, answers: number, call = callOf()): Promise<unknown> {
  const { content } = await scriptedModel(script).call(asked(answers), call);
  return content[0]?.type === 'text' ? content[0].text : content;
}

describe('a list of answers', () => {
  it('gives the answer that stands behind as many as the request holds, and "done" behind its end', async () => {
    const script = ['first', { say: 'second' }, () => 'third'];
    expect(await said(script, 0)).toBe('first');
    expect(await said(script, 1)).toBe('second');
    expect(await said(script, 2)).toBe('third');
    expect(await said(script, 3)).toBe('done');
  });

  it('fails once where it says so, and then gives the answer behind it, however often it is asked', async () => {
    const model = scriptedModel(['first', { fail: 'overloaded' }, { fail: 'network' }, 'second']);
    await expect(model.call(asked(1), callOf())).rejects.toMatchObject({ kind: 'overloaded' });
    await expect(model.call(asked(1), callOf())).rejects.toMatchObject({ kind: 'network' });
    for (const _again of [1, 2]) {
      expect((await model.call(asked(1), callOf())).content).toEqual([{ type: 'text', text: 'second' }]);
    }
    expect(model.requests).toHaveLength(4);
  });

  it('lets a turn go on behind a failure, as a provider that comes back', async () => {
    const clock = simulatedClock();
    const model = scriptedModel([{ fail: 'overloaded', afterDeltas: 2 }, 'well']);
    const engine = createTurnEngine({ agent: 'a', store: memoryStore(), clock, model });
    const turn = await engine.startTurn({ sessionId: 's', input: 'go', attended: true });
    await clock.advance(60_000);
    expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'well' });
  });
});

it('a function in the list sees the request', async () => {
  expect(await said([({ messages }) => `${messages.length} messages`], 0)).toBe('1 messages');
});

it('a function instead of a list gets the number of the call in its turn', async () => {
  const script: Script = (_request, modelCall) => `call ${modelCall}`;
  expect(await said(script, 0, callOf({ modelCall: 3 }))).toBe('call 3');
});

it('the pieces before a failure are told', async () => {
  const call = callOf();
  await expect(said([{ fail: 'network', afterDeltas: 2 }], 0, call)).rejects.toThrow('scripted: network');
  expect(call.deltas).toHaveLength(2);
});

it('a model that hangs ends by its signal', async () => {
  const stop = new AbortController();
  const waiting = said([{ hang: true, say: 'so far' }], 0, callOf({ signal: stop.signal }));
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

describe('a script with a mistake', () => {
  it('is refused with the entry and the field', () => {
    const wrong = (script: unknown) => () => scriptedModel(script as Script);
    expect(wrong('hello')).toThrow('scriptedModel needs a list of answers');
    expect(wrong(['a', 7])).toThrow(
      'script[1] must be a text, an object such as { calls } or { fail }, or a function.',
    );
    expect(wrong([{ call: [] }])).toThrow('script[0].call is unknown; there are say, calls, finish, tokens.');
    expect(wrong([{ fail: 'network', after: 2 }])).toThrow('script[0].after is unknown; there are fail,');
    for (const fail of ['rateLimit', undefined, 'toString']) {
      expect(wrong([{ fail }])).toThrow(
        'script[0].fail must be one of rateLimited, overloaded, network, contextLength,',
      );
    }
    expect(wrong([{ hang: true, calls: [] }])).toThrow('script[0].calls is unknown; there are hang, say.');
    expect(wrong([{ calls: { tool: 'pay', input: {} } }])).toThrow('script[0].calls must be a list');
    expect(wrong([{ calls: [{ tool: 'pay', inputs: {} }] }])).toThrow('script[0].calls[0].inputs is unknown');
    expect(wrong([{ calls: [{ tool: 'pay' }] }])).toThrow('script[0].calls[0] needs tool, a name, and input.');
  });

  it('fails the call for which a function gives such an answer', async () => {
    const wrong = (() => ({ call: [] })) as unknown as Script;
    await expect(said(wrong, 0)).rejects.toThrow('answer.call is unknown');
  });
});
