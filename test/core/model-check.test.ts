// Why: a port that passes its provider's words on ("max_tokens", prompt_tokens) gave a clean end that cost nothing, and
// the calls of a cut-off answer ran.
import { expect, it } from 'vitest';
import { checkAnswerFacts, faultOfDelta } from '../../src/core/model-check.js';

const right = { content: [], finish: { reason: 'stop' }, usage: { input: {}, output: {} } };

it('takes every reason, and counts of which some, all or none are told', () => {
  for (const reason of ['stop', 'tool-calls', 'length', 'content-filter', 'continue', 'other']) {
    expect(() => checkAnswerFacts({ ...right, finish: { reason, raw: 'end_turn' } })).not.toThrow();
  }
  for (const usage of [
    { input: { total: 0, cacheRead: 0, cacheWrite: 0 }, output: { total: 0, reasoning: 0 }, raw: { prompt_tokens: 1 } },
    { input: { total: undefined }, output: { total: 12 } },
  ]) {
    expect(() => checkAnswerFacts({ ...right, usage })).not.toThrow();
  }
  const more = { modelId: 'm', responseId: 'r', providerMetadata: { a: {} }, sources: [{}], warnings: ['w'] };
  expect(() => checkAnswerFacts({ ...right, ...more })).not.toThrow();
});

it.each<[object, RegExp]>([
  [{ finish: { reason: 'max_tokens' } }, /^finish\.reason must be one of stop, tool-calls, length.*not "max_tokens"/],
  [{ finish: { reason: 'toString' } }, /^finish\.reason/],
  [{ finish: {} }, /^finish\.reason .*not undefined/],
  [{ finish: { reason: 'stop', raw: 5 } }, /^finish\.raw must be a text/],
  [{ finish: 'stop' }, /^finish must be an object.*not "stop"/],
  [{ usage: undefined }, /^usage must be an object such as \{ input: .*not undefined/],
  [{ usage: { prompt_tokens: 1 } }, /^usage\.input must be an object, not undefined: usage is an object such as/],
  [{ usage: { input: {} } }, /^usage\.output/],
  [{ usage: { input: { total: '5' }, output: {} } }, /^usage\.input\.total must be a whole number.*not "5"/],
  [{ usage: { input: {}, output: { total: 1.5 } } }, /^usage\.output\.total .*not 1\.5/],
  [{ usage: { input: {}, output: { reasoning: -1 } } }, /^usage\.output\.reasoning .*not -1/],
  [{ usage: { input: { total: Number.NaN }, output: {} } }, /^usage\.input\.total .*not NaN/],
  [{ usage: { input: { total: null }, output: {} } }, /^usage\.input\.total .*not null/],
  [{ usage: { input: { tokens: 5 }, output: {} } }, /^usage\.input\.tokens is unknown; there are total, cacheRead/],
  [{ modelId: null }, /^modelId must be a text; leave it out for none, not null/],
  [{ responseId: 5 }, /^responseId/],
  [{ providerMetadata: 'x' }, /^providerMetadata/],
  [{ sources: {} }, /^sources must be an array/],
  [{ warnings: [{ type: 'other' }] }, /^warnings must be an array of texts/],
])('%j is refused, and the field is named', (part, message) => {
  expect(() => checkAnswerFacts({ ...right, ...part })).toThrow(TypeError);
  expect(() => checkAnswerFacts({ ...right, ...part })).toThrow(message);
});

it('a delta has every field its type asks for', () => {
  const rights = [
    { type: 'text', id: '0', text: '' },
    { type: 'reasoning', id: 'r', text: 'hm' },
    { type: 'tool-input', toolCallId: 'c', toolName: 'send', text: '{' },
  ];
  for (const right of rights) expect(faultOfDelta(right)).toBeUndefined();
});

it.each<[unknown, RegExp]>([
  [{ type: 'text', text: 'Hel' }, /^id must be a text, not undefined: emit\(\{ type: 'text', id, text \}\)$/],
  [{ type: 'reasoning', id: 5, text: 'hm' }, /^id must be a text, not 5/],
  [{ type: 'text', id: '0', text: 5 }, /^text must be a text, not 5/],
  [
    { type: 'tool-input', id: 'c', text: '{' },
    /^toolCallId .*emit\(\{ type: 'tool-input', toolCallId, toolName, text \}\)$/,
  ],
  [{ type: 'delta', id: '0', text: 'x' }, /^type must be one of text, reasoning, tool-input, not "delta"/],
  [{ type: 'toString' }, /^type must be/],
  ['Hel', /^type must be/],
  [null, /^type must be/],
])('the delta %j says what is wrong with it', (delta, fault) => {
  expect(faultOfDelta(delta)).toMatch(fault);
});
