// A turn that a compaction has cut into an archive and a list is one turn to whoever reads it, and a long view that was
// cut off goes on where it was cut: from this process or the next, each part once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { toUIMessageStream } from '../../src/ai-sdk/index.js';
import type { View } from '../../src/ai-sdk/ui-view.js';
import { messagesOf } from '../../src/ai-sdk/ui-view.js';
import { createTurnEngine, jsonSchema, type Model, type StoredMessage, type TurnStore, tool } from '../../src/index.js';
import { memoryStore, openLevelStore } from '../../src/store/level-store.js';
import { type Gate, gate } from '../engine/waiting.js';
import { type Frame, framesIn, framesOf, picture, readingOf } from './ui-client.js';

/** So many looks, each behind a text of its own, and a last word. A list of more than ten messages is made shorter. */
const LOOKS = 9;

/** An agent in a process of its own. What is held waits until the test lets it go on, and is told when it waits. */
function service(store: TurnStore, held: ReadonlyMap<number, { readonly reached: Gate; readonly open: Gate }>) {
  const model: Model = {
    id: 'looks',
    contextTokens: 1_000,
    async call({ messages }) {
      // Notices and summaries are messages of a user too.
      const looked = messages.map((message) => /"at":(\d+)|seen all to (\d+)/.exec(JSON.stringify(message)));
      const [, call, input] = looked.findLast((found) => found !== null) ?? [];
      const at = Number(call ?? input) + 1;
      const usage = { input: { total: messages.length > 10 ? 900 : 100 }, output: {} };
      const finish = { reason: 'stop' } as const;
      if (at > LOOKS) return { finish, usage, content: [{ type: 'text', text: 'The end.' }] };
      const part = { type: 'tool-call', toolCallId: 'call_0', toolName: 'look', input: { at } } as const;
      return { finish, usage, content: [{ type: 'text', text: `Look ${at}. ` }, part] };
    },
  };
  const look = tool({
    description: 'Looks.',
    input: jsonSchema<{ at: number }>({ type: 'object' }),
    effect: 'idempotent',
    async execute({ at }) {
      held.get(at)?.reached.open();
      await held.get(at)?.open.opened;
      return `seen ${at}`;
    },
  });
  const compact = async (list: readonly StoredMessage[]) => ({
    summary: 'It looked.',
    keepFrom: list.at(-2)?.meta.id as string,
  });
  const engine = createTurnEngine({ agent: 'a', store, model, tools: { look }, loopDetector: false, compact });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const begin = async (seen = 0, more: { readonly after?: string } = {}) =>
    (await engine.sendMessage({ sessionId: 's', input: `seen all to ${seen}`, attended: true, ...more })).turn;
  return { engine, begin };
}

const hold = (...looks: number[]) => new Map(looks.map((at) => [at, { reached: gate(), open: gate() }]));
const theOne = <T>(held: ReadonlyMap<number, T>, at: number): T => held.get(at) as T;

/** What a client has that is cut off behind the frame it waits for. */
async function readUntil(
  stream: ReadableStream<Uint8Array>,
  last: (frame: Frame) => boolean,
): Promise<readonly Frame[]> {
  let body = '';
  for await (const bytes of stream) {
    body += Buffer.from(bytes).toString();
    const frames = framesIn(body);
    const at = frames.findIndex(last);
    if (at !== -1) return frames.slice(0, at + 1);
  }
  throw new Error('it never came');
}

const output = (at: number) => (frame: Frame) =>
  frame.chunk.includes('"tool-output-available"') && frame.chunk.includes(`seen ${at}"`);
const placeIn = (frames: readonly Frame[]): string => frames.at(-1)?.id as string;

const WHOLE = {
  steps: LOOKS + 1,
  text: `${Array.from({ length: LOOKS }, (_, index) => `Look ${index + 1}. `).join('')}The end.`,
};

async function expectWhole(...connections: readonly (readonly Frame[])[]): Promise<void> {
  let message: Awaited<ReturnType<typeof readingOf>> | undefined;
  for (const frames of connections) message = await readingOf(frames, message);
  const { steps, text, calls } = picture(message as NonNullable<typeof message>);
  expect({ steps, text }).toEqual(WHOLE);
  expect(calls.map(([, state, , seen]) => `${state} ${seen}`)).toEqual(
    Array.from({ length: LOOKS }, (_, index) => `output-available seen ${index + 1}`),
  );
  const outputs = connections.flat().filter(({ chunk }) => chunk.includes('"tool-output-available"'));
  expect(outputs).toHaveLength(LOOKS);
}

it('a client that comes back behind a compaction gets what it took out, while the turn runs, at its end and behind it', async () => {
  const held = hold(4, 8);
  const { engine, begin } = service(memoryStore(), held);
  const stream = (options: object) => toUIMessageStream(engine.follow('s'), options);
  const turn = await begin();
  const first = await readUntil(stream({ turnId: turn.turnId }), output(2));
  theOne(held, 4).open.open();
  await theOne(held, 8).reached.opened;
  const archive = (await (await engine.session('s'))?.archive()) ?? [];
  expect(JSON.stringify(archive)).toContain('seen 4');
  const after = placeIn(first);
  const running = framesOf(stream({ after }));
  const late = framesOf(stream({ turnId: turn.turnId }));
  theOne(held, 8).open.open();
  await turn.outcome;
  await expectWhole(first, await running);
  // Who has nothing yet gets all of it as well.
  await expectWhole(await late);
  await expectWhole(first, await framesOf(stream({ after })));
  // Of a turn behind another one a summary takes the place of the beginning.
  const second = await begin();
  await second.outcome;
  await expectWhole(await framesOf(stream({ turnId: second.turnId })));
  await expectWhole(first, await framesOf(stream({ after })));
  await expectWhole(await framesOf(stream({ turnId: turn.turnId })));
});

it('cut off behind any frame of a view, a client comes back to the rest of it, also where a part is archived', async () => {
  const { engine, begin } = service(memoryStore(), hold());
  const turn = await begin();
  await turn.outcome;
  const frames = await framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
  await expectWhole(frames);
  for (let had = 1; had < frames.length; had += 1) {
    const first = frames.slice(0, had);
    await expectWhole(first, await framesOf(toUIMessageStream(engine.follow('s'), { after: placeIn(first) })));
  }
});

it('cut off within the view of a running turn, a client goes on behind the output it has, whatever is archived since', async () => {
  const held = hold(4, 8);
  const { engine, begin } = service(memoryStore(), held);
  const turn = await begin();
  await theOne(held, 4).reached.opened;
  const first = await readUntil(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }), output(2));
  theOne(held, 4).open.open();
  await theOne(held, 8).reached.opened;
  const running = framesOf(toUIMessageStream(engine.follow('s'), { after: placeIn(first) }));
  theOne(held, 8).open.open();
  await expectWhole(first, await running);
});

it('the next process gives the rest to a client that the last one left before the compaction', async () => {
  const path = await mkdtemp(join(tmpdir(), 'ui-view-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const before = await openLevelStore({ path });
  const held = hold(4, 8);
  const one = service(before, held);
  const turn = await one.begin();
  await theOne(held, 4).reached.opened;
  const first = await readUntil(toUIMessageStream(one.engine.follow('s'), { turnId: turn.turnId }), output(2));
  theOne(held, 4).open.open();
  await theOne(held, 8).reached.opened;
  await one.engine.close({ graceMs: 0 });
  await before.close();
  const store = await openLevelStore({ path });
  onTestFinished(() => store.close());
  const again = hold(8);
  const two = service(store, again);
  // First as it lies on disk, with no driver; then while it runs.
  const found = await readUntil(toUIMessageStream(two.engine.follow('s'), { after: placeIn(first) }), output(5));
  await two.engine.recover();
  await theOne(again, 8).reached.opened;
  const running = framesOf(toUIMessageStream(two.engine.follow('s'), { after: placeIn(found) }));
  theOne(again, 8).open.open();
  await expectWhole(first, found, await running);
});

it('a client whose last message was taken away by a rewind is told nothing twice', async () => {
  const held = hold();
  const { engine, begin } = service(memoryStore(), held);
  const turn = await begin();
  await turn.outcome;
  const all = await framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
  const list = (await (await engine.session('s'))?.messages()) ?? [];
  const after = list.findLast(({ message }) => message.role === 'tool')?.meta.id as string;
  await (await begin(LOOKS, { after })).outcome;
  const more = await framesOf(toUIMessageStream(engine.follow('s'), { after: placeIn(all) }));
  expect(
    more
      .map(({ chunk }) => chunk)
      .filter((chunk) => chunk !== '[DONE]')
      .map((chunk) => JSON.parse(chunk).type),
  ).toEqual(['start', 'finish']);
  await expectWhole(all, more);
});

it('the archive is read for those alone whose turn may be in it', async () => {
  const store = memoryStore();
  const { engine, begin } = service(store, hold());
  let read = 0;
  const archive = store.archive.bind(store);
  store.archive = (sessionId) => {
    read += 1;
    return archive(sessionId);
  };
  const readFor = async (options: object): Promise<number> => {
    const before = read;
    await framesOf(toUIMessageStream(engine.follow('s'), options));
    return read - before;
  };
  const turn = await begin();
  await turn.outcome;
  expect(await readFor({ turnId: turn.turnId })).toBe(1);
  const all = await framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
  // It has the whole turn; nothing is under way.
  expect(await readFor({ after: placeIn(all) })).toBe(0);
  expect(await readFor({})).toBe(0);
  const short = await begin(LOOKS);
  await short.outcome;
  expect(await readFor({ turnId: short.turnId })).toBe(0);
});

it('an archive that cannot be read is the error of the stream, and its events are left', async () => {
  const store = memoryStore();
  const { engine, begin } = service(store, hold());
  const turn = await begin();
  await turn.outcome;
  store.archive = () => Promise.reject(new Error('TURN_DAMAGED'));
  const events = engine.follow('s');
  await expect(new Response(toUIMessageStream(events, { turnId: turn.turnId })).text()).rejects.toThrow('TURN_DAMAGED');
  expect(await events.next()).toEqual({ value: undefined, done: true });
});

it('a message that is in the list and in the archive at one moment is one', () => {
  const stored = (id: string) => ({ message: { role: 'user', content: [] }, meta: { id, turnId: 's.1' } }) as never;
  const view = { messages: [stored('b'), stored('c')] } as unknown as View;
  const { told, untold } = messagesOf(view, [stored('a'), stored('b')], { turnId: 's.1', last: 'a', partials: [] });
  expect([told, untold].map((list) => list.map(({ meta }) => meta.id))).toEqual([['a'], ['b', 'c']]);
});
