// Without a compactor of its own an engine asks the model for a summary, and keeps the beginning and the recent part.
import { expect, it } from 'vitest';
import { sizeOf } from '../../src/core/compaction.js';
import { type Message, type Model, type StoredMessage, summarise } from '../../src/index.js';
import { until, within } from '../engine/waiting.js';
import { NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { brief, createWorld, hello, only } from './world.js';

const length = { fail: 'contextLength' } as const;
const summary = { say: 'Pages were read.', tokens: 7 };

it('it asks the model once, as text without tools, and its summary stands behind the first message', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(9), reads(NEAR), summary, 'done at last');
  const engine = world.boot({ tools: readTools, instructions: 'be brief' });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ text: 'done at last' });
  const asked = world.requests[10];
  expect(asked).toMatchObject({ tools: [], toolChoice: 'none' });
  expect(asked?.messages).toHaveLength(1);
  const text = JSON.stringify(asked?.messages);
  expect(text).toContain('hello');
  expect(text).toContain('calls read');
  expect(text).toContain('Summarise');
  const list = brief(await world.messages());
  expect(list.slice(0, 2)).toEqual(['input: hello', 'summary: Summary of what happened so far:\nPages were read.']);
  expect(list[2]).toBe('model: calls read');
  expect(list.length).toBeLessThan(20);
  expect(list.length).toBeGreaterThanOrEqual(6);
});

it('the recent part is kept whole: at least the last messages, at most about a quarter, reasoning with its calls', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(19), reads(NEAR), summary);
  const engine = world.boot({ tools: readTools });
  await within((await engine.startTurn(hello)).outcome);
  const list = await world.messages();
  const archive = (await (await engine.session('s'))?.archive()) ?? [];
  const tail = list.slice(2, -1);
  expect(tail.length).toBeGreaterThanOrEqual(4);
  expect(sizeOf(tail)).toBeLessThan((sizeOf(tail) + sizeOf(archive)) * 0.4);
});

it('what its summary costs is counted, in the turn and in the session', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(9), reads(NEAR), summary, 'end');
  const engine = world.boot({ tools: readTools });
  const { usage } = await within((await engine.startTurn(hello)).outcome);
  const total = 9 + NEAR + 7 + 1;
  expect(usage).toEqual({ input: { total }, output: { total } });
  expect((await engine.session('s'))?.usage).toEqual(usage);
});

it('a summary that the model refuses to make is a refusal of the compaction, not the end of the turn', async () => {
  for (const answer of [{ fail: 'overloaded' } as const, { say: '' }, length]) {
    const world = createWorld();
    smallModel(world);
    world.says(...readsTimes(9), reads(NEAR), answer, 'done at last');
    const engine = world.boot({ tools: readTools });
    expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
    expect(only(world.eventsOf('compactionRefused')).reason).not.toBe('');
  }
});

it('a list that is too long for the model is summarised from what fits, and the turn goes on', async () => {
  const world = createWorld();
  world.contextTokens = 2_000;
  world.says(...readsTimes(40), length, summary, 'done at last');
  const engine = world.boot({ tools: readTools });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ text: 'done at last' });
  // 1,000 tokens at three characters each, and the task.
  expect(JSON.stringify(world.requests[41]?.messages).length).toBeLessThan(5_000);
});

it('what is left out of a long transcript is the middle: the task and the summaries before are always in it', async () => {
  const world = createWorld();
  world.contextTokens = 4_000;
  const first = { say: 'The first pages were read 🦆.', tokens: 1 };
  world.says(...readsTimes(29), reads(1_600), first, ...readsTimes(29), reads(1_600), summary, 'end');
  const engine = world.boot({ tools: readTools });
  await within((await engine.startTurn({ ...hello, input: 'read all of it' })).outcome);
  const second = JSON.stringify(world.requests[61]?.messages);
  expect(second).toContain('read all of it');
  expect(second).toContain('The first pages were read 🦆.');
  expect(second.isWellFormed()).toBe(true);
  expect(second.length).toBeLessThan(8_000);
});

it('a turn whose every model call is too long ends with the reason after one try', async () => {
  const world = createWorld();
  world.says(...readsTimes(5), length, summary, length);
  const engine = world.boot({ tools: readTools });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('contextLength') });
});

it('killed while the summary is made, the next process makes it, and the list is as if nothing had happened', async () => {
  const world = createWorld();
  smallModel(world);
  const tools = { read: { ...readTools.read, effect: 'idempotent' as const } };
  world.says(...readsTimes(9), reads(NEAR), { hang: true });
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 11, 'the summary is asked for');
  const engine = await world.reboot({ tools });
  world.says(summary, 'done at last');
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'done at last' });
  expect(brief(await world.messages())[1]).toContain('Pages were read.');
  expect(world.runs).toHaveLength(10);
});

it('an exported default can be called by a compactor of one’s own', async () => {
  const said: Message[] = [];
  const model: Model = {
    id: 'm',
    call: async (request) => {
      said.push(...request.messages);
      return {
        content: [{ type: 'text', text: 'short' }],
        finish: { reason: 'stop' },
        usage: { input: {}, output: {} },
      };
    },
  };
  const list = Array.from(
    { length: 12 },
    (_, n): StoredMessage => ({
      message: { role: 'user', content: [{ type: 'text', text: `message ${n} `.repeat(50) }] },
      meta: { id: `m${n}`, at: n, turnId: 't', origin: 'input' },
    }),
  );
  const call = { model, signal: new AbortController().signal, targetTokens: 10_000, sessionId: 's', turnId: 't' };
  const compacted = await summarise(list, call);
  expect(compacted.summary).toBe('short');
  expect(list.map(({ meta }) => meta.id)).toContain(compacted.keepFrom);
  expect(said).toHaveLength(1);
});
