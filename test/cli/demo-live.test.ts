// The demo with a model behind a server, killed and started again as ever: one that does what it is told, and one that
// does something else. The verdict asks the receiver either way.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { askedIn, liveStory } from '../../src/cli/demo/live.js';
import { momentOf } from '../../src/cli/demo/moments.js';
import { demoOptions } from '../../src/cli/demo/options.js';
import type { AskedCall } from '../../src/cli/demo/story.js';
import type { Message } from '../../src/index.js';
import { type Asked, type Loopback, loopback } from '../ai-sdk/loopback.js';
import { openaiAnswer, openaiError } from '../ai-sdk/openai-wire.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const main = join(root, 'dist', 'bundle', 'main.js');

function demo(
  server: Loopback,
  ...more: readonly string[]
): Promise<{ code: number | null; out: string; errors: string }> {
  const args = [main, 'demo', '--base-url', server.url, '--model', 'm', ...more];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DEMO_API_KEY: 'key' },
  });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, errors })));
}

interface Line {
  readonly name: string;
  readonly arguments: string;
}

/** The steps a model is told, from its instructions. */
function steps({ body }: Asked): readonly (readonly Line[])[] {
  const [, ...told] = (body.messages[0].content as string).split(/^Step \d+$/m);
  return told.map((step) =>
    [...step.matchAll(/^(\w+) (\{.*\})$/gm)].map(([, name, input]) => ({
      name: name as string,
      arguments: input as string,
    })),
  );
}

const answersIn = ({ body }: Asked): number =>
  body.messages.filter(({ role }: { role: string }) => role === 'assistant').length;

/** Ids begin anew in every answer, as those of some servers do. */
const calling = (lines: readonly Line[]) =>
  openaiAnswer({ text: ['On it.'], calls: lines.map((line, index) => ({ id: `call_${index}`, ...line })) });

describe('durable-turn demo with a model behind a server', () => {
  it('finds each effect exactly once with one that does as it is told, killed in its batch and while it is parked', async () => {
    const server = await loopback();
    server.says((asked) => {
      const step = steps(asked)[answersIn(asked)];
      return step === undefined ? openaiAnswer({ text: ['Released.'] }) : calling(step);
    });
    const { code, out, errors } = await demo(server);
    expect(errors).toBe('');
    expect(out).toContain(`a small release, as m does it at ${server.url}`);
    expect(out).toContain('---- SIGKILL  service 1');
    expect(out).toMatch(/post runners +receiver +2 +2 +- +-/);
    // A call has one name in all lines, whatever its messages tell of it.
    expect(out).toMatch(/reconcile: .*: +post \d/);
    expect(out).not.toContain('a call ');
    expect(out).toMatch(/^each effect exactly once \(11 effects, 0 lost, 0 doubled, 2 kills\)$/m);
    expect(code).toBe(0);
    expect(server.lastAsked.headers.authorization).toBe('Bearer key');
  });

  it('finds each effect exactly once with one that does something else', async () => {
    const server = await loopback();
    const post = (to: string): Line => ({ name: 'post', arguments: JSON.stringify({ to, text: 'hello' }) });
    const append: Line = { name: 'append_line', arguments: JSON.stringify({ path: 'own.log', line: 'mine' }) };
    const outside: Line = { name: 'write_file', arguments: JSON.stringify({ path: '../../x', text: 'no' }) };
    const wayward = [
      post('a'),
      post('a'),
      post('a'),
      post('b'),
      append,
      outside,
      { name: 'rm', arguments: '{}' },
      { name: 'post', arguments: '{"to":' },
    ];
    server.says((asked) => (answersIn(asked) === 0 ? calling(wayward) : openaiAnswer({ text: ['So be it.'] })));
    const { code, out } = await demo(server);
    expect(out).toMatch(/post a +receiver +3 +3 +- +-/);
    expect(out).toMatch(/append_line own\.log +file +1 +1 +- +-/);
    expect(out).toMatch(/^each effect exactly once \(5 effects, 0 lost, 0 doubled, 1 kill\)$/m);
    expect(code).toBe(0);
  });

  it('says that nothing was tested with one that calls no tool', async () => {
    const server = await loopback();
    server.says(() => openaiAnswer({ text: ['I would rather not.'] }));
    const { code, out } = await demo(server, '--kill-at', '5000');
    expect(out).toMatch(/^ +nothing was tested: the turn had no effect/m);
    expect(out).toMatch(/^nothing was tested \(0 effects, /m);
    expect(out).not.toContain('exactly once (');
    expect(code).toBe(1);
  });

  it('says so when the server refuses', async () => {
    const server = await loopback();
    server.says(openaiError(404, { message: 'there is no model m' }));
    const { code, out } = await demo(server, '--kill-at', '5000');
    expect(out).toContain('there is no model m');
    expect(code).toBe(1);
  });
});

it('a nudge is told once, and not as input of a new turn', () => {
  const at = { sessionId: 's', turnId: 's.t', at: 0, durable: true };
  const message = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] };
  const told = (origin: string): string | undefined => {
    const meta = { id: 'm', turnId: 's.t', origin, at: 0 };
    const event = { ...at, type: 'message', message, meta } as never;
    return momentOf({ type: 'event', event }, String)?.words;
  };
  expect(told('nudge')).toBeUndefined();
  expect(told('input')).toBe('input accepted, turn started');
});

describe('the story of a real model', () => {
  const story = liveStory({ baseUrl: 'http://127.0.0.1:1/v1', model: 'm' });
  const call = (answer: number, tool: string, input: object, succeeded = true): AskedCall => ({
    answer,
    tool,
    input: { ...input },
    succeeded,
  });

  it('wants what succeeded, and counts twins together', () => {
    const post = { to: 'a', text: 'x' };
    const rows = story.expected([
      call(1, 'post', post),
      call(1, 'post', post),
      call(1, 'post', post, false),
      call(2, 'read_file', { path: 'p' }),
    ]);
    expect(rows).toEqual([{ kind: 'posted', name: 'post a', to: 'a', text: 'x', times: 2 }]);
  });

  it('wants files as they were written last, and leaves out what it cannot tell', () => {
    const write = (answer: number, text: string, path = 'p') => call(answer, 'write_file', { path, text });
    const append = (answer: number, path: string) => call(answer, 'append_line', { path, line: 'l' });
    expect(story.expected([write(1, 'old'), write(2, 'new')])).toMatchObject([{ kind: 'written', text: 'new' }]);
    expect(story.expected([write(1, 'one'), write(1, 'other')])).toEqual([]);
    expect(story.expected([write(1, 'one'), append(2, 'p')])).toEqual([]);
    expect(story.expected([append(1, 'q'), append(2, 'q')])).toMatchObject([{ kind: 'appended', times: 2 }]);
  });

  it('reads its calls from the transcript, with the answer they belong to', () => {
    const part = (toolCallId: string) =>
      ({ type: 'tool-call', toolCallId, toolName: 'post', input: { to: toolCallId } }) as const;
    const result = (toolCallId: string, type: 'text' | 'error-text') =>
      ({ type: 'tool-result', toolCallId, toolName: 'post', output: { type, value: '' } }) as const;
    const list: readonly Message[] = [
      { role: 'user', content: [] },
      { role: 'assistant', content: [part('0'), part('1')] },
      { role: 'tool', content: [result('0', 'text'), result('1', 'error-text')] },
      { role: 'assistant', content: [part('0')] },
    ];
    expect(askedIn(list).map(({ answer, succeeded }) => [answer, succeeded])).toEqual([
      [1, true],
      [1, false],
      [2, false],
    ]);
    expect(story.labelOf('s.t.00002.0001', 'post')).toBe('post 2.2');
  });

  it('is asked for with both of its options', () => {
    const live = { baseUrl: 'http://127.0.0.1:1/v1', model: 'm' };
    expect(demoOptions(['--base-url', live.baseUrl, '--model', 'm'])?.live).toEqual(live);
    for (const args of [
      ['--model', 'm'],
      ['--base-url', live.baseUrl],
      ['--base-url', 'x', '--model', 'm'],
      ['--base-url', 'file:///x', '--model', 'm'],
    ]) {
      expect(() => demoOptions(args)).toThrow(/--base-url/);
    }
  });
});
