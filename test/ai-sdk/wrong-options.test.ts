import { createTurnEngine } from 'durable-turn';
import { fromLanguageModel, fromTool, toUIMessageStream } from 'durable-turn/ai-sdk';
import { memoryStore } from 'durable-turn/level';
import { scriptedModel } from 'durable-turn/testing';
import { expect, it, onTestFinished } from 'vitest';

const model = { specificationVersion: 'v3', provider: 'p', modelId: 'm', doStream: () => undefined } as never;

it('a misspelt option of a model or a tool is a TypeError, not a list that is never made shorter', () => {
  const misspelt = { contextToken: 200_000 } as object;
  expect(() => fromLanguageModel(model, misspelt)).toThrow(/^contextToken is unknown; there are contextTokens, /);
  const tool = { inputSchema: { jsonSchema: { type: 'object' } }, execute: () => null };
  expect(() => fromTool(tool, { effects: 'none' } as object)).toThrow(/^effects is unknown; there are effect, /);
  expect(() => fromTool(undefined as never)).toThrow('fromTool needs a tool with execute');
});

it('a stream says which option is wrong instead of waiting for a turn that never comes', () => {
  const engine = createTurnEngine({ agent: 'a', store: memoryStore(), model: scriptedModel([]) });
  onTestFinished(() => engine.close());
  const wrong: readonly [options: unknown, message: string][] = [
    [{ turn: 's.1' }, 'turn is unknown; there are turnId, after.'],
    [{ turnId: 5 }, 'turnId must be the id of a turn; take it from turn.turnId.'],
    [{ turnId: '' }, 'turnId must be the id of a turn; take it from turn.turnId.'],
    [{ after: 5 }, 'after must be the last id of a frame.'],
    [null, 'options must be an object with turnId, after.'],
  ];
  for (const [options, message] of wrong) {
    expect(() => toUIMessageStream(engine.follow('s'), options as object)).toThrow(new TypeError(message));
  }
  expect(() => toUIMessageStream('s' as never)).toThrow('toUIMessageStream needs the events of engine.follow');
  // Without what compactions took out, parts of a turn would be missing without a word.
  const own = { [Symbol.asyncIterator]: () => engine.follow('s') };
  expect(() => toUIMessageStream(own as never)).toThrow('engine.follow(sessionId) with their archive()');
});
