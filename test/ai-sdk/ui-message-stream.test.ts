// What `useChat` reads, over real HTTP and through the SDK's own transport and reader: live, late, cut and resumed.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from 'ai';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toUIMessageStream, UI_MESSAGE_STREAM_HEADERS } from '../../src/ai-sdk/index.js';
import { placeOf, placeText } from '../../src/ai-sdk/ui-place.js';
import { createTurnEngine, type FollowEvent, jsonSchema, type Model, type TurnEngine, tool } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { gate } from '../engine/waiting.js';
import { framesIn, framesOf, picture, readingOf, shown, textIn } from './ui-client.js';

type Content = Awaited<ReturnType<Model['call']>>['content'];
type Step = (emit: Parameters<Model['call']>[1]['emit'], signal: AbortSignal) => Promise<Content> | Content;

/** A service with one agent, whose model takes these steps, and the two routes of a chat. */
async function chat(steps: readonly Step[], store = memoryStore()) {
  let step = 0;
  const model: Model = {
    id: 'steps',
    async call(_request, { emit, signal }) {
      const content = await (steps[step++] as Step)(emit, signal);
      return {
        content,
        finish: { reason: 'stop' },
        usage: { input: {}, output: {} },
        sources: step === steps.length ? SOURCES : [],
      };
    },
  };
  const look = tool({
    description: 'Looks.',
    input: jsonSchema<{ at: string }>({ type: 'object' }),
    effect: 'none',
    approval: ({ at }) => (at === 'the safe' ? 'required' : 'never'),
    execute: ({ at }, { progress }) => {
      progress(`looking at ${at}`);
      if (at === 'the sun') throw new Error('too bright');
      return { seen: at };
    },
  });
  const engine = createTurnEngine({ agent: 'chat', store, model, tools: { look } });
  const server = createServer((request, response) => void route(engine, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await engine.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { engine, url, transport: new DefaultChatTransport({ api: `${url}/chat` }), store };
}

const SOURCES = [{ type: 'source', sourceType: 'url', id: '1', url: 'https://example.com', title: 'x' }];

async function route(engine: TurnEngine, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const after = request.headers['last-event-id'];
  const resumes = typeof after === 'string' ? { after } : {};
  let body: ReadableStream<Uint8Array>;
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: UIMessage[] };
    const said = messages.at(-1)?.parts[0] as { text: string };
    const { turn } = await engine.sendMessage({ sessionId: 's', input: said.text, attended: true });
    body = toUIMessageStream(engine.follow('s'), { turnId: turn.turnId });
  } else body = toUIMessageStream(engine.follow('s'), resumes);
  response.writeHead(200, UI_MESSAGE_STREAM_HEADERS);
  // A reader that goes away ends its stream, and nothing else.
  Readable.fromWeb(body as never)
    .on('error', () => response.destroy())
    .pipe(response);
}

const hello: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hello' }] };
const send = (transport: DefaultChatTransport<UIMessage>) =>
  transport.sendMessages({
    trigger: 'submit-message',
    chatId: 's',
    messageId: undefined,
    messages: [hello],
    abortSignal: undefined,
  });

const call = (id: string, at: string) =>
  ({ type: 'tool-call', toolCallId: id, toolName: 'look', input: { at } }) as const;
const text = (value: string) => ({ type: 'text', text: value }) as const;

describe('a UI message stream', () => {
  it('is read by the SDK as one message: reasoning, text, calls with results and errors, sources', async () => {
    const { transport, engine } = await chat([
      (emit) => {
        emit({ type: 'reasoning', id: 'r', text: 'Hm.' });
        emit({ type: 'text', id: 't', text: 'I lo' });
        emit({ type: 'text', id: 't', text: 'ok.' });
        emit({ type: 'tool-input', toolCallId: 'call_0', toolName: 'look', text: '{"at":' });
        emit({ type: 'tool-input', toolCallId: 'call_0', toolName: 'look', text: '"home"}' });
        emit({ type: 'tool-input', toolCallId: 'call_1', toolName: 'look', text: '{"at":"the sun"}' });
        return [
          { type: 'reasoning', text: 'Hm.', providerOptions: { own: { signature: 'secret' } } },
          text('I look.'),
          call('call_0', 'home'),
          call('call_1', 'the sun'),
        ];
      },
      (emit) => {
        emit({ type: 'text', id: 't', text: 'And again.' });
        emit({ type: 'tool-input', toolCallId: 'call_0', toolName: 'look', text: '{"at":"work"}' });
        return [text('And again.'), call('call_0', 'work')];
      },
      (emit) => {
        emit({ type: 'text', id: 't', text: 'Done.' });
        return [text('Done.')];
      },
    ]);
    const message = await shown(await send(transport));
    const { turnId } = (await engine.session('s').then((session) => session?.messages()))?.[0]?.meta ?? {};
    expect(message).toMatchObject({ id: turnId, role: 'assistant' });
    expect(message.parts.map((part) => part.type)).toEqual([
      'step-start',
      'reasoning',
      'text',
      'tool-look',
      'tool-look',
      'step-start',
      'text',
      'tool-look',
      'step-start',
      'text',
      'source-url',
    ]);
    expect(textIn(message)).toBe('I look.And again.Done.');
    const calls = message.parts.filter((part) => part.type === 'tool-look') as any[];
    expect(
      calls.map(({ state, input, output, errorText }) => ({ state, input, output: output ?? errorText })),
    ).toMatchObject([
      { state: 'output-available', input: { at: 'home' }, output: { seen: 'home' } },
      { state: 'output-error', input: { at: 'the sun' }, output: expect.stringContaining('too bright') },
      { state: 'output-available', input: { at: 'work' }, output: { seen: 'work' } },
    ]);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    expect(JSON.stringify(message)).not.toContain('secret');
  });

  it('shows a turn that was over before anybody looked, and ends at once where there is none', async () => {
    const { transport, engine, url } = await chat([() => [text('Done.')]]);
    expect(await (await fetch(`${url}/chat/s/stream`)).text()).toMatch(/^id: \S+\ndata: \[DONE\]\n\n$/);
    const { turn } = await engine.sendMessage({ sessionId: 's', input: 'hello', attended: true });
    await turn.outcome;
    const late = toUIMessageStream(engine.follow('s'), { turnId: turn.turnId });
    expect(await new Response(late).text()).toContain('"delta":"Done."');
    expect(await (await fetch(`${url}/chat/s/stream`)).text()).toMatch(/^id: \S+\ndata: \[DONE\]\n\n$/);
    expect(transport).toBeDefined();
  });

  it('asks a person with a part of its own, and tells what was decided', async () => {
    const { transport, engine } = await chat([() => [call('a', 'the safe')], () => [text('Done.')]]);
    const stream = await send(transport);
    const [asked, read] = stream.tee();
    const decided = (async () => {
      for await (const chunk of asked as any as AsyncIterable<UIMessageChunk>) {
        if (chunk.type === 'data-approval' && (chunk.data as any).approvalId !== undefined) {
          await engine.decideApproval((chunk.data as any).approvalId, { allow: true, by: 'ann' });
        }
      }
    })();
    const message = await shown(read);
    await decided;
    const parts = message.parts.filter((part) => part.type === 'data-approval') as any[];
    expect(parts.at(-1).data).toEqual({ decided: { allow: true, by: 'ann' } });
    const [told] = message.parts.filter((part) => part.type === 'tool-look') as any[];
    expect(told).toMatchObject({ state: 'output-available', output: { seen: 'the safe' } });
  });

  it.each([
    ['cancelled', { type: 'abort' }],
    ['failed', { type: 'error', errorText: expect.stringContaining('no more') }],
  ])('of a turn that %s says so, and takes back what counts for nothing', async (how, last) => {
    const begun = gate();
    const { engine } = await chat([
      async (emit, signal) => {
        emit({ type: 'text', id: 't', text: 'As I' });
        begun.open();
        if (how === 'failed') throw new Error('no more');
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    ]);
    const { turn } = await engine.sendMessage({ sessionId: 's', input: 'hello', attended: true });
    const frames = framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
    await begun.opened;
    if (how === 'cancelled') {
      while (!(await engine.session('s'))) await sleep(1);
      await turn.cancel();
    }
    const chunks = (await frames).flatMap(({ chunk }) => (chunk === '[DONE]' ? [] : [JSON.parse(chunk)]));
    expect(chunks.at(-1)).toMatchObject(last);
    const start = chunks.find(({ type }) => type === 'text-start');
    const discarded = chunks.filter(({ type }) => type === 'data-discarded');
    if (start !== undefined)
      expect(discarded.map(({ data }) => data)).toContainEqual(start.providerMetadata['durable-turn']);
  });
});

describe('a client that comes back', () => {
  /** A recorded turn: everything that happens to it, with a gate in the middle of an answer. */
  async function recorded(store = memoryStore()) {
    const half = gate();
    const rest = gate();
    const { engine } = await chat(
      [
        (emit) => {
          emit({ type: 'reasoning', id: 'r', text: 'Hm.' });
          emit({ type: 'text', id: '0', text: 'I ' });
          emit({ type: 'text', id: '0', text: 'look.' });
          emit({ type: 'tool-input', toolCallId: 'a', toolName: 'look', text: '{"at":"home"}' });
          return [{ type: 'reasoning', text: 'Hm.' }, text('I look.'), call('a', 'home'), call('b', 'work')];
        },
        async (emit) => {
          emit({ type: 'text', id: '0', text: 'There is' });
          emit({ type: 'text', id: '2', text: ' no' });
          half.open();
          await rest.opened;
          emit({ type: 'text', id: '2', text: 'thing.' });
          return [text('There is'), text(' nothing.')];
        },
      ],
      store,
    );
    const { turn } = await engine.sendMessage({ sessionId: 's', input: 'hello', attended: true });
    return { engine, turn, half, rest };
  }

  it('gets the rest wherever it was cut off, and what it has all together is the whole turn, each part once', async () => {
    const { engine, turn, half, rest } = await recorded();
    const all = framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
    await half.opened;
    // In the middle of the answer: what comes back finds a partial one.
    const midway = toUIMessageStream(engine.follow('s')).getReader();
    const first = framesIn(new TextDecoder().decode((await midway.read()).value));
    await midway.cancel();
    const after = first.at(-1)?.id as string;
    const resumed = framesOf(toUIMessageStream(engine.follow('s'), { after }));
    rest.open();
    await turn.outcome;
    const whole = picture(await readingOf(await all));
    expect(whole).toMatchObject({ text: 'I look.There is nothing.', reasoning: 'Hm.' });
    expect(whole.calls.map(([, state]) => state)).toEqual(['output-available', 'output-available']);
    expect(picture(await readingOf(await resumed, await readingOf(first)))).toEqual(whole);
    // And behind the end, from every place the client could have been at.
    const frames = await all;
    for (const [index, { id }] of frames.entries()) {
      if (id === undefined) continue;
      const had = frames.slice(0, index + 1);
      const more = await framesOf(toUIMessageStream(engine.follow('s'), { after: id }));
      const client = await readingOf(had);
      expect(picture(await readingOf(more, client)), `cut off behind frame ${index}`).toEqual(whole);
    }
  });

  it('reads the turn it came from, whatever the session does by now, also where nothing is left of it', async () => {
    const { engine, turn, half, rest } = await recorded();
    await half.opened;
    const midway = toUIMessageStream(engine.follow('s')).getReader();
    const first = framesIn(new TextDecoder().decode((await midway.read()).value));
    await midway.cancel();
    rest.open();
    await turn.outcome;
    const back = () => toUIMessageStream(engine.follow('s'), { after: first.at(-1)?.id as string });
    await (await engine.sendMessage({ sessionId: 's', input: 'and now?', attended: true })).turn.outcome;
    const all = picture(await readingOf(await framesOf(back()), await readingOf(first)));
    expect(all).toMatchObject({ text: 'I look.There is nothing.' });
    await engine.deleteSession('s');
    expect(await new Response(back()).text()).toContain('data: [DONE]');
  });

  it('begins anew with a place that is none of ours', async () => {
    const { engine, turn, rest } = await recorded();
    const place = (json: string) => Buffer.from(json).toString('base64url');
    rest.open();
    await turn.outcome;
    for (const after of ['', 'x', 'W10', place('[1,2]'), place('["another turn","x"]')]) {
      const frames = await framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId, after }));
      expect(picture(await readingOf(frames)).text).toBe('I look.There is nothing.');
    }
  });

  it('ends with an error where the session does not have the turn', async () => {
    const { engine, turn, rest } = await recorded();
    rest.open();
    await turn.outcome;
    for (const sessionId of ['s', 'new']) {
      const frames = await framesOf(toUIMessageStream(engine.follow(sessionId), { turnId: 's.misspelt' }));
      const [error, done] = frames.map(({ chunk }) => chunk);
      expect(JSON.parse(error as string)).toMatchObject({
        type: 'error',
        errorText: expect.stringContaining('no turn'),
      });
      expect([frames.length, done]).toEqual([2, '[DONE]']);
    }
  });

  it('waits for a turn that was promised, until it is over or its input is taken back', async () => {
    for (const withdrawn of [false, true]) {
      const hold = gate<Content>();
      const { engine } = await chat([() => hold.opened, () => [text('Now.')]]);
      const first = await engine.sendMessage({ sessionId: 'other', routeKey: 'r', input: 'hello', attended: true });
      const queued = { sessionId: 's', messageId: 'm', routeKey: 'r', input: 'hello', attended: true } as const;
      const { accepted, turn } = await engine.sendMessage(queued);
      expect(accepted).toBe('queued');
      const frames = framesOf(toUIMessageStream(engine.follow('s'), { turnId: turn.turnId }));
      if (withdrawn) await engine.withdrawMessage('s', 'm');
      hold.open([text('Done.')]);
      await first.turn.outcome;
      const types = (await frames).flatMap(({ chunk }) => (chunk === '[DONE]' ? [] : [JSON.parse(chunk).type]));
      expect(types.at(-1)).toBe(withdrawn ? 'error' : 'finish');
    }
  });

  it('has a place that is a text and comes back from it', () => {
    const calls = fc.array(fc.string(), { maxLength: 2 });
    const part = fc.record({ messageId: fc.string(), text: fc.nat(), reasoning: fc.nat(), calls });
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((id) => id.isWellFormed()),
        fc.array(part, { maxLength: 3 }),
        (last, partials) => {
          const turnId = `${last}.1`;
          expect(placeOf(placeText({ turnId, last, partials }))).toEqual({ turnId, last, partials });
        },
      ),
    );
  });
});

describe('the stream', () => {
  const uncompacted = (events: AsyncIterable<FollowEvent>) => Object.assign(events, { archive: async () => [] });

  it('goes at the pace of its reader, and ends its source when the reader leaves', async () => {
    let asked = 0;
    let left = false;
    async function* events(): AsyncGenerator<FollowEvent> {
      try {
        for (;;) {
          asked += 1;
          const delta = { type: 'text', id: '0', text: 'more ' } as const;
          yield {
            type: 'delta',
            messageId: 'm',
            delta,
            cursor: `${asked}`,
            sessionId: 's',
            turnId: 't',
            at: 0,
            durable: false,
          };
        }
      } finally {
        left = true;
      }
    }
    const reader = toUIMessageStream(uncompacted(events())).getReader();
    await reader.read();
    await sleep(20);
    expect(asked).toBeLessThan(5);
    await reader.cancel();
    expect(left).toBe(true);
  });

  it('breaks where its events do, so that the client comes back', async () => {
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    async function* broken(): AsyncGenerator<FollowEvent> {
      throw new Error('TURN_STORE_FAILED');
    }
    await expect(new Response(toUIMessageStream(uncompacted(broken()))).text()).rejects.toThrow('TURN_STORE_FAILED');
    async function* closed(): AsyncGenerator<FollowEvent> {}
    expect(await new Response(toUIMessageStream(uncompacted(closed()))).text()).toBe('');
  });
});
